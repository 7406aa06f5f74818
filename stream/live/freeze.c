/* SPDX-License-Identifier: MIT */
/*
 * freeze.c - move the present content of a buffer to a buffer of its own
 *
 * A frozen buffer has no slices and gets no records. Otherwise it is like any buffer: it gives snapshots, is cleared
 * CPU by CPU, and is destroyed. Its chunks are copies, because chunks of the original are still filled, consumed and
 * chained.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stream/live/live_internal.h"
#include "symbol/array.h"

static int copy_chunks(struct lv_ring *to, const struct lv_ring *from)
{
	struct lv_chunk **last = &to->first;

	for (const struct lv_chunk *c = from->first; c; c = c->next) {
		struct lv_chunk *copy = malloc(sizeof(*copy) + c->cap);

		if (!copy)
			return -ENOMEM;
		memcpy(copy, c, sizeof(*copy) + c->len);
		copy->refs = 1;
		copy->block = NULL;
		copy->next = NULL;
		*last = to->last = copy;
		last = &copy->next;
	}
	return 0;
}

static int copy_rings(struct uft_live *to, const struct uft_live *from)
{
	int ret = 0;

	to->ring = calloc(from->nring + 1, sizeof(*to->ring));
	if (!to->ring)
		return -ENOMEM;
	for (; to->nring < from->nring && !ret; to->nring++) {
		struct lv_ring *r = &to->ring[to->nring];

		*r = from->ring[to->nring];
		r->first = r->last = r->aside = NULL;
		ret = copy_chunks(r, &from->ring[to->nring]);
	}
	return ret;
}

/* Call with @from locked. */
int lv_copy_live(struct uft_live *to, struct uft_live *from)
{
	lv_know_clock(from);
	to->opts = from->opts;
	to->ncpus = from->ncpus;
	to->clock_name = from->clock_name;
	to->clock_id = from->clock_id;
	to->shift_ns = from->shift_ns;
	to->since_ns = from->since_ns;
	to->stamp = from->stamp;
	to->watermark = UINT64_MAX;
	to->geo = calloc(1, sizeof(*to->geo));
	to->cpu = calloc(from->ncpus, sizeof(*to->cpu));
	if (!to->geo || !to->cpu || uft_clock_line_copy(&to->line, &from->line))
		return -ENOMEM;
	to->geo->head = from->geo->head;
	memcpy(to->cpu, from->cpu, from->ncpus * sizeof(*to->cpu));
	for (uint32_t cpu = 0; cpu < to->ncpus; cpu++)
		to->cpu[cpu].block = NULL;
	to->told = from->told;
	to->base = lv_copy_base(from);
	if (!to->base)
		return -ENOMEM;
	to->span = to->base->sel.hidden_copy;	/* base hides the buffer's spans */
	to->nspan = to->cap_span = to->base->sel.nhidden;
	to->base->sel.hidden_copy = NULL;
	to->choice = to->base->sel.choice_copy;
	to->nchoice = to->cap_choice = to->base->sel.nchoice;
	to->base->sel.choice_copy = NULL;
	to->base->sel.nchoice_copy = 0;
	to->single_at = to->base->sel.single_copy;
	to->nsingle_at = to->cap_single_at = to->base->sel.nsingle_at;
	to->base->sel.single_copy = NULL;
	lv_stream_release(to->base);
	return copy_rings(to, from);
}

/* Hides all events younger than @until, in place of earlier spans there. */
static int hide_behind(struct uft_live *to, uint64_t until)
{
	while (to->nspan && to->span[to->nspan - 1].from >= until)
		to->nspan--;
	if (to->nspan && to->span[to->nspan - 1].to >= until) {
		to->span[to->nspan - 1].to = UINT64_MAX;
		return 0;
	}
	if (array_resize(to->span, to->nspan + 1))
		return -ENOMEM;
	to->span[to->nspan++] = (struct sel_span){ until, UINT64_MAX };
	to->cap_span = to->nspan;
	return 0;
}

int uft_live_take(struct uft_live *l, uint32_t cpu, uint64_t until, struct uft_live **out)
{
	struct uft_live *to = calloc(1, sizeof(*to));
	int ret;

	*out = NULL;
	if (!to)
		return -ENOMEM;
	pthread_mutex_init(&to->lock, NULL);
	lv_lock_all(l);
	lv_pull_slices(l);
	ret = lv_copy_live(to, l);
	if (!ret && until != UFT_LIVE_NOW)
		ret = hide_behind(to, until);
	if (!ret && until)
		lv_clear(l, cpu, until);
	lv_unlock_all(l);
	if (ret)
		uft_live_destroy(to);
	else
		*out = to;
	return ret;
}

uint64_t uft_live_bytes(struct uft_live *l, uint32_t cpu)
{
	uint64_t n;

	pthread_mutex_lock(&l->lock);
	n = cpu < l->ncpus ? l->cpu[cpu].bytes : 0;
	pthread_mutex_unlock(&l->lock);
	return n;
}
