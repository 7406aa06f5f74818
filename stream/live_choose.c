/* SPDX-License-Identifier: MIT */
/*
 * live_choose.c - of what kinds a buffer shows events: other than hiding spans of time (live_hide.c) this is about what was asked for
 *
 * What a target records may be more than a buffer is to show: a function's calls are looked at for its command, a stack is recorded
 * that its count does not cover any more. A choice counts from its clock on, and what came before stays as it was. A stack that
 * is shown although stacks are not is named by the clock of its record.
 *
 * A choice, or a stack, is forgotten when no chunk of any ring covers the time it is of: a ring that nobody writes any more keeps
 * its last chunk, and the other rings' are forgotten nevertheless. Of stacks there is one for each record of a busy ring; where a ring
 * that is seldom written covers them all, there are never more than what is held can be stacks. Who goes from one view to another and
 * back again makes it once: it is taken from a choice that is held.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stream/live_internal.h"

#define STACK_BYTES	16u	/* of a record that is a stack, at least: its word, and the function that was entered */

static void put_choice(const struct dec_choice *c)
{
	lv_view_put(c->view);
	lv_events_put(c->events);
}

void lv_choices_free(struct dec_choice *choice, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put_choice(&choice[i]);
	free(choice);
}

/* ---- What is held ---------------------------------------------------------------------------- */

/* For clocks from @from to @to. */
typedef void keep_fn(const struct uft_live *l, uint8_t *is_kept, uint64_t from, uint64_t to);

static void keep_stacks(const struct uft_live *l, uint8_t *is_kept, uint64_t from, uint64_t to)
{
	for (size_t i = dec_stack_from(l->stack_at, l->nstack_at, from); i < l->nstack_at && l->stack_at[i] <= to; i++)
		is_kept[i] = 1;
}

static void keep_choices(const struct uft_live *l, uint8_t *is_kept, uint64_t from, uint64_t to)
{
	for (size_t i = dec_choice_of(l->choice, l->nchoice, from); i < l->nchoice && l->choice[i].from <= to; i++)
		is_kept[i] = 1;
}

/* What the ring holds, and what of it the consumer has begun with. Returns how many stacks that could be. */
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
	return bytes / STACK_BYTES;
}

/* ---- Choices --------------------------------------------------------------------------------- */

/* What is older than the watermark and not here does not come any more, but for what is aside. */
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

