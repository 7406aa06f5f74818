/* SPDX-License-Identifier: MIT */
/* busy_scene.h - the event of busy_scene.c */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM scene

#if !defined(BUSY_SCENE_H) || defined(TRACE_HEADER_MULTI_READ)
#define BUSY_SCENE_H

#include <uft/trace_event.h>

TRACE_EVENT(turn,
	TP_PROTO(int n),
	TP_ARGS(n),
	TP_STRUCT__entry(__field(int, n)),
	TP_fast_assign(__entry->n = n;),
	TP_printk("n=%d", __entry->n));

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE busy_scene
#include <uft/define_trace.h>
