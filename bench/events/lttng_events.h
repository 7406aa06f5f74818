/* SPDX-License-Identifier: MIT */
/* lttng_events.h - the same event for LTTng-UST */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER uft_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_events.h"

#if !defined(LTTNG_EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LTTNG_EVENTS_H
#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(uft_bench, three,
	LTTNG_UST_TP_ARGS(int, a, int, b, int, c),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, a, a) lttng_ust_field_integer(int, b,
	b) lttng_ust_field_integer(int, c, c))
)
#endif
#include <lttng/tracepoint-event.h>
