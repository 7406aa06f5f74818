/* SPDX-License-Identifier: MIT */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM uft_tasks

#if !defined(TASKS_H) || defined(TRACE_HEADER_MULTI_READ)
#define TASKS_H
#include <linux/tracepoint.h>

/* its record is interrupted by a signal, whose handler makes another */
TRACE_EVENT(tasks_interrupted,
	TP_PROTO(int n, void (*interrupt)(void)),
	TP_ARGS(n, interrupt),
	TP_STRUCT__entry(__field(int, n) __field(int, twice)),
	TP_fast_assign(__entry->n = n; interrupt(); __entry->twice = 2 * n;),
	TP_printk("n=%d twice=%d", __entry->n, __entry->twice)
);

TRACE_EVENT(tasks_plain,
	TP_PROTO(const char *by, int n),
	TP_ARGS(by, n),
	TP_STRUCT__entry(__field(int, n) __string(by, by)),
	TP_fast_assign(__entry->n = n; __assign_str(by);),
	TP_printk("by=%s n=%d", __get_str(by), __entry->n)
);
#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE tasks
#include <trace/define_trace.h>
