/* SPDX-License-Identifier: MIT */
/*
 * ended.c - calls that are open when their process ends, or becomes another program
 *
 * The file says of which slices the process ended before the recording did. When the last ring of such a slice is at
 * its end, the open calls of its tasks become LEFT events with UFT_EVF_OPEN, at the time of the slice's last record,
 * because no closer time is known. They stand in the stream where that record does, so a stream stays in the order of
 * time, and the next program of the same task comes behind them. Only readers that ask for them get them
 * (uft_select.ends).
 */
#include "stream/decode/decode.h"
#include "symbol/sorted.h"

/* Returns the first ring of the slice; NULL: it has none. Rings are in the order of slices. */
static struct dec_ring *first_ring(const struct uft_stream *st, uint32_t slice)
{
	uint32_t lo = SORTED_FIRST(i, st->nring, st->ring[i].slice_number >= slice);

	return lo < st->nring && st->ring[lo].slice_number == slice ? &st->ring[lo] : NULL;
}

void end_init(struct uft_stream *st)
{
	struct dec_ring *first = NULL;

	for (uint32_t i = 0; i < st->nring; i++) {
		struct dec_ring *r = &st->ring[i];

		if (!first || first->slice_number != r->slice_number) {
			first = r;
			first->running = 0;
		}
		first->running += !r->is_done;
		r->ending = NULL;
		r->is_ending = 0;
	}
}

void end_add_task(struct uft_stream *st, struct dec_task *t)
{
	struct dec_ring *first = t == st->last_task ? NULL : first_ring(st, t->slice);

	if (first) {
		t->next = first->tasks;
		first->tasks = t;
	}
}

void end_ring(struct uft_stream *st, struct dec_ring *r)
{
	struct dec_ring *first = first_ring(st, r->slice_number);

	if (first->running && !--first->running && r->slice && r->slice->clock_end)
		r->ending = first->tasks;
}

void end_next_task(struct uft_stream *st, struct dec_ring *r)
{
	r->task = r->ending;
	r->ending = r->ending->next;
	r->left = r->task->depth;
	r->left_ns = uft_clock_ns(&st->clock, r->key);
	r->left_aside = 0;
	r->task->over = 0;
}

int uft_stream_has_ended(struct uft_stream *st, uint32_t pid, uint64_t ns)
{
	for (size_t i = 0; i < st->file->nslice; i++) {
		const struct rd_slice *slice = &st->file->slice[i];

		if (slice->clock_end && rd_find_outer(st->file, slice->number, slice->pid) == pid &&
		    uft_clock_ns(&st->clock, slice->clock_end) >= ns)
			return 1;
	}
	return 0;
}
