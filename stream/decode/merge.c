/* SPDX-License-Identifier: MIT */
/*
 * merge.c - many rings, one order of time
 *
 * Every ring is in order by itself. The ring with the earliest next record runs until it passes the next record of the
 * runner-up, so that the cost of choosing is paid per run, not per event. At equal clocks the lower ring comes first,
 * within a slice the lower CPU, as the kernel prints. A ring that was not read yet stands in the heap with the clock of
 * its first sub-buffer header, which the head of its block has. So opening a file with many processes reads no ring
 * data.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stream/decode/decode.h"

static int mrg_before(const struct uft_stream *st, uint32_t a, uint32_t b)
{
	uint64_t x = st->ring[a].key, y = st->ring[b].key;

	return x < y || (x == y && a < b);
}

static void mrg_down(struct uft_stream *st, uint32_t i)
{
	uint32_t *h = st->heap, moved = h[i];

	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= st->nheap)
			break;
		if (child + 1 < st->nheap && mrg_before(st, h[child + 1], h[child]))
			child++;
		if (!mrg_before(st, h[child], moved))
			break;
		h[i] = h[child];
		i = child;
	}
	h[i] = moved;
}

/* Returns the last clock at which the first ring is still before all others. */
static uint64_t mrg_limit(const struct uft_stream *st)
{
	uint32_t next;

	if (st->nheap < 2)
		return UINT64_MAX;
	next = st->heap[1];
	if (st->nheap > 2 && mrg_before(st, st->heap[2], next))
		next = st->heap[2];
	return st->ring[next].key - (st->heap[0] > next && st->ring[next].key);
}

/* Swaps *a and *b unless the next record of *a is due. */
static inline void mrg_order_two(struct dec_ring **a, struct dec_ring **b)
{
	struct dec_ring *was = *a;

	if ((*a)->key < (*b)->key || ((*a)->key == (*b)->key && *a < *b))
		return;
	*a = *b;
	*b = was;
}

/* Merges the last two rings: two busy CPUs, whose records alternate. Two pointers take the place of the heap. */
static size_t mrg_two(struct uft_stream *st, struct uft_event *ev, size_t max)
{
	struct dec_ring *a = &st->ring[st->heap[0]], *b = &st->ring[st->heap[1]];
	size_t n = 0;

	while (n < max && !st->sel.is_past && (!st->limit || a->key <= st->limit)) {
		uint64_t limit = b->key - (a > b && b->key);

		n += dec_run(st, a, st->limit && st->limit < limit ? st->limit : limit, ev + n, max - n);
		if (mrg_ended(a)) {
			st->heap[0] = b->index;
			st->nheap = 1;
			return n;
		}
		if (n < max) {
			mrg_order_two(&a, &b);
			n += dec_two(st, a, b, ev + n, max - n);
		}
		mrg_order_two(&a, &b);
	}
	st->heap[0] = a->index;
	st->heap[1] = b->index;
	return n;
}

static size_t mrg_batch(struct uft_stream *st, struct uft_event *ev, size_t max)
{
	size_t n = 0;

	while (n < max && st->nheap && !st->sel.is_past) {
		struct dec_ring *r = &st->ring[st->heap[0]];
		uint64_t limit;

		if (st->limit && r->key > st->limit)
			break;
		if (st->nheap == 2 && !(st->limit && st->file->is_live)) {
			n += mrg_two(st, ev + n, max - n);
			continue;
		}
		limit = mrg_limit(st);
		n += dec_run(st, r, st->limit && st->limit < limit ? st->limit : limit, ev + n, max - n);
		if (mrg_ended(r)) {
			st->heap[0] = st->heap[--st->nheap];
			if (!st->nheap)
				break;
		}
		mrg_down(st, 0);
	}
	return n;
}

