/* SPDX-License-Identifier: MIT */
/* bench_events.h - an event of three integers */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM bench

#if !defined(BENCH_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define BENCH_EVENTS_H
#include <uft/trace_event.h>

TRACE_EVENT(three,
	TP_PROTO(int a, int b, int c),
	TP_ARGS(a, b, c),
	TP_STRUCT__entry(__field(int, a) __field(int, b) __field(int, c)),
	TP_fast_assign(__entry->a = a; __entry->b = b; __entry->c = c;),
	TP_printk("a=%d b=%d c=%d", __entry->a, __entry->b, __entry->c)
);
#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE bench_events
#include <uft/define_trace.h>
