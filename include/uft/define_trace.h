/* SPDX-License-Identifier: MIT */
/*
 * define_trace.h - definitions for the events of a header, in the file that defines CREATE_TRACE_POINTS
 *
 * The header that includes this is read four times more, each time with another meaning of __field() and its relatives:
 *	1	the record, as a structure
 *	2	where the dynamic fields of a record lie, and how long they are
 *	3	the description of a class, as a type, and the description itself
 *	4	the function that writes a record, and the description of each event
 */
#pragma GCC system_header	/* macros as the kernel's: no -pedantic */
#ifdef CREATE_TRACE_POINTS
#undef CREATE_TRACE_POINTS

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE TRACE_SYSTEM
#define __UFT_UNDEF_INCLUDE_FILE
#endif
#ifndef TRACE_INCLUDE_PATH
#define __UFT_INCLUDE(system) <trace/events/system.h>
#define __UFT_UNDEF_INCLUDE_PATH
#else
#define __UFT_INCLUDE(system) __stringify(TRACE_INCLUDE_PATH/system.h)
#endif
#define __UFT_TRACE_INCLUDE(system) __UFT_INCLUDE(system)

#ifndef UFT_DEFINE_TRACE_ONCE
#define UFT_DEFINE_TRACE_ONCE
struct trace_entry {
	unsigned short type;
	unsigned char flags, preempt_count;
	int pid;
};
#define __UFT_IS_SIGNED(type)	((uint8_t)(((type)(-1)) < (type)1))
#if defined(__has_attribute)
#if __has_attribute(retain)
#define __UFT_RETAIN	, retain
#endif
#endif
#ifndef __UFT_RETAIN
#define __UFT_RETAIN
#endif
#define __UFT_SECTION(name)	__attribute__((section(name), used, aligned(8) __UFT_RETAIN))

/*
 * Clears a few words one by one. The code that writes records is cold, and there compilers make the string instruction
 * of a memset() of known size, which costs more than all the rest. The barrier keeps them from making a memset() of the
 * loop.
 */
static inline __attribute__((always_inline, unused)) void __uft_clear(uint64_t *word, size_t n)
{
	if (n > 16)
		memset(word, 0, n * sizeof(*word));
	else
		for (size_t i = 0; i < n; i++) {
			word[i] = 0;
			__asm__ volatile("" : : : "memory");
		}
}

/*
 * Number of bits of a __cpumask(): the machine's processors. A program may define another number before it includes
 * events.
 */
#ifndef nr_cpumask_bits
__attribute__((weak, visibility("hidden"))) unsigned int __uft_cpus;

__attribute__((constructor, unused)) static __UFT_NOTRACE void __uft_count_cpus(void)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);

	__uft_cpus = n > 0 && n <= 1024 ? (unsigned int)n : 1024;
}
#define nr_cpumask_bits		(__uft_cpus ? __uft_cpus : 1024u)
#endif
#endif

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define __UFT_TRACE_STAGE
#ifdef __UFT_CUSTOM
#define TRACE_CUSTOM_MULTI_READ
#else
#define TRACE_HEADER_MULTI_READ
#endif

#include <uft/define_trace_stage.h>

#undef TRACE_EVENT
#undef TRACE_EVENT_FN
#undef TRACE_EVENT_CONDITION
#undef TRACE_EVENT_FN_COND
#define TRACE_EVENT(name, proto, args, tstruct, assign, print)					\
	DECLARE_EVENT_CLASS(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct), PARAMS(assign), PARAMS(print))	\
	DEFINE_EVENT(name, name, PARAMS(proto), PARAMS(args))
#define TRACE_EVENT_FN(name, proto, args, tstruct, assign, print, reg, unreg)			\
	TRACE_EVENT(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct), PARAMS(assign), PARAMS(print))
#define TRACE_EVENT_CONDITION(name, proto, args, cond, tstruct, assign, print)			\
	TRACE_EVENT(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct), PARAMS(assign), PARAMS(print))
#define TRACE_EVENT_FN_COND(name, proto, args, cond, tstruct, assign, print, reg, unreg)	\
	TRACE_EVENT(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct), PARAMS(assign), PARAMS(print))