/* At least half of the room is free then, so that forgetting costs little. */
static int make_choice_room(struct uft_live *l)
{
	size_t cap = 2 * l->cap_choice + 16;
	struct dec_choice *grown;

	if (l->nchoice < l->cap_choice)
		return 0;
	forget_choices(l);
	if (2 * l->nchoice < l->cap_choice)
		return 0;
	grown = realloc(l->choice, cap * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	l->choice = grown;
	l->cap_choice = cap;
	return 0;
}

static struct lv_view *view_of(const struct uft_live *l, const struct uft_live_view *view)
{
	for (size_t i = l->nchoice; i; i--)
		if (lv_view_is(l->choice[i - 1].view, view))
			return lv_view_get(l->choice[i - 1].view);
	return lv_view_make(view);
}

static int add_choice(struct uft_live *l, uint64_t since, uint32_t hidden, const struct uft_live_view *view)
{
	struct lv_view *made = view ? view_of(l, view) : NULL;

	if ((view && !made) || make_choice_room(l)) {
		lv_view_put(made);
		return -ENOMEM;
	}
	l->choice[l->nchoice] = (struct dec_choice){ since, hidden, made, l->nchoice ? lv_events_get(l->choice[l->nchoice - 1].events) : NULL };
	l->nchoice++;
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

/* What was there before anybody chose: all. */
int uft_live_choose(struct uft_live *l, uint64_t since, uint32_t hidden, const struct uft_live_view *view)
{
	const struct dec_choice *now;
	int ret = 0;

	pthread_mutex_lock(&l->lock);
	forget_since(l, since);
	now = l->nchoice ? &l->choice[l->nchoice - 1] : NULL;
	if ((now ? now->flags : 0) != hidden || !lv_view_is(now ? now->view : NULL, view))
		ret = add_choice(l, since, hidden, view);
	pthread_mutex_unlock(&l->lock);
	return ret;
}

/* The kinds and the view stay as they are. */
static int add_events(struct uft_live *l, uint64_t since, const struct uft_live_events *events)
{
	struct lv_events *made = lv_events_make(events);
	struct dec_choice last = { 0 };

	if (!made || make_choice_room(l)) {
		lv_events_put(made);
		return -ENOMEM;
	}
	if (l->nchoice)
		last = l->choice[l->nchoice - 1];
	l->choice[l->nchoice++] = (struct dec_choice){ since > last.from ? since : last.from, last.flags, lv_view_get(last.view), made };
	l->version++;
	return 0;
}

int uft_live_choose_events(struct uft_live *l, uint64_t since, const struct uft_live_events *events)
{
	int ret = 0;

	pthread_mutex_lock(&l->lock);
	if (!lv_events_is(l->nchoice ? l->choice[l->nchoice - 1].events : NULL, events))
		ret = add_events(l, since, events);
	pthread_mutex_unlock(&l->lock);
	return ret;
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

static void forget_stacks(struct uft_live *l)
{
	uint8_t *is_kept = calloc(l->nstack_at + 1, 1);
	uint64_t most = 0;
	size_t n = 0;

	if (!is_kept)
		return;
	for (uint32_t i = 0; i < l->nring; i++)
		most += keep_ring(l, keep_stacks, is_kept, i);
	for (size_t i = 0; i < l->nstack_at; i++)
		if (is_kept[i])
			l->stack_at[n++] = l->stack_at[i];
	free(is_kept);
	if (n > most)
		memmove(l->stack_at, l->stack_at + (n - most), most * sizeof(*l->stack_at));
	l->nstack_at = n < most ? n : most;
}

/* At least half of the room is free then, so that forgetting costs little. */
static void make_stack_room(struct uft_live *l)
{
	uint64_t *grown;

	forget_stacks(l);
	if (l->cap_stack_at && 2 * l->nstack_at < l->cap_stack_at)
		return;
	grown = realloc(l->stack_at, (2 * l->cap_stack_at + 64) * sizeof(*grown));
	if (grown) {
		l->stack_at = grown;
		l->cap_stack_at = 2 * l->cap_stack_at + 64;
	}
}

void uft_live_show_stack(struct uft_live *l, uint64_t clock)
{
	pthread_mutex_lock(&l->lock);
	if (l->nstack_at == l->cap_stack_at)
		make_stack_room(l);
	if (l->nstack_at < l->cap_stack_at)
		l->stack_at[l->nstack_at++] = clock;
	l->version++;
	pthread_mutex_unlock(&l->lock);
}

int lv_copy_choices(struct uft_stream *st, const struct uft_live *from)
{
	size_t n = from->nchoice * sizeof(*from->choice), nstacks = from->nstack_at * sizeof(*from->stack_at);

	if (!from->nchoice)
		return 0;
	st->choice = st->choice_copy = malloc(n);
	st->stack_at = st->stack_copy = malloc(nstacks + 1);
	if (!st->choice || !st->stack_copy)
		return -ENOMEM;
	memcpy(st->choice_copy, from->choice, n);
	for (size_t i = 0; i < from->nchoice; i++) {
		lv_view_get(st->choice_copy[i].view);
		lv_events_get(st->choice_copy[i].events);
	}
	st->nchoice_copy = from->nchoice;
	if (nstacks)
		memcpy(st->stack_copy, from->stack_at, nstacks);
	st->nchoice = from->nchoice;
	st->nstack_at = from->nstack_at;
	st->has_select = 1;
	return 0;
}
