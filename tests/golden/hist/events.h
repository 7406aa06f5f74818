/* SPDX-License-Identifier: MIT */
/*
 * events.h - the events of target.c as tracepoints: the same system, names and fields as the probes that
 * capture.sh makes in a kernel
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM app

#if !defined(HIST_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define HIST_EVENTS_H

#include <linux/tracepoint.h>

DECLARE_EVENT_CLASS(app,
	TP_PROTO(int id, unsigned long us, const char *name),
	TP_ARGS(id, us, name),
	TP_STRUCT__entry(
		__field(s32, id)
		__field(u64, us)
		__string(name, name)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->us = us;
		__assign_str(name);
	),
	TP_printk("id=%d us=%llu name=\"%s\"", __entry->id, __entry->us, __get_str(name))
);

DEFINE_EVENT(app, req, TP_PROTO(int id, unsigned long us, const char *name), TP_ARGS(id, us, name));
DEFINE_EVENT(app, done, TP_PROTO(int id, unsigned long us, const char *name), TP_ARGS(id, us, name));

#endif
#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE events
#include <trace/define_trace.h>
