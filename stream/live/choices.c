/* SPDX-License-Identifier: MIT */
/*
 * choices.c - the kinds of events that a buffer shows; hidden_spans.c hides spans of time
 *
 * A target may record more than a buffer is to show: calls of a function are recorded for its command only, a stack is
 * recorded that its count does not cover any more, an event by name is on only between two calls. A choice holds from
 * its clock on; earlier events stay as they were. A single stack or event that is shown although its kind is hidden is
 * named by the clock of its record, so it does not matter how often calls switch the kind.
 *
 * A choice, or a single event, is freed when no chunk of any ring covers its time. A ring that no thread writes any
 * more keeps its last chunk, yet choices and events of other rings' times are freed. A busy ring has one single event
 * for each record. Where a rarely written ring covers all their times, there are never more of them than the held
 * chunks can have. A reader that switches between two views makes each once: it is taken from a choice that is held.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stream/live/live_internal.h"
#include "symbol/array.h"

/* a stack, the shortest record of a single event, has at least its word and the function that was entered */
#define SINGLE_BYTES	16u

static void put_choice(const struct sel_choice *c)
{
	call_view_put(c->view);
	event_view_put(c->events);
}

void lv_choices_free(struct sel_choice *choice, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put_choice(&choice[i]);
	free(choice);
}

/* ---- Kept records ---------------------------------------------------------------------------- */

/* Marks what is used at clocks from @from to @to. */
typedef void keep_fn(const struct uft_live *l, uint8_t *is_kept, uint64_t from, uint64_t to);

static void keep_singles(const struct uft_live *l, uint8_t *is_kept, uint64_t from, uint64_t to)
{
	for (size_t i = sel_single_from(l->single_at, l->nsingle_at, from); i < l->nsingle_at && l->single_at[i] <= to;
	     i++)
		is_kept[i] = 1;
}

static void keep_choices(const struct uft_live *l, uint8_t *is_kept, uint64_t from, uint64_t to)
{
	for (size_t i = sel_choice_of(l->choice, l->nchoice, from); i < l->nchoice && l->choice[i].from <= to; i++)
		is_kept[i] = 1;
}

/*
 * Marks what the ring's chunks use, and the chunk that the consumer has begun. Returns how many single events fit into
 * them.
 */
static uint64_t keep_ring(const struct uft_live *l, keep_fn *keep, uint8_t *is_kept, uint32_t index)
{
	const struct lv_ring *r = &l->ring[index];
	const struct dec_ring *base = index < l->base->nring ? &l->base->ring[index] : NULL;
	uint64_t bytes = 0;

	if (base && base->cur.p != base->cur.end) {
		keep(l, is_kept, base->key, r->first ? r->first->clock : r->until);
		bytes = (uint64_t)(base->cur.end - base->cur.p);
	}
	for (const struct lv_chunk *c = r->first; c; c = c->next) {
		keep(l, is_kept, c->clock, c->next ? c->next->clock : r->until);
		bytes += c->len;
	}
	return bytes / SINGLE_BYTES;
}

/* ---- Choices --------------------------------------------------------------------------------- */

/* Frees unused choices. Events older than the watermark do not come any more, except from chunks aside. */
static void forget_choices(struct uft_live *l)
{
	uint8_t *is_kept = calloc(l->nchoice + 1, 1);
	size_t n = 0;

	if (!is_kept)
		return;
	keep_choices(l, is_kept, l->watermark, UINT64_MAX);
	for (uint32_t i = 0; i < l->nring; i++) {
		keep_ring(l, keep_choices, is_kept, i);
		if (l->ring[i].aside)
			keep_choices(l, is_kept, l->ring[i].aside->clock, UINT64_MAX);
	}
	for (size_t i = 0; i < l->nchoice; i++)
		if (is_kept[i])
			l->choice[n++] = l->choice[i];
		else
			put_choice(&l->choice[i]);
	free(is_kept);
	l->nchoice = n;
}

/* Makes at least half of the room free, so that searches for unused choices cost little. */
static int make_choice_room(struct uft_live *l)
{
	if (l->nchoice < l->cap_choice)
		return 0;
	forget_choices(l);
	if (2 * l->nchoice < l->cap_choice)
		return 0;
	return array_reserve(l->choice, l->cap_choice, 2 * l->nchoice + 1);
}

static struct call_view *view_of(const struct uft_live *l, const struct uft_live_view *view)
{
	for (size_t i = l->nchoice; i; i--)
		if (call_view_is(l->choice[i - 1].view, view))
			return call_view_get(l->choice[i - 1].view);
	return call_view_make(view);
}

static int add_choice(struct uft_live *l, uint64_t since, uint32_t hidden, const struct uft_live_view *view)
{
	struct call_view *made = view ? view_of(l, view) : NULL;

	if ((view && !made) || make_choice_room(l)) {
		call_view_put(made);
		return -ENOMEM;
	}
	l->choice[l->nchoice] = l->nchoice ? l->choice[l->nchoice - 1] : (struct sel_choice){ 0 };
	event_view_get(l->choice[l->nchoice].events);
	l->choice[l->nchoice].from = since;
	l->choice[l->nchoice].flags = hidden;
	l->choice[l->nchoice++].view = made;
	l->version++;
	return 0;
}

static void forget_since(struct uft_live *l, uint64_t since)
{
	while (l->nchoice && l->choice[l->nchoice - 1].from >= since) {
		put_choice(&l->choice[--l->nchoice]);
		l->version++;
	}
}

