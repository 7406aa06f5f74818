/* SPDX-License-Identifier: MIT */
/*
 * fastpath_interrupt.c - repair the shadow stack of a fast path that a signal handler interrupted
 *
 * Without restartable sections (ring/thread_rings.c) a fast path that enters a call fills the free entry at the top of
 * the shadow stack, and then learns from its store-exclusive whether it was interrupted. By then a handler has removed
 * its own entries, except a handler that switches contexts: if a call of the other context stays open, the interrupted
 * path fills the entry of that call.
 *
 * So while a thread is inside a fast path, all events of its handlers are slow ones. Each slow event keeps a copy of
 * the entry that was free at the first of them, and the next one restores it first: that may interrupt the fast path
 * while it fills the entry, or be the event with which the path begins anew. The write position of the line tells
 * whether the path is still inside: a path that has committed has moved it.
 *
 * The same holds for the path's intent (ring/thread_rings.c). The intent is the new top that the path made of the top
 * that it loaded, and a handler that enters one call more than it ends leaves just that top. If the path is interrupted
 * between load and intent, and again between intent and store, the second handler finds an intent that looks
 * committed. But between the end of one event and the next, only the path can have changed the top: if the top is what
 * the last event left, the path has not committed.
 */
#include "runtime/trace/thread/thread.h"

#if ARCH_HAS_OWN

void inside_begin(struct trace_task *t)
{
	struct fg_inside *i = &t->th->inside;
	int is_inside;

	if (i->at && i->is_kept && i->at == own_at(t->tid, &is_inside) && i->entry < t->th->top)
		*i->entry = i->kept; /* GUARD(inside_begin_entry) */
}

int inside_has_moved(const struct trace_task *t)
{
	const struct fg_inside *i = &t->th->inside;
	int is_inside;

	return !i->at || i->at != own_at(t->tid, &is_inside) || i->top != t->th->top;
}

void inside_note(struct trace_task *t)
{
	struct fg_inside *i = &t->th->inside;
	int is_inside;
	const void *at = own_at(t->tid, &is_inside);

	if (!is_inside) {
		i->at = NULL;
	} else if (i->at != at) {
		i->at = at;
		i->entry = t->th->top;
	}
}

void inside_end(struct trace_task *t)
{
	struct fg_inside *i = &t->th->inside;

	i->top = t->th->top;
	i->is_kept = i->at && i->entry < t->th->top;
	if (i->is_kept)
		i->kept = *i->entry;
}

#endif