/* A class of its own, beside the class of the event that has the tracepoint. */
#undef TRACE_CUSTOM_EVENT
#undef DECLARE_CUSTOM_EVENT_CLASS
#undef DEFINE_CUSTOM_EVENT
#define TRACE_CUSTOM_EVENT(name, proto, args, tstruct, assign, print)				\
	DECLARE_CUSTOM_EVENT_CLASS(name, PARAMS(proto), PARAMS(args), PARAMS(tstruct), PARAMS(assign), \
				   PARAMS(print)) \
	DEFINE_CUSTOM_EVENT(name, name, PARAMS(proto), PARAMS(args))
#define DECLARE_CUSTOM_EVENT_CLASS(name, proto, args, tstruct, assign, print)			\
	DECLARE_EVENT_CLASS(custom_##name, PARAMS(proto), PARAMS(args), PARAMS(tstruct), PARAMS(assign), PARAMS(print))
#define DEFINE_CUSTOM_EVENT(template, name, proto, args)
#undef DEFINE_EVENT_FN
#undef DEFINE_EVENT_CONDITION
#define DEFINE_EVENT_FN(template, name, proto, args, reg, unreg)	DEFINE_EVENT(template, name, PARAMS(proto), \
	PARAMS(args))
#define DEFINE_EVENT_CONDITION(template, name, proto, args, cond)	DEFINE_EVENT(template, name, PARAMS(proto), \
	PARAMS(args))
#undef TRACE_EVENT_NOP
#undef DECLARE_EVENT_NOP
#undef DEFINE_EVENT_NOP
#define TRACE_EVENT_NOP(name, proto, args, struct, assign, print)
#define DECLARE_EVENT_NOP(name, proto, args)
#define DEFINE_EVENT_NOP(template, name, proto, args)
#undef TRACE_DEFINE_ENUM
#define TRACE_DEFINE_ENUM(a)
#undef TRACE_DEFINE_SIZEOF
#define TRACE_DEFINE_SIZEOF(a)
#undef DECLARE_TRACE
#undef DECLARE_TRACE_CONDITION
#define DECLARE_TRACE(name, proto, args)
#define DECLARE_TRACE_CONDITION(name, proto, args, cond)

/* ---- 1: the record --------------------------------------------------------------------------- */

#define __field(type, item)			type item;
#define __field_ext(type, item, filter)		type item;
#define __field_struct(type, item)		type item;
#define __field_struct_ext(type, item, filter)	type item;
#define __array(type, item, len)		type item[len];
#define __dynamic_array(type, item, len)	uint32_t __data_loc_##item;
#define __rel_dynamic_array(type, item, len)	uint32_t __rel_loc_##item;

#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(name, proto, args, tstruct, assign, print)				\
	struct trace_event_raw_##name {								\
		struct trace_entry ent;								\
		tstruct										\
		char __data[];									\
	};
#undef DEFINE_EVENT
#define DEFINE_EVENT(template, name, proto, args)
#undef DEFINE_EVENT_PRINT
#define DEFINE_EVENT_PRINT(template, name, proto, args, print)
#define TP_printk(fmt, args...)
#include <uft/define_trace_derived.h>
#include __UFT_TRACE_INCLUDE(TRACE_INCLUDE_FILE)

/* ---- 2: the dynamic fields ------------------------------------------------------------------- */

#include <uft/define_trace_stage.h>
#define __field(type, item)
#define __field_ext(type, item, filter)
#define __field_struct(type, item)
#define __field_struct_ext(type, item, filter)
#define __array(type, item, len)
#define __dynamic_array(type, item, len)	uint32_t item; const void *item##_ptr_; uint32_t item##_len_;
#define __rel_dynamic_array(type, item, len)	uint32_t item; const void *item##_ptr_; uint32_t item##_len_;

#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(name, proto, args, tstruct, assign, print)				\
	struct trace_event_data_offsets_##name { tstruct char __end; };
#define TP_printk(fmt, args...)
#include <uft/define_trace_derived.h>
#include __UFT_TRACE_INCLUDE(TRACE_INCLUDE_FILE)

#include <uft/define_trace_stage.h>
#define __field(type, item)
#define __field_ext(type, item, filter)
#define __field_struct(type, item)
#define __field_struct_ext(type, item, filter)
#define __array(type, item, len)
#define __uft_place(item, bytes, from, location)						\
	__data_offsets->item = (uint32_t)((__data_size + offsetof(__typeof__(*entry), __data)) - (location)) | \
		(uint32_t)(bytes) << 16; \
	__data_size += (bytes);
