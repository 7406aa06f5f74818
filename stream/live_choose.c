/* SPDX-License-Identifier: MIT */
/*
 * live_choose.c - of what kinds a buffer shows events: other than hiding spans of time (live_hide.c) this is about what was asked for
 *
 * What a target records may be more than a buffer is to show: a function's calls are looked at for its command, a stack is recorded
 * that its count does not cover any more. A choice counts from its clock on, and what came before stays as it was. A stack that
 * is shown although stacks are not is named by the clock of its record. Both are forgotten when nothing that old is held.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stream/live_internal.h"

int uft_live_choose(struct uft_live *l, uint32_t hidden)
{
	uint64_t least;
	size_t gone = 0;
	struct dec_choice *grown;

	pthread_mutex_lock(&l->lock);
	least = lv_oldest(l);
	while (gone + 1 < l->nchoice && l->choice[gone + 1].from <= least)
		gone++;
	l->nchoice -= gone;
	if (gone)
		memmove(l->choice, l->choice + gone, l->nchoice * sizeof(*l->choice));
	grown = realloc(l->choice, (l->nchoice + 1) * sizeof(*grown));
	if (grown) {
		l->choice = grown;
		l->choice[l->nchoice++] = (struct dec_choice){ uft_live_clock(), hidden };
		l->version++;
	}
	pthread_mutex_unlock(&l->lock);
	return grown ? 0 : -ENOMEM;
}

/* Half of the room at least is free then. */
static void forget_stacks(struct uft_live *l)
{
	uint64_t least = lv_oldest(l), *grown;
	size_t gone = 0;

	while (gone < l->nstack_at && l->stack_at[gone] < least)
		gone++;
	l->nstack_at -= gone;
	if (gone)
		memmove(l->stack_at, l->stack_at + gone, l->nstack_at * sizeof(*l->stack_at));
	if (2 * l->nstack_at < l->cap_stack_at)
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
		forget_stacks(l);
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
	if (nstacks)
		memcpy(st->stack_copy, from->stack_at, nstacks);
	st->nchoice = from->nchoice;
	st->nstack_at = from->nstack_at;
	st->has_select = 1;
	return 0;
}