uint64_t mrg_stamp(enum uft_stamp stamp, uint64_t ns, uint64_t clock)
{
	if (stamp == UFT_STAMP_TICKS || stamp == UFT_STAMP_COUNT)
		return clock;
	return stamp == UFT_STAMP_UPTIME ? ns / 10000000 : ns;
}

size_t uft_stream_batch(struct uft_stream *st, struct uft_event *ev, size_t max)
{
	size_t n;

	dec_payloads_next_batch(st);
	n = st->stop && __atomic_load_n(st->stop, __ATOMIC_RELAXED) ? 0 : mrg_batch(st, ev, max);
	for (size_t i = 0; st->stamp != UFT_STAMP_NS && i < n; i++)
		ev[i].ts_ns = mrg_stamp(st->stamp, ev[i].ts_ns, ev[i].clock);
	return n;
}

void uft_stream_end_when(struct uft_stream *st, const int *stop)
{
	st->stop = stop;
}

enum uft_stamp uft_stream_stamp(const struct uft_stream *st)
{
	return st->stamp;
}

const char *uft_stream_clock_name(const struct uft_stream *st)
{
	return st->clock_name ? st->clock_name : "mono";
}

struct dec_image *mrg_image(struct uft_stream *st, const struct rd_slice *slice)
{
	for (size_t k = 0; slice && k < st->nimage; k++)
		if (st->image[k].img == slice->image)
			return &st->image[k];
	return &st->image[st->nimage - 1];
}

/* Makes rings of the sorted blocks. */
static void mrg_cut(struct uft_stream *st)
{
	struct rd_file *f = st->file;

	st->nring = 0;
	for (size_t i = 0; i < f->nblock; i++) {
		struct rd_block *b = &f->block[i];
		struct dec_ring *r;

		if (!i || b->slice != b[-1].slice || b->ring != b[-1].ring) {
			r = &st->ring[st->nring];
			memset(r, 0, sizeof(*r));
			r->index = st->nring++;
			r->slice_number = b->slice;
			r->slice = rd_find_slice(f, b->slice);
			r->ring = r->cpu = b->ring;
			r->key = b->clock;
			r->final_lost = rd_find_lost(f, b->slice, b->ring);
			r->image = mrg_image(st, r->slice);
			r->cur.block = b;
			r->cur.pool = &st->pool;
			st->cursors[r->index] = &r->cur;
			st->first_block[r->index] = b;
		}
		st->ring[st->nring - 1].cur.block_end = b + 1;
	}
}

void mrg_heapify(struct uft_stream *st)
{
	for (uint32_t i = st->nheap / 2; i-- > 0;)
		mrg_down(st, i);
}

int mrg_init(struct uft_stream *st)
{
	size_t n = 1;

	for (size_t i = 1; i < st->file->nblock; i++)
		n += st->file->block[i].slice != st->file->block[i - 1].slice ||
		     st->file->block[i].ring != st->file->block[i - 1].ring;
	if (n > UINT32_MAX / 2)
		return -EBADMSG;
	st->ring = calloc(n, sizeof(*st->ring));
	st->heap = calloc(n, sizeof(*st->heap));
	st->cursors = calloc(n, sizeof(*st->cursors));
	st->first_block = calloc(n, sizeof(*st->first_block));
	if (!st->ring || !st->heap || !st->cursors || !st->first_block)
		return -ENOMEM;
	st->pool.file = st->file;
	st->pool.cursor = st->cursors;
	mrg_cut(st);
	end_init(st);
	st->pool.ncursor = st->nring;
	st->nheap = st->nring;
	for (uint32_t i = 0; i < st->nheap; i++)
		st->heap[i] = i;
	mrg_heapify(st);
	return 0;
}

void mrg_free(struct uft_stream *st)
{
	for (uint32_t i = 0; i < st->nring && st->ring; i++)
		cur_release(&st->ring[i].cur);
	free(st->ring);
	free(st->heap);
	free(st->cursors);
	free(st->first_block);
}
