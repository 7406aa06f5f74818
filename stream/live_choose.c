/* SPDX-License-Identifier: MIT */
/*
 * live_choose.c - of what kinds a buffer shows events: other than hiding spans of time (live_hide.c) this is about what was asked for
 *
 * What a target records may be more than a buffer is to show: a function's calls are looked at for its command, a stack is recorded
 * that its count does not cover any more. A choice counts from its clock on, and what came before stays as it was. A stack that
 * is shown although stacks are not is named by the clock of its record.
 *
 * A choice is forgotten when nothing is held that is as old. That is too late for stacks, of which there is one for each record of a busy
 * ring, while a ring that nobody writes any more keeps its last chunk. So a stack is forgotten when no chunk of any ring covers its
 * clock; and where a ring that is seldom written covers them all, there are never more than what is held can be stacks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stream/live_internal.h"

#define STACK_BYTES	16u	/* of a record that is a stack, at least: its word, and the function that was entered */

void lv_choices_free(struct dec_choice *choice, size_t n)
{
	for (size_t i = 0; i < n; i++)
		lv_view_put(choice[i].view);
	free(choice);
}

static void forget_choices(struct uft_live *l)
{
	uint64_t least = lv_oldest(l);
	size_t gone = 0;

	while (gone + 1 < l->nchoice && l->choice[gone + 1].from <= least)
		lv_view_put(l->choice[gone++].view);
	l->nchoice -= gone;
	if (gone)
		memmove(l->choice, l->choice + gone, l->nchoice * sizeof(*l->choice));
}

static int add_choice(struct uft_live *l, uint32_t hidden, const struct uft_live_view *view)
{
	struct lv_view *made = view ? lv_view_make(view) : NULL;
	struct dec_choice *grown;

	if (view && !made)
		return -ENOMEM;
	forget_choices(l);
	grown = realloc(l->choice, (l->nchoice + 1) * sizeof(*grown));
	if (!grown) {
		lv_view_put(made);
		return -ENOMEM;
	}
	l->choice = grown;
	l->choice[l->nchoice++] = (struct dec_choice){ uft_live_clock(), hidden, made };
	l->version++;
	return 0;
}

/* What was there before anybody chose: all. */
int uft_live_choose(struct uft_live *l, uint32_t hidden, const struct uft_live_view *view)
{
	const struct dec_choice *now;
	int ret = 0;

	pthread_mutex_lock(&l->lock);
	now = l->nchoice ? &l->choice[l->nchoice - 1] : NULL;
	if ((now ? now->flags : 0) != hidden || !lv_view_is(now ? now->view : NULL, view))
		ret = add_choice(l, hidden, view);
	pthread_mutex_unlock(&l->lock);
	return ret;
}

/* Those with a clock from @from to @to are kept. */
static void keep(const struct uft_live *l, uint8_t *is_kept, uint64_t from, uint64_t to)
{
	for (size_t i = dec_stack_from(l->stack_at, l->nstack_at, from); i < l->nstack_at && l->stack_at[i] <= to; i++)
		is_kept[i] = 1;
}

/* What the ring holds, and what of it the consumer has begun with. Returns how many stacks that could be. */
static uint64_t keep_ring(const struct uft_live *l, uint8_t *is_kept, uint32_t index)
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

static void forget_stacks(struct uft_live *l)
{
	uint8_t *is_kept = calloc(l->nstack_at + 1, 1);
	uint64_t most = 0;
	size_t n = 0;

	if (!is_kept)
		return;
	for (uint32_t i = 0; i < l->nring; i++)
		most += keep_ring(l, is_kept, i);
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
	for (size_t i = 0; i < from->nchoice; i++)
		lv_view_get(st->choice_copy[i].view);
	st->nchoice_copy = from->nchoice;
	if (nstacks)
		memcpy(st->stack_copy, from->stack_at, nstacks);
	st->nchoice = from->nchoice;
	st->nstack_at = from->nstack_at;
	st->has_select = 1;
	return 0;
}
