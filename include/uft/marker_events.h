/* SPDX-License-Identifier: MIT */
/* marker_events.h - the events of marker.h */
#pragma GCC system_header	/* macros as the kernel's: no -pedantic */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM uft

#if !defined(UFT_MARKER_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define UFT_MARKER_EVENTS_H

#include <uft/trace_event.h>

TRACE_EVENT(marker_print,
	TP_PROTO(const char *text),
	TP_ARGS(text),
	TP_STRUCT__entry(__string(text, text)),
	TP_fast_assign(__assign_str(text);),
	TP_printk("%s", __get_str(text))
);

TRACE_EVENT(marker_begin,
	TP_PROTO(const char *name),
	TP_ARGS(name),
	TP_STRUCT__entry(__field(char, track_event_type) __string(slice_name, name)),
	TP_fast_assign(__entry->track_event_type = 'B'; __assign_str(slice_name);),
	TP_printk("%s", __get_str(slice_name))
);

TRACE_EVENT(marker_end,
	TP_PROTO(int none),
	TP_ARGS(none),
	TP_STRUCT__entry(__field(char, track_event_type)),
	TP_fast_assign((void)none; __entry->track_event_type = 'E';),
	TP_printk("%c", __entry->track_event_type)
);

TRACE_EVENT(marker_counter,
	TP_PROTO(const char *name, long long value),
	TP_ARGS(name, value),
	TP_STRUCT__entry(__field(long long, counter_value) __field(char, track_event_type) __string(track_name, name)),
	TP_fast_assign(__entry->counter_value = value; __entry->track_event_type = 'C'; __assign_str(track_name);),
	TP_printk("%s=%lld", __get_str(track_name), __entry->counter_value)
);

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH uft
#define TRACE_INCLUDE_FILE marker_events
#include <uft/define_trace.h>
