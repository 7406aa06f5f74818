/* SPDX-License-Identifier: MIT */
/*
 * fastpath_interrupt.c - who was interrupted inside a fast path goes on when the top is another one
 *
 * Without restartable sections (ring/thread_rings.c) who enters a call fills the free entry at the top, and then finds
 * by its store-exclusive that it was interrupted. A handler has taken its own entries off again by then. Not
 * one that switches contexts: where a call of the other context stays open, who goes on fills the entry of
 * that.
 *
 * So while a thread is inside, all events being slow ones, each of them leaves a copy of the entry that was
 * free when the first came; and the next puts it back, before it looks at anything: it may come while who is
 * inside is in the middle of that, or be the one by which he begins anew. The line's place to write says that
 * it is still about him: who was not interrupted in vain has moved it.
 *
 * The same for his intent (ring/thread_rings.c): it is the top that he made of the one that he loaded, and such a
 * handler leaves just that where it enters one call more than it ends. If he was interrupted between load and
 * intent, and then again between intent and store, the second handler finds an intent that looks as if it had
 * come true. But between the end of one event and the next only he can have changed the top: where it is what
 * the last one left, he has not.
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
