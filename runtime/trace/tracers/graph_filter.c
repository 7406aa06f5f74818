/* SPDX-License-Identifier: MIT */
/*
 * graph_filter.c - decide which calls the graph records, and how
 *
 * It decides by the action that the session gave the site (roots, hidden functions), the calls that are open on the
 * shadow stack, and the caller. It runs before anything is written or pushed, and may run again for the same call.
 *
 * A thread that no event has switched on (UFT_ROOTS_TRIGGER) records nothing. Its calls are not pushed, except calls
 * below roots and calls of hidden functions, which are silent: an event may come while they run, and calls that they
 * make from then on are below the root, or hidden.
 */
#include "runtime/trace/tracers/tracers.h"

/* The flags for the end of an accepted call; 0: only its return is handled. */
static uint32_t fg_mode(const struct uft_tracer_params *p, uint32_t ops)
{
	int is_whole = p->has_events & UFT_EVENTS_SOME && ops & (UFT_ACT_ARGS | UFT_ACT_MASK);

	if (p->tracer == UFT_TRACER_PROFILE)
		return FG_PROFILE | FG_SILENT;
	return p->thresh && !is_whole ? FG_CALL | FG_SILENT : 0;
}

/* Has the graph as many open calls as it may have? Calls that only the profile counts are not among them. */
static int fg_is_too_deep(const struct fg_entry *base, const struct fg_entry *top, const struct uft_tracer_params *p)
{
	uint64_t n = 0;

	if (!(p->has_events & UFT_EVENTS_PROFILE))
		return p->max_depth && top - base >= p->max_depth;
	for (const struct fg_entry *e = base; e < top && n < p->max_depth; e++)
		n += !(e->flags & FG_NOT_GRAPH);
	return p->max_depth && n >= p->max_depth;
}

int fg_choose(const struct trace_task *t, const struct uft_tracer_params *p, const struct fg_entry *top,
	      const struct fg_entry *e, uint32_t ops, uint32_t *flags, int *is_handler)
{
	const struct uft_thread *th = t->th;
	uint32_t caller = top > th->base ? top[-1].flags : 0, alt = *flags;
	int is_on = graph_is_on(th, p) && !(t->guest && p->has_roots & UFT_ROOTS_TRIGGER) /* GUARD(guest_roots) */;

	*flags |= fg_mode(p, ops);
	if (p->has_events & UFT_EVENTS_PROFILE && ops & UFT_ACT_NOT_GRAPH)
		return 0;
	if (p->has_roots & UFT_ROOTS_NOT) {
		if (caller & FG_HIDDEN)
			return 0;
	/* a root of another graph is recorded */
		if ((ops & (UFT_ACT_HIDE | UFT_ACT_ROOT)) == UFT_ACT_HIDE)
			*flags = alt | FG_HIDDEN | FG_SILENT;	/* it waits for the return only */
	}
	if (!is_on && !(p->has_roots & UFT_ROOTS_ONLY) && !(*flags & FG_HIDDEN))
		return 0;
	if (!is_on && !(*flags & FG_HIDDEN))
		*flags = alt | FG_SILENT;
	if (p->has_roots & UFT_ROOTS_ONLY && !(*flags & FG_HIDDEN)) {
		int is_inside = caller & FG_INSIDE;

		if (!(ops & UFT_ACT_ROOT) && !is_inside)
			return 0;
		*flags |= FG_INSIDE;
		if (fg_is_recorded(*flags) && is_inside)
			*flags |= caller & FG_SCRATCH;
		else if (fg_is_recorded(*flags) && ops & UFT_ACT_KEEP)
			*flags |= FG_SCRATCH | FG_KEEP;
		if (*flags & FG_SCRATCH && t->guest) {	/* the buffer is its parent's */
			trace_count(UFT_CNT_SHARED_TP, 1);
			return 0;
		}
	}
	if (fg_is_too_deep(th->base, top, p))
		return 0;
	if (p->has_events & (UFT_EVENTS_HANDLERS | UFT_EVENTS_NO_HANDLERS)) {
		if (p->has_events & UFT_EVENTS_NO_HANDLERS && caller & FG_HIDDEN)
			return 0;
		*is_handler = signal_is_handler(e);
		if (*is_handler && p->has_events & UFT_EVENTS_NO_HANDLERS)
			*flags = (*flags & (FG_ALT | FG_INSIDE)) | FG_HIDDEN | FG_SILENT;
	}
	return 1;
}
