/* SPDX-License-Identifier: MIT */
/* kinds_custom.h - custom events at tracepoints of kinds.h, as modules of kernels have them */
#if !defined(KINDS_CUSTOM_H) || defined(TRACE_CUSTOM_MULTI_READ)
#define KINDS_CUSTOM_H

#include <linux/trace_events.h>

TRACE_CUSTOM_EVENT(kinds_names,
	TP_PROTO(u64 state, u64 flags),
	TP_ARGS(state, flags),
	TP_STRUCT__entry(__field(u32, sum)),
	TP_fast_assign(__entry->sum = (u32)(state + flags);),
	TP_printk("sum=%u", __entry->sum)
)

TRACE_CUSTOM_EVENT(kinds_plain,
	TP_PROTO(int n),
	TP_ARGS(n),
	TP_STRUCT__entry(__string(text, n > 1 ? "many" : "few")),
	TP_fast_assign(__assign_str(text);),
	TP_printk("%s", __get_str(text))
)
#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE kinds_custom
#include <trace/define_custom_trace.h>
