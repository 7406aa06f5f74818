/* SPDX-License-Identifier: MIT */
/* probes.h - an event and a tracepoint that is none */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM probes
#if !defined(PROBES_H) || defined(TRACE_HEADER_MULTI_READ)
#define PROBES_H
#include <uft/trace_event.h>
TRACE_EVENT(number,
	TP_PROTO(int a),
	TP_ARGS(a),
	TP_STRUCT__entry(__field(int, a)),
	TP_fast_assign(__entry->a = a;),
	TP_printk("a=%d", __entry->a)
);
DECLARE_TRACE(bare, TP_PROTO(int a, const char *b), TP_ARGS(a, b));
#endif
#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE probes
#include <uft/define_trace.h>