#define __dynamic_array(type, item, len)							\
	__data_offsets->item##_len_ = (uint32_t)(len);						\
	__uft_place(item, (size_t)(len) * sizeof(type), entry, 0)
#define __rel_dynamic_array(type, item, len)							\
	__data_offsets->item##_len_ = (uint32_t)(len);						\
	__uft_place(item, (size_t)(len) * sizeof(type), entry, offsetof(__typeof__(*entry), __rel_loc_##item) + 4)
#define __uft_string_ptr(item, src)		__data_offsets->item##_ptr_ = (src) ? (const void *)(src) : \
	(const void *)"(null)";
#define __uft_string_bytes(item)		strlen((const char *)__data_offsets->item##_ptr_) + 1
#define __string(item, src)			__uft_string_ptr(item, src) __dynamic_array(char, item, \
	__uft_string_bytes(item))
#define __rel_string(item, src)			__uft_string_ptr(item, src) __rel_dynamic_array(char, item, \
	__uft_string_bytes(item))
#define __string_len(item, src, len)		__uft_string_ptr(item, src) __dynamic_array(char, item, (len) + 1)
#define __rel_string_len(item, src, len)	__uft_string_ptr(item, src) __rel_dynamic_array(char, item, (len) + 1)
#define __vstring(item, fmt, ap)								\
	__dynamic_array(char, item, ({ va_list __uft_ap; int __uft_n; va_copy(__uft_ap, *(ap));	\
		__uft_n = vsnprintf(NULL, 0, fmt, __uft_ap); va_end(__uft_ap); __uft_n < 0 ? 1 : __uft_n < 512 ? \
		__uft_n + 1 : 512; }))
#define __bitmask(item, bits)			__dynamic_array(unsigned long, item, ((bits) + 63) / 64)
#define __rel_bitmask(item, bits)		__rel_dynamic_array(unsigned long, item, ((bits) + 63) / 64)
#define __cpumask(item)				__bitmask(item, nr_cpumask_bits)
#define __rel_cpumask(item)			__rel_bitmask(item, nr_cpumask_bits)
#define __sockaddr(item, len)			__dynamic_array(uint8_t, item, len)
#define __rel_sockaddr(item, len)		__rel_dynamic_array(uint8_t, item, len)

#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(name, proto, args, tstruct, assign, print)				\
	static __UFT_NOTRACE __attribute__((unused)) size_t \
	trace_event_get_offsets_##name(struct trace_event_data_offsets_##name *__data_offsets, proto) \
	{											\
		struct trace_event_raw_##name *entry = NULL;					\
		size_t __data_size = 0;								\
												\
		(void)entry, (void)__data_offsets;						\
		tstruct;									\
		return __data_size;								\
	}
#define TP_printk(fmt, args...)
#include __UFT_TRACE_INCLUDE(TRACE_INCLUDE_FILE)

/* ---- 3: the description of a class ----------------------------------------------------------- */

