/* SPDX-License-Identifier: MIT */
/*
 * tracepoint.h - static tracepoints for C and C++ programs
 *
 * Nothing is linked: a program that was built with this header runs the same where uft was never installed. A call of
 * trace_NAME() costs one nop while no recorder wants the event. As in the kernel, its arguments are evaluated all the
 * same if they are more than variables; UFT_TRACE(NAME, ...) evaluates none while the event is off. uft finds the
 * tracepoints of a program and of its libraries in their ELF sections, and makes a jump of the nop while the event is
 * recorded.
 *
 * Events are declared as in the kernel: include <uft/trace_event.h> in a header with TRACE_EVENT(), and
 * <uft/define_trace.h> at its end; one file of the program or library defines CREATE_TRACE_POINTS before it
 * includes that header. All calls of a tracepoint are in the object (program or library) that defines it.
 *
 * These sections are the interface (version 1):
 *	__uft_sites	struct uft_tracepoint_site, one for each call
 *	__uft_events	struct uft_tracepoint, one for each event, at multiples of 8; zeroes between them
 *	__uft_classes	struct uft_event_class and its fields, the same
 *	__uft_prints	struct uft_event_print, the same
 *	__uft_enums	struct uft_event_enum, the same
 */
#pragma GCC system_header	/* macros as the kernel's: no -pedantic */
#ifndef UFT_TRACEPOINT_H
#define UFT_TRACEPOINT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UFT_TRACEPOINT_MAGIC	0x3145434154544655ull	/* "UFTTACE1" */
#define UFT_TRACEPOINT_MAX	2048u			/* bytes of the largest event, its 8 common bytes included */

/* All three numbers are distances, each from its own address. */
struct uft_tracepoint_site {
	int32_t site;		/* the nop */
	int32_t on;		/* the target of the jump while the event is recorded */
	int32_t event;		/* its struct uft_tracepoint */
	int32_t reserved;
};

struct uft_tracepoint {
	uint64_t magic;
	uint32_t bytes;
	uint32_t id;			/* of the event; set by the recorder */
	/*
	 * Set by the recorder; NULL while no recorder wants the event. @record: the bytes behind the common fields,
	 * readable up to a whole word; NULL: the record was too large.
	 */
	void (*write)(struct uft_tracepoint *tp, const void *record, unsigned long bytes);
	uint64_t reserved[4];
	char text[192];			/* system, name, class, each with a 0 byte */
};

struct uft_event_class {
	uint64_t magic;
	uint32_t bytes;			/* of this struct and all that follows */
	uint32_t reserved;
	uint32_t system_bytes, name_bytes, print_bytes;
	/* follows: system, name, print format, then the fields, without gaps */
};

enum uft_class_field_kind { UFT_CLASS_FIXED, UFT_CLASS_DATA_LOC, UFT_CLASS_REL_LOC };
struct uft_class_field {
	uint32_t offset, size;
	/* lengths of the texts that follow; length: an array's, else empty */
	uint16_t type_bytes, name_bytes, length_bytes;
	uint8_t is_signed, kind;
	/* follows: type, name, length */
};

struct uft_event_print {		/* of an event with a print format of its own */
	uint64_t magic;
	uint32_t bytes;
	uint32_t system_bytes, name_bytes, print_bytes;
	/* follows: system, name, print format */
};

struct uft_event_enum {			/* a name in print formats that stands for a number, or sizeof(TYPE) */
	uint64_t magic;
	uint32_t bytes;
	uint32_t system_bytes, name_bytes, reserved;
	int64_t value;
	/* follows: system, name */
};

/* One nop instruction that the recorder can replace by a jump. */
#if defined(__x86_64__)
#define __UFT_NOP	".byte 0x0f, 0x1f, 0x44, 0x00, 0x00"
/* its first two bytes in one cache line, so that it can be changed while threads run */
#define __UFT_ALIGN	".p2align 1"
#define __UFT_SYMBOL	"i"
#define __UFT_REF	"%c0"
#elif defined(__aarch64__)
#define __UFT_NOP	"nop"
#define __UFT_ALIGN	""
#define __UFT_SYMBOL	"S"
#define __UFT_REF	"%0"
#elif defined(__riscv) && __riscv_xlen == 64
#define __UFT_NOP	".option push; .option norvc; .option norelax; nop; .option pop"
#define __UFT_ALIGN	".p2align 2"	/* so that one store changes it */
#define __UFT_SYMBOL	"S"
#define __UFT_REF	"%0"
#endif

/*
 * Keeps functions of these headers out of the trace: a compiler that prepares entries for a tracer (-pg, -mfentry,
 * -fpatchable-function-entry) skips them.
 */
#if !defined(__has_attribute)
#define __UFT_NOTRACE	__attribute__((no_instrument_function))
#elif __has_attribute(patchable_function_entry)
#define __UFT_NOTRACE	__attribute__((no_instrument_function, patchable_function_entry(0)))
#else
#define __UFT_NOTRACE	__attribute__((no_instrument_function))
#endif

#ifdef __UFT_NOP
#define __UFT_SITE(tp, label)									\
	__asm__ goto("	" __UFT_ALIGN "\n"							\
		     "1:	" __UFT_NOP "\n"						\
		     "	.pushsection __uft_sites, \"aR?\", %%progbits\n"			\
		     "	.balign 4\n"								\
		     "	.long 1b - ., %l[" #label "] - ., " __UFT_REF " - ., 0\n"		\
		     "	.popsection\n"								\
		     : : __UFT_SYMBOL(&(tp)) : : label)
#else
#define __UFT_SITE(tp, label)	do { if (0) goto label; (void)(tp); } while (0)
#endif

/* Declares an event's tracepoint: @proto and @args in parentheses, as TP_PROTO() and TP_ARGS() give them. */
#define __UFT_DECLARE_TRACE(name, cond, proto, args)						\
	extern struct uft_tracepoint __uft_tracepoint_##name __attribute__((visibility("hidden")));	\
	extern __UFT_NOTRACE void __uft_call_##name(proto) __attribute__((cold, visibility("hidden")));	\
	__UFT_EVENT_PROBES(name, PARAMS(proto), PARAMS(args))					\
	static inline __attribute__((always_inline, unused)) int trace_##name##_enabled(void)	\
	{											\
		if (__UFT_EVENT_PROBES_ARE(name))						\
			return 1;								\
		__UFT_SITE(__uft_tracepoint_##name, __uft_on);					\
		return 0;									\
	__uft_on:										\
		return 1;									\
	}											\
	static inline __attribute__((always_inline, unused)) void trace_##name(proto)		\
	{											\
		if (__UFT_EVENT_PROBES_ARE(name) && (cond))					\
			__UFT_EVENT_FIRE(name, args);						\
		__UFT_SITE(__uft_tracepoint_##name, __uft_on);					\
		return;										\
	__uft_on:										\
		if (cond)									\
			__uft_call_##name(args);						\
	}

/*
 * trace_NAME(), but its arguments are not evaluated while no recorder wants the event, not even calls with side
 * effects.
 */
#define UFT_TRACE(name, args...)								\
	do {											\
		__label__ __uft_on;								\
		if (0) {									\
		__uft_on:									\
			__uft_call_##name(args);						\
			break;									\
		}										\
		if (__UFT_EVENT_PROBES_ARE(name))						\
			__UFT_EVENT_FIRE(name, args);						\
		__UFT_SITE(__uft_tracepoint_##name, __uft_on);					\
	} while (0)

#ifdef __cplusplus
}
#endif

#endif
