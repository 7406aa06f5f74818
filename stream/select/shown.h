/* SPDX-License-Identifier: MIT */
/* shown.h - the records that a live buffer shows: calls, functions, tasks, events by name */
#ifndef UFT_STREAM_SHOWN_H
#define UFT_STREAM_SHOWN_H

#include "stream/stream.h"
#include "symbol/event_set.h"
#include "symbol/event_type.h"

/*
 * Kinds that are recorded but hidden, from a clock on: any call, stacks, the function tracer's events, the graph's, the
 * session's own, stacks of tracepoints' events.
 */
enum uft_live_hidden {
	UFT_LIVE_NO_CALLS = 1, UFT_LIVE_NO_STACKS = 2, UFT_LIVE_NO_FUNCS = 4, UFT_LIVE_NO_GRAPH = 8,
	UFT_LIVE_NO_HWLAT = 16, UFT_LIVE_NO_OSNOISE = 32, UFT_LIVE_NO_SAMPLES = 64, UFT_LIVE_NO_SWITCHES = 128,
	UFT_LIVE_NO_ACCESSES = 256,
	UFT_LIVE_NO_EVENT_STACKS = 512,
	UFT_LIVE_NO_OWN = UFT_LIVE_NO_HWLAT | UFT_LIVE_NO_OSNOISE | UFT_LIVE_NO_SAMPLES | UFT_LIVE_NO_SWITCHES |
	UFT_LIVE_NO_ACCESSES,
};
/*
 * Only calls of these functions and tasks are shown. Texts are lists of words, a newline behind each, `!` in front of
 * excluded ones; empty: all functions of prepared code, and of the program. Functions in @roots are shown whatever
 * @filter says, as sites are armed.
 */
struct uft_live_view {
	const char *filter, *notrace, *roots;
	uint32_t tracer;	/* enum uft_tracer: its own functions are shown whatever @filter says; */
	int is_bare;		/* and no others */
	const uint32_t *pids, *not_pids; size_t npids, nnot_pids;
};
/*
 * Events by name that are shown from @since on: of types in @shown, if they pass the type's filter (if any) and belong
 * to these tasks; of types in @waiting those that uft_live_show_one() names. Before the first choice: all.
 */
struct uft_live_filter { const struct uft_event_type *type; const char *text; };
struct uft_live_events {
	struct uft_event_set shown, waiting;	/* owned by the caller */
	const struct uft_live_filter *filter; size_t nfilters;	/* by rising index of their types */
	const uint32_t *pids, *not_pids; size_t npids, nnot_pids;
};

#endif