#include <uft/define_trace_stage.h>
#define __uft_field(type, item, length)		struct { struct uft_class_field f; char t[sizeof(type)], \
	n[sizeof(#item)], l[sizeof(length)]; } __attribute__((packed)) item;
#define __field(type, item)			__uft_field(#type, item, "")
#define __field_ext(type, item, filter)		__uft_field(#type, item, "")
#define __field_struct(type, item)		__uft_field(#type, item, "")
#define __field_struct_ext(type, item, filter)	__uft_field(#type, item, "")
#define __array(type, item, len)		__uft_field(#type, item, __stringify(len))
#define __dynamic_array(type, item, len)	__uft_field(#type, item, "")
#define __rel_dynamic_array(type, item, len)	__uft_field(#type, item, "")
#define __uft_dynamic(name, type, item)		__uft_field(name, item, "")
#define __uft_rel_dynamic(name, type, item)	__uft_field(name, item, "")
#include <uft/define_trace_print.h>
#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(name, proto, args, tstruct, assign, print)				\
	struct uft_class_text_##name {								\
		struct uft_event_class __uft_class;							\
		char __uft_system[sizeof(__stringify(TRACE_SYSTEM))], __uft_name[sizeof(#name)], \
			__uft_print_text[sizeof(print)]; \
		tstruct										\
	} __attribute__((packed));
#undef DEFINE_EVENT
#define DEFINE_EVENT(template, name, proto, args)
#include <uft/define_trace_derived.h>
#include __UFT_TRACE_INCLUDE(TRACE_INCLUDE_FILE)

#include <uft/define_trace_stage.h>
#define __uft_field(type, item, length, is_signed, kind, member)				\
	.item = { { offsetof(__uft_raw, member), sizeof(((__uft_raw *)0)->member), sizeof(type), sizeof(#item), \
		sizeof(length), \
		    is_signed, kind }, type, #item, length },
#define __field(type, item)			__uft_field(#type, item, "", __UFT_IS_SIGNED(type), UFT_CLASS_FIXED, \
							    item)
#define __field_ext(type, item, filter)		__uft_field(#type, item, "", __UFT_IS_SIGNED(type), UFT_CLASS_FIXED, \
							    item)
#define __field_struct(type, item)		__uft_field(#type, item, "", 0, UFT_CLASS_FIXED, item)
#define __field_struct_ext(type, item, filter)	__uft_field(#type, item, "", 0, UFT_CLASS_FIXED, item)
#define __array(type, item, len)		__uft_field(#type, item, __stringify(len), __UFT_IS_SIGNED(type), \
							    UFT_CLASS_FIXED, item)
#define __dynamic_array(type, item, len)	__uft_field(#type, item, "", __UFT_IS_SIGNED(type), \
							    UFT_CLASS_DATA_LOC, __data_loc_##item)
#define __rel_dynamic_array(type, item, len)	__uft_field(#type, item, "", __UFT_IS_SIGNED(type), UFT_CLASS_REL_LOC, \
							    __rel_loc_##item)
#define __uft_dynamic(name, type, item)		__uft_field(name, item, "", 0, UFT_CLASS_DATA_LOC, __data_loc_##item)
#define __uft_rel_dynamic(name, type, item)	__uft_field(name, item, "", 0, UFT_CLASS_REL_LOC, __rel_loc_##item)
#include <uft/define_trace_print.h>
#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(class_name, proto, args, tstruct, assign, print)			\
	static __UFT_NOTRACE __attribute__((used, cold)) void __uft_describe_##class_name(void)	\
	{											\
		typedef struct trace_event_raw_##class_name __uft_raw;				\
		static struct uft_class_text_##class_name described __UFT_SECTION("__uft_classes") = {	\
			.__uft_class = { UFT_TRACEPOINT_MAGIC, sizeof(struct uft_class_text_##class_name), 0,	\
			       sizeof(__stringify(TRACE_SYSTEM)), sizeof(#class_name), sizeof(print) },	\
			.__uft_system = __stringify(TRACE_SYSTEM), .__uft_name = #class_name, \
			.__uft_print_text = print, \
			tstruct									\
		};										\
												\
		(void)described;								\
	}
#undef DEFINE_EVENT_PRINT
#define DEFINE_EVENT_PRINT(template, event_name, proto, args, print)				\
	static struct {										\
		struct uft_event_print p;							\
		char __uft_system[sizeof(__stringify(TRACE_SYSTEM))], __uft_name[sizeof(#event_name)], \
			__uft_print_text[sizeof(print)]; \
	} __attribute__((packed)) __uft_print_##event_name __UFT_SECTION("__uft_prints") = {	\
		{ UFT_TRACEPOINT_MAGIC, sizeof(__uft_print_##event_name), sizeof(__stringify(TRACE_SYSTEM)), \
			sizeof(#event_name), sizeof(print) }, \
		__stringify(TRACE_SYSTEM), #event_name, print					\
	};
/* A name in print formats, and the number that it becomes. */
#define __UFT_NUMBER(variable, name, number)							\
	static struct {										\
		struct uft_event_enum e;							\
		char __uft_system[sizeof(__stringify(TRACE_SYSTEM))], __uft_name[sizeof(name)];	\
	} __attribute__((packed)) variable __UFT_SECTION("__uft_enums") = {			\
		{ UFT_TRACEPOINT_MAGIC, sizeof(variable), sizeof(__stringify(TRACE_SYSTEM)), sizeof(name), 0, \
			(int64_t)(number) }, \
		__stringify(TRACE_SYSTEM), name							\
	};
#undef TRACE_DEFINE_ENUM
#undef TRACE_DEFINE_SIZEOF
#define TRACE_DEFINE_ENUM(a)			__UFT_NUMBER(__uft_enum_##a, #a, a)
#define TRACE_DEFINE_SIZEOF(a)			__UFT_NUMBER(__uft_sizeof_##a, "sizeof(" #a ")", sizeof(a))
#include <uft/define_trace_derived.h>
#include __UFT_TRACE_INCLUDE(TRACE_INCLUDE_FILE)
#undef __UFT_NUMBER
#undef TRACE_DEFINE_ENUM
#undef TRACE_DEFINE_SIZEOF
#define TRACE_DEFINE_ENUM(a)
#define TRACE_DEFINE_SIZEOF(a)
#undef DEFINE_EVENT_PRINT
#define DEFINE_EVENT_PRINT(template, name, proto, args, print)	DEFINE_EVENT(template, name, PARAMS(proto), \
	PARAMS(args))

/* ---- 4: functions that write records, and the events ------------------------------------------------- */

#include <uft/define_trace_stage.h>
#define __field(type, item)
#define __field_ext(type, item, filter)
#define __field_struct(type, item)
#define __field_struct_ext(type, item, filter)
#define __array(type, item, len)
#define __dynamic_array(type, item, len)	__entry->__data_loc_##item = __data_offsets.item;
#define __rel_dynamic_array(type, item, len)	__entry->__rel_loc_##item = __data_offsets.item;
#include <uft/define_trace_derived.h>
#define __entry entry
#define __perf_count(c)			(c)
#define __perf_task(t)			(t)
#define TP_printk(fmt, args...)
#define __get_dynamic_array(item)	((void *)((char *)__entry + (__entry->__data_loc_##item & 0xffff)))
#define __get_dynamic_array_len(item)	(__entry->__data_loc_##item >> 16 & 0xffff)
#define __get_str(item)			((char *)__get_dynamic_array(item))
#define __get_bitmask(item)		((char *)__get_dynamic_array(item))
#define __get_cpumask(item)		((char *)__get_dynamic_array(item))
#define __get_sockaddr(item)		((struct sockaddr *)__get_dynamic_array(item))
#define __get_rel_dynamic_array(item)	((void *)((char *)&__entry->__rel_loc_##item + 4 + \
	(__entry->__rel_loc_##item & 0xffff)))
#define __get_rel_dynamic_array_len(item) (__entry->__rel_loc_##item >> 16 & 0xffff)
#define __get_rel_str(item)		((char *)__get_rel_dynamic_array(item))
#define __get_rel_bitmask(item)		((char *)__get_rel_dynamic_array(item))
#define __get_rel_cpumask(item)		((char *)__get_rel_dynamic_array(item))
#define __get_rel_sockaddr(item)	((struct sockaddr *)__get_rel_dynamic_array(item))
#define __uft_assign(to, item)		memcpy(to, __data_offsets.item##_ptr_, \
					       __uft_length((const char *)__data_offsets.item##_ptr_, \
							    __data_offsets.item##_len_ - 1))
#define __assign_str(item, src...)	__uft_assign(__get_str(item), item)
#define __assign_str_len(item, src...)	__uft_assign(__get_str(item), item)
#define __assign_rel_str(item, src...)	__uft_assign(__get_rel_str(item), item)
#define __assign_rel_str_len(item, src...) __uft_assign(__get_rel_str(item), item)
#define __assign_vstr(item, fmt, ap)	do { va_list __uft_ap; va_copy(__uft_ap, *(ap)); vsnprintf(__get_str(item), \
	__get_dynamic_array_len(item), fmt, __uft_ap); va_end(__uft_ap); } while (0)
#define __assign_bitmask(item, from, bits)	memcpy(__get_bitmask(item), (from), ((bits) + 63) / 64 * 8)
#define __assign_rel_bitmask(item, from, bits)	memcpy(__get_rel_str(item), (from), ((bits) + 63) / 64 * 8)
#define __assign_cpumask(item, from)		__assign_bitmask(item, from, nr_cpumask_bits)
#define __assign_rel_cpumask(item, from)	__assign_rel_bitmask(item, from, nr_cpumask_bits)
#define __assign_sockaddr(item, from, len)	memcpy(__get_dynamic_array(item), (from), (len))
#define __assign_rel_sockaddr(item, from, len)	memcpy(__get_rel_dynamic_array(item), (from), (len))

#undef DECLARE_EVENT_CLASS
#define DECLARE_EVENT_CLASS(class_name, proto, args, tstruct, assign, print)			\
	static __UFT_NOTRACE __attribute__((noinline, cold, unused)) void __uft_write_##class_name( \
		struct uft_tracepoint *__uft_tp, proto) \
	{											\
		void (*__uft_writer)(struct uft_tracepoint *, const void *, unsigned long) =	\
			__atomic_load_n(&__uft_tp->write, __ATOMIC_ACQUIRE);			\
		struct trace_event_data_offsets_##class_name __data_offsets;			\
		size_t __uft_bytes = sizeof(struct trace_event_raw_##class_name) + \
			trace_event_get_offsets_##class_name(&__data_offsets, args); \
		uint64_t __uft_room[UFT_TRACEPOINT_MAX / 8];					\
		struct trace_event_raw_##class_name *entry = (struct trace_event_raw_##class_name *)__uft_room;	\
												\
		if (!__uft_writer)								\
			return;									\
		if (__uft_bytes > sizeof(__uft_room)) {						\
			__uft_writer(__uft_tp, NULL, __uft_bytes);				\
			return;									\
		}										\
		__uft_clear(__uft_room, (__uft_bytes + 7) / 8);					\
		tstruct										\
		{ assign; }									\
		__uft_writer(__uft_tp, (char *)entry + sizeof(struct trace_entry), \
			     __uft_bytes - sizeof(struct trace_entry)); \
	}
#undef DEFINE_EVENT
#define DEFINE_EVENT(template, event_name, proto, args)						\
	struct uft_tracepoint __uft_tracepoint_##event_name __UFT_SECTION("__uft_events") = {	\
		.magic = UFT_TRACEPOINT_MAGIC, .bytes = sizeof(struct uft_tracepoint),		\
		.text = __stringify(TRACE_SYSTEM) "\0" #event_name "\0" #template,		\
	};											\
	void __uft_call_##event_name(proto)							\
	{											\
		__uft_write_##template(&__uft_tracepoint_##event_name, args);			\
	}											\
	__UFT_EVENT_PROBES_DEFINE(event_name)
/* The event's site is in a probe of the tracepoint, which the object registers when it is loaded. */
#undef DEFINE_CUSTOM_EVENT
#define DEFINE_CUSTOM_EVENT(template, event_name, proto, args)					\
	static struct uft_tracepoint __uft_custom_##event_name __UFT_SECTION("__uft_events") = {	\
		.magic = UFT_TRACEPOINT_MAGIC, .bytes = sizeof(struct uft_tracepoint),		\
		.text = __stringify(TRACE_SYSTEM) "\0" #event_name "\0custom_" #template,	\
	};											\
	static __UFT_NOTRACE __attribute__((noinline)) void __uft_custom_probe_##event_name(void *__uft_data, proto) \
	{											\
		(void)__uft_data;								\
		__UFT_SITE(__uft_custom_##event_name, __uft_on);				\
		return;										\
	__uft_on:										\
		__uft_write_custom_##template(&__uft_custom_##event_name, args);		\
	}											\
	__attribute__((constructor)) static __UFT_NOTRACE void __uft_custom_begin_##event_name(void)		\
	{											\
		register_trace_##event_name(__uft_custom_probe_##event_name, NULL);		\
	}
#undef DECLARE_TRACE
#undef DECLARE_TRACE_CONDITION
#define DECLARE_TRACE(name, proto, args)	__UFT_PROBES_DEFINE(name)
#define DECLARE_TRACE_CONDITION(name, proto, args, cond)	__UFT_PROBES_DEFINE(name)
#include __UFT_TRACE_INCLUDE(TRACE_INCLUDE_FILE)

/* ---- Restore the macros ------------------------------------------------------------------------------- */

#include <uft/define_trace_stage.h>
#undef __UFT_TRACE_STAGE
#undef TRACE_HEADER_MULTI_READ
#undef TRACE_CUSTOM_MULTI_READ
#include <uft/trace_event.h>
#undef __UFT_INCLUDE
#undef __UFT_TRACE_INCLUDE
#ifdef __UFT_UNDEF_INCLUDE_FILE
#undef TRACE_INCLUDE_FILE
#undef __UFT_UNDEF_INCLUDE_FILE
#endif
#ifdef __UFT_UNDEF_INCLUDE_PATH
#undef TRACE_INCLUDE_PATH
#undef __UFT_UNDEF_INCLUDE_PATH
#endif

#pragma GCC diagnostic pop

#define CREATE_TRACE_POINTS
#endif