/* Before the first choice all events are shown. */
int uft_live_choose(struct uft_live *l, uint64_t since, uint32_t hidden, const struct uft_live_view *view)
{
	const struct sel_choice *now;
	int ret = 0;

	pthread_mutex_lock(&l->lock);
	forget_since(l, since);
	now = l->nchoice ? &l->choice[l->nchoice - 1] : NULL;
	if ((now ? now->flags : 0) != hidden || !call_view_is(now ? now->view : NULL, view))
		ret = add_choice(l, since, hidden, view);
	pthread_mutex_unlock(&l->lock);
	return ret;
}

/* Adds a choice of events; kinds and view stay as they are. */
static int add_events(struct uft_live *l, uint64_t since, const struct uft_live_events *events)
{
	struct sel_choice last = l->nchoice ? l->choice[l->nchoice - 1] : (struct sel_choice){ 0 };
	struct event_view *made =
		event_view_is(last.events, events) ? event_view_get(last.events) : event_view_make(events);

	if (!made || make_choice_room(l)) {
		event_view_put(made);
		return -ENOMEM;
	}
	last.from = since > last.from ? since : last.from;
	last.events = made;
	call_view_get(last.view);
	l->choice[l->nchoice++] = last;
	l->version++;
	return 0;
}

int uft_live_choose_events(struct uft_live *l, uint64_t since, const struct uft_live_events *events)
{
	const struct sel_choice *last;
	int ret = 0;

	pthread_mutex_lock(&l->lock);
	last = l->nchoice ? &l->choice[l->nchoice - 1] : NULL;
	if (!last || !event_view_is(last->events, events))
		ret = add_events(l, since, events);
	pthread_mutex_unlock(&l->lock);
	return ret;
}

/*
 * Begins a copy of the choice of @clock behind @clock. Returns the copy's place; without memory that of the next
 * choice.
 */
static size_t split(struct uft_live *l, uint64_t clock)
{
	int has_room = !make_choice_room(l);
	size_t i = sel_choice_of(l->choice, l->nchoice, clock);

	if (l->choice[i].from > clock)
		return i;
	if (!has_room)
		return i + 1;
	memmove(&l->choice[i + 1], &l->choice[i], (l->nchoice++ - i) * sizeof(*l->choice));
	call_view_get(l->choice[i].view);
	event_view_get(l->choice[i].events);
	l->choice[++i].from = clock + 1;
	return i;
}

/* Without memory the types still wait. */
void uft_live_settle(struct uft_live *l, const struct uft_event_set *types, const struct uft_event_set *shown)
{
	pthread_mutex_lock(&l->lock);
	for (size_t i = l->nchoice ? split(l, l->looked) : 0; i < l->nchoice; i++) {
		struct event_view *made =
			l->choice[i].events ? event_view_settled(l->choice[i].events, types, shown) : NULL;

		if (made) {
			event_view_put(l->choice[i].events);
			l->choice[i].events = made;
		}
	}
	l->version++;
	pthread_mutex_unlock(&l->lock);
}

/* ---- Single records -------------------------------------------------------------------------- */

/* Events younger than the watermark may be named before they arrive. */
static void forget_singles(struct uft_live *l)
{
	uint64_t most = l->nsingle_at - sel_single_from(l->single_at, l->nsingle_at, l->watermark);
	uint8_t *is_kept = calloc(l->nsingle_at + 1, 1);
	size_t n = 0;

	if (!is_kept)
		return;
	keep_singles(l, is_kept, l->watermark, UINT64_MAX);
	for (uint32_t i = 0; i < l->nring; i++)
		most += keep_ring(l, keep_singles, is_kept, i);
	for (size_t i = 0; i < l->nsingle_at; i++)
		if (is_kept[i])
			l->single_at[n++] = l->single_at[i];
	free(is_kept);
	if (n > most)
		memmove(l->single_at, l->single_at + (n - most), most * sizeof(*l->single_at));
	l->nsingle_at = n < most ? n : most;
}

/* Makes at least half of the room free, so that searches cost little. */
static void make_single_room(struct uft_live *l)
{
	forget_singles(l);
	array_reserve(l->single_at, l->cap_single_at, 2 * l->nsingle_at + 1);
}

void uft_live_show_one(struct uft_live *l, uint64_t clock)
{
	size_t i;

	pthread_mutex_lock(&l->lock);
	if (l->nsingle_at == l->cap_single_at)
		make_single_room(l);
	if (l->nsingle_at < l->cap_single_at) {
		for (i = l->nsingle_at++; i && l->single_at[i - 1] > clock; i--)
			l->single_at[i] = l->single_at[i - 1];
		l->single_at[i] = clock;
	}
	l->version++;
	pthread_mutex_unlock(&l->lock);
}

int lv_copy_choices(struct uft_stream *st, const struct uft_live *from)
{
	size_t n = from->nchoice * sizeof(*from->choice), nsingles = from->nsingle_at * sizeof(*from->single_at);

	if (!from->nchoice)
		return 0;
	st->sel.choice = st->sel.choice_copy = malloc(n);
	st->sel.single_at = st->sel.single_copy = malloc(nsingles + 1);
	if (!st->sel.choice || !st->sel.single_copy)
		return -ENOMEM;
	memcpy(st->sel.choice_copy, from->choice, n);
	for (size_t i = 0; i < from->nchoice; i++) {
		call_view_get(st->sel.choice_copy[i].view);
		event_view_get(st->sel.choice_copy[i].events);
	}
	st->sel.nchoice_copy = from->nchoice;
	if (nsingles)
		memcpy(st->sel.single_copy, from->single_at, nsingles);
	st->sel.nchoice = from->nchoice;
	st->sel.nsingle_at = from->nsingle_at;
	st->has_select = 1;
	return 0;
}
