/* SPDX-License-Identifier: MIT */
/* requests.h - the events of program.c: a request begins, and ends */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM web

#if !defined(WEB_REQUESTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define WEB_REQUESTS_H

#include <linux/tracepoint.h>

DECLARE_EVENT_CLASS(request,
	TP_PROTO(int id),
	TP_ARGS(id),
	TP_STRUCT__entry(__field(int, id)),
	TP_fast_assign(__entry->id = id;),
	TP_printk("id=%d", __entry->id)
);

DEFINE_EVENT(request, begin, TP_PROTO(int id), TP_ARGS(id));
DEFINE_EVENT(request, end, TP_PROTO(int id), TP_ARGS(id));

#endif
#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE requests
#include <trace/define_trace.h>
