/* SPDX-License-Identifier: MIT */
/*
 * trace_event.h - TRACE_EVENT() and its relatives, source compatible with the kernel's; see tracepoint.h
 *
 * A header with events includes this. Its first reading makes trace_NAME() and trace_NAME_enabled().
 * <uft/define_trace.h> at its end reads it again, in the file that has defined CREATE_TRACE_POINTS, for the
 * definitions.
 */
#pragma GCC system_header	/* macros as the kernel's: no -pedantic */
#ifndef UFT_TRACE_EVENT_H
#define UFT_TRACE_EVENT_H

#include <uft/tracepoint.h>

#ifndef PARAMS
#define PARAMS(args...)		args
#endif

/* strnlen() is not in ISO C: -std=c11 does not declare it. */
static inline __attribute__((unused)) __UFT_NOTRACE size_t __uft_length(const char *text, size_t most)
{
	const char *end = (const char *)__builtin_memchr(text, 0, most);

	return end ? (size_t)(end - text) : most;
}

#include <uft/tracepoint_probes.h>
#ifdef UFT_TRACE_PROBES
#define __UFT_EVENT_PROBES(name, proto, args)	__UFT_PROBES_DECLARE(name, PARAMS(proto), PARAMS(args))
#define __UFT_EVENT_PROBES_DEFINE(name)		__UFT_PROBES_DEFINE(name)
#define __UFT_EVENT_PROBES_ARE(name)		__UFT_PROBES_ARE(name)
#define __UFT_EVENT_FIRE(name, args...)		__uft_fire_##name(args)
#else
#define __UFT_EVENT_PROBES(name, proto, args)
#define __UFT_EVENT_PROBES_DEFINE(name)
#define __UFT_EVENT_PROBES_ARE(name)		0
#define __UFT_EVENT_FIRE(name, args...)		(void)0
#endif

/*
 * A tracepoint that is no event, for the program's own probes. One file of the object that declares it has
 * DEFINE_TRACE(); a header of events that <uft/define_trace.h> reads again needs none.
 */
#define __UFT_DECLARE_BARE(name, cond, proto, args)						\
	__UFT_PROBES_DECLARE(name, PARAMS(proto), PARAMS(args))					\
	static inline __attribute__((always_inline, unused)) int trace_##name##_enabled(void)	\
	{											\
		return __UFT_PROBES_ARE(name);							\
	}											\
	static inline __attribute__((always_inline, unused)) void trace_##name(proto)		\
	{											\
		if (__UFT_PROBES_ARE(name) && (cond))						\
			__uft_fire_##name(args);						\
	}
#define DEFINE_TRACE(...)			__UFT_DEFINE_TRACE(__VA_ARGS__, )	/* one argument or three */
#define __UFT_DEFINE_TRACE(name, ...)		__UFT_PROBES_DEFINE(name)
#define EXPORT_TRACEPOINT_SYMBOL(name)
#define EXPORT_TRACEPOINT_SYMBOL_GPL(name)

#define TP_PROTO(args...)	args
#define TP_ARGS(args...)	args
#define TP_CONDITION(args...)	args
#define TP_STRUCT__entry(args...)	args
#define TP_fast_assign(args...)	args
#define TP_perf_assign(args...)

#ifndef __stringify
#define __stringify_1(x...)	#x
#define __stringify(x...)	__stringify_1(x)
#endif

#endif

/* The first reading. define_trace.h defines these again at its end, because several headers may follow each other. */
#ifndef __UFT_TRACE_STAGE
#undef TRACE_EVENT
#undef TRACE_EVENT_CONDITION
#undef TRACE_EVENT_FN
#undef TRACE_EVENT_FN_COND
#undef TRACE_EVENT_FLAGS
#undef TRACE_EVENT_PERF_PERM
#undef TRACE_EVENT_NOP
#undef DECLARE_EVENT_CLASS
#undef DEFINE_EVENT
#undef DEFINE_EVENT_FN
#undef DEFINE_EVENT_PRINT
#undef DEFINE_EVENT_CONDITION
#undef DEFINE_EVENT_NOP
#undef DECLARE_EVENT_NOP
#undef DECLARE_EVENT_CLASS_NOP
#undef TRACE_DEFINE_ENUM
#undef TRACE_DEFINE_SIZEOF
#undef DECLARE_TRACE
#undef DECLARE_TRACE_CONDITION
#undef TRACE_CUSTOM_EVENT
#undef DECLARE_CUSTOM_EVENT_CLASS
#undef DEFINE_CUSTOM_EVENT

#define TRACE_CUSTOM_EVENT(name, proto, args, tstruct, assign, print)
#define DECLARE_CUSTOM_EVENT_CLASS(name, proto, args, tstruct, assign, print)
#define DEFINE_CUSTOM_EVENT(template, name, proto, args)
#define DECLARE_TRACE(name, proto, args)			__UFT_DECLARE_BARE(name, 1, PARAMS(proto), PARAMS(args))
#define DECLARE_TRACE_CONDITION(name, proto, args, cond)	__UFT_DECLARE_BARE(name, cond, PARAMS(proto), \
	PARAMS(args))
#define DECLARE_EVENT_CLASS(name, proto, args, tstruct, assign, print)
#define DEFINE_EVENT(template, name, proto, args)		__UFT_DECLARE_TRACE(name, 1, PARAMS(proto), \
	PARAMS(args))
#define DEFINE_EVENT_FN(template, name, proto, args, reg, unreg) __UFT_DECLARE_TRACE(name, 1, PARAMS(proto), \
	PARAMS(args))
#define DEFINE_EVENT_PRINT(template, name, proto, args, print)	__UFT_DECLARE_TRACE(name, 1, PARAMS(proto), \
	PARAMS(args))
#define DEFINE_EVENT_CONDITION(template, name, proto, args, cond) __UFT_DECLARE_TRACE(name, cond, PARAMS(proto), \
	PARAMS(args))
#define TRACE_EVENT(name, proto, args, tstruct, assign, print)	__UFT_DECLARE_TRACE(name, 1, PARAMS(proto), \
	PARAMS(args))
#define TRACE_EVENT_FN(name, proto, args, tstruct, assign, print, reg, unreg) __UFT_DECLARE_TRACE(name, 1, \
	PARAMS(proto), PARAMS(args))
#define TRACE_EVENT_CONDITION(name, proto, args, cond, tstruct, assign, print) __UFT_DECLARE_TRACE(name, cond, \
	PARAMS(proto), PARAMS(args))
#define TRACE_EVENT_FN_COND(name, proto, args, cond, tstruct, assign, print, reg, unreg) __UFT_DECLARE_TRACE(name, \
	cond, PARAMS(proto), PARAMS(args))
#define TRACE_EVENT_FLAGS(event, flag)
#define TRACE_EVENT_PERF_PERM(event, expr...)
#define TRACE_EVENT_NOP(name, proto, args, struct, assign, \
			print) static inline __UFT_NOTRACE void trace_##name(proto) { }
#define DECLARE_EVENT_CLASS_NOP(name, proto, args, tstruct, assign, print)
#define DECLARE_EVENT_NOP(name, proto, args)			static inline __UFT_NOTRACE void trace_##name(proto) { }
#define DEFINE_EVENT_NOP(template, name, proto, args)		static inline __UFT_NOTRACE void trace_##name(proto) { }
#define TRACE_DEFINE_ENUM(a)
#define TRACE_DEFINE_SIZEOF(a)
#endif
