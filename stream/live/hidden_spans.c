/* SPDX-License-Identifier: MIT */
/*
 * hidden_spans.c - spans of time whose events a buffer holds but hides, and taps that read all events of another buffer
 *
 * When recording ends at a certain record, later records have already been written by the time that this is known. So
 * they are hidden by their clocks: a span begins and ends at the clock of a record, and the decoder skips the records
 * in between. A copy of the buffer's stream has the spans of its moment. A span is freed when the buffer holds no
 * record that old.
 *
 * Hidden events must not overwrite shown ones. So a watched buffer grows beyond its limit until its events are known,
 * and is trimmed then: wholly hidden chunks go first, but for the last of a ring, which still grows, and for the calls
 * that they open or close (condense.c).
 *
 * A tap grows as well until its events have been read: a burst between two rounds may be larger than any limit, and an
 * overwritten event would be a command that is not carried out. Events too young for the round are trimmed to the
 * limit.
 */
#include <stdlib.h>
#include <string.h>

#include "stream/live/live_internal.h"
#include "symbol/array.h"

/* Returns 1 + the index of the span that covers the whole chunk; 0: none. */
static size_t span_of(const struct uft_live *l, const struct lv_chunk *c)
{
	uint64_t end = c->next->clock;

	if (end > l->looked)	/* recording may have been switched on in it */
		return 0;
	for (size_t i = l->nspan; i-- && l->span[i].to >= end;)
		if (l->span[i].from < c->clock)		/* a chunk may begin with the last shown event */
			return i + 1;
	return 0;
}

/* Drops hidden chunks of a ring, but for those that the consumer has begun. */
static void trim_ring(struct uft_live *l, struct lv_ring *r, uint64_t seen)
{
	uint64_t sub = l->geo->head.sub_bytes;
	struct lv_chunk **before = NULL, *to;	/* a chunk in the same span, just before *p */
	size_t span, span_before = 0;

	for (struct lv_chunk **p = &r->first; *p && (*p)->next; ) {
		struct lv_chunk *c = *p;

		span = (c->position | c->next->position) & (sub - 1) || c->position < seen ? 0 : span_of(l, c);
		if (span && before && span == span_before && !c->is_condensed && lv_condense(*before, c, &to)) {
			lv_replace(l, r, before, c->next, to);
			p = to ? &to->next : before;
			before = to ? before : NULL;
			continue;
		}
		if (span && !c->is_condensed && lv_condense(NULL, c, &to)) {
			lv_replace(l, r, p, c->next, to);
			if (!to)
				continue;
			c = to;
		}
		before = span && c->is_condensed ? p : NULL;
		span_before = span;
		p = &c->next;
	}
}

static void trim(struct uft_live *l)
{
	for (uint32_t i = 0; i < l->nring; i++)
		if (!l->ring[i].is_ours)
			trim_ring(l, &l->ring[i], i < l->base->nring ? lv_seen_to(&l->base->ring[i]) : 0);
	lv_fit(l);
}

/* Returns a clock such that no held or partly decoded record is older. */
static uint64_t lv_oldest(const struct uft_live *l)
{
	uint64_t least = l->watermark;

	for (uint32_t i = 0; i < l->nring; i++) {
		const struct dec_ring *r = i < l->base->nring ? &l->base->ring[i] : NULL;

		if (l->ring[i].first && l->ring[i].first->clock < least)
			least = l->ring[i].first->clock;
		if (r && r->cur.p != r->cur.end && r->key < least)
			least = r->key;
	}
	return least;
}

static int room(struct uft_live *l)
{
	uint64_t least = lv_oldest(l);
	size_t gone = 0;

	if (l->nspan < l->cap_span)
		return 0;
	while (gone < l->nspan && l->span[gone].to < least)
		gone++;
	l->nspan -= gone;
	if (gone)
		memmove(l->span, l->span + gone, l->nspan * sizeof(*l->span));
	return array_reserve(l->span, l->cap_span, l->nspan + 1);
}

int uft_live_hide(struct uft_live *l, uint64_t clock)
{
	int ret;

	pthread_mutex_lock(&l->lock);
	ret = room(l);
	if (!ret && (!l->nspan || l->span[l->nspan - 1].to != UINT64_MAX))
		l->span[l->nspan++] = (struct sel_span){ clock, UINT64_MAX };
	pthread_mutex_unlock(&l->lock);
	return ret;
}

void uft_live_show(struct uft_live *l, uint64_t clock)
{
	pthread_mutex_lock(&l->lock);
	if (l->nspan && l->span[l->nspan - 1].to == UINT64_MAX)
		l->span[l->nspan - 1].to = clock;
	pthread_mutex_unlock(&l->lock);
}

void uft_live_watched(struct uft_live *l, struct uft_live *tap)
{
	pthread_mutex_lock(&l->lock);
	l->tap = tap;
	l->looked = l->watermark;
	lv_fit(l);
	pthread_mutex_unlock(&l->lock);
}

void uft_live_watch(struct uft_live *tap, struct uft_live *l,
		    void (*fn)(void *arg, const struct uft_event *e, uint64_t clock), void *arg)
{
	struct uft_event ev[1];
	struct uft_stream *st = uft_live_begin(tap, UFT_LIVE_ALL);

	if (!st)
		return;
	st->sel.watch = fn;
	st->sel.watch_arg = arg;
	st->has_select = 1;
	/*
	 * @fn may take the leader's lock, so no lock of a follower may be held (tee.c). Only the session's thread uses
	 * a tap.
	 */
	pthread_mutex_unlock(&tap->lock);
	while (uft_stream_batch(st, ev, 1))
		;
	pthread_mutex_lock(&tap->lock);
	uft_live_end(tap);
	pthread_mutex_lock(&l->lock);
	l->looked = tap->watermark;	/* only this function advances it */
	trim(l);
	pthread_mutex_unlock(&l->lock);
}
