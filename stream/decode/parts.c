/* SPDX-License-Identifier: MIT */
/*
 * parts.c - see parts.h
 *
 * An event depends on all before it: which calls are open, which task a ring is in, what was reported as lost. So a
 * part's own stream passes over everything before the part (st->is_passing): it decodes the same bytes to the same
 * state, but makes no event and looks up no name. Passing takes less than a quarter of the time of reading for a
 * profile. So earlier parts are longer, and two threads read 2 - s times as fast as one, where s is that share.
 *
 * Parts are divided at clocks, not at bytes. A part ends where no ring has another record up to its clock, which is a
 * moment between two events of the merged order. The clocks are those of blocks. A block in which no sub-buffer begins
 * has none, and gets the clock of the block before it in its ring.
 *
 * A stream opened again reads the same file, by its descriptor. If it has another number of blocks, the recording
 * grows, and there are no parts.
 *
 * Open calls and unknown ids are bounded over a whole stream. Each part has the same bounds, so all parts together
 * could keep more than the whole; then uft_part_is_exact() returns 0.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "stream/decode/decode.h"
#include "stream/decode/parts.h"
#include "symbol/sorted.h"

#define PARTS_BYTES	(16ull << 20)	/* of records: a smaller part is not worth opening the recording again */
#define PASS_COST	38u		/* of passing over an event: less than a quarter of reading it for a profile */

static unsigned processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned)CPU_COUNT(&set);
}

struct extent {			/* of a block */
	uint64_t clock;
	uint32_t bytes;
};

/*
 * Computes the shares of @n parts that take the same time t: before + w[0] * read for the first; passing over earlier
 * events and reading for the others; and `after` for the last. So w[k] = (t - pass * (w[0] + ... + w[k - 1])) / read.
 * The sum over all is 1 for one t, which is found by halving. *end: the sums.
 */
static void share(const struct uft_parts_cost *cost, size_t n, double *end)
{
	double read = cost->read, low = 0, high = read + PASS_COST + cost->before + cost->after;

	for (int i = 0; i < 50; i++) {
		double t = (low + high) / 2, sum = 0;

		for (size_t k = 0; k < n; k++) {
			double w =
				(t - (k ? PASS_COST * sum : cost->before) - (k && k + 1 == n ? cost->after : 0)) / read;

			sum += w > 0 ? w : 0;
			end[k] = sum;
		}
		*(sum < 1 ? &low : &high) = t;
	}
}

/* Sets @clock to the clocks at which all parts but the last end. Returns how many parts there are, at most @n. */
static size_t divide(const struct uft_stream *st, const struct uft_parts_cost *cost, size_t n, uint64_t at_least,
		     uint64_t *clock)
{
	const struct rd_file *f = st->file;
	struct extent *block = malloc((f->nblock + 1) * sizeof(*block));
	double end[UFT_PARTS_MAX], sum = 0, all = 0;
	size_t k = 0;

	for (size_t i = 0; block && i < f->nblock; i++) {
		const struct rd_block *b = &f->block[i];
		int is_next = i && b->slice == b[-1].slice && b->ring == b[-1].ring;

		block[i] = (struct extent){ b->clock || !is_next ? b->clock : block[i - 1].clock, b->raw };
		all += b->raw;
	}
	if (block && all >= (double)at_least) {
		SORT_BY(block, f->nblock, clock);
		share(cost, n, end);
		for (size_t i = 0; i < f->nblock && k + 1 < n; i++) {
			if (sum >= end[k] * all && block[i].clock > (k ? clock[k - 1] : block[0].clock))
				clock[k++] = block[i].clock;
			sum += block[i].bytes;
		}
	}
	free(block);
	return k + 1;
}

/* Opens the same recording, as it is now, with the same selection. */
static struct uft_stream *open_again(const struct uft_stream *st)
{
	struct uft_select same = { .ends = st->has_ends, .no_parents = st->no_parents };
	struct uft_stream *again;

	if (uft_stream_open_again(st, &same, &again, NULL))
		return NULL;
	if (again->file->nblock == st->file->nblock && again->nring == st->nring && again->file->end == st->file->end)
		return again;
	uft_stream_close(again);
	return NULL;
}

size_t uft_parts_open(struct uft_stream *st, size_t max, const struct uft_parts_cost *cost, struct uft_part *part)
{
	uint64_t clock[UFT_PARTS_MAX];
	size_t n = max ? max : processors(), opened = 1;

	n = !max && cost->most && n > cost->most ? cost->most : n;
	n = n > UFT_PARTS_MAX ? UFT_PARTS_MAX : n;
	part[0] = (struct uft_part){ .st = st };
	if (n < 2 || st->has_select || st->file->is_live)
		return 1;
	n = divide(st, cost, n, max ? 0 : PARTS_BYTES, clock);
	for (; opened < n; opened++) {
		part[opened] = (struct uft_part){ open_again(st), clock[opened - 1], 0, NULL };
		part[opened - 1].to = clock[opened - 1];
		if (!part[opened].st)
			break;
	}
	if (opened == n)
		return n;
	uft_parts_close(part, opened, 0);
	return 1;
}

/* Sets the names of the calls that are open where passing ended: dec_skip() left them out. */
static void name_open_calls(struct uft_stream *st)
{
	for (uint32_t i = 0; i <= st->ntask; i++) {
		struct dec_task *t = i < st->ntask ? st->task[i] : st->last_task;

		for (uint32_t k = 0; k < t->depth; k++)
			if (!t->stack[k].sym)
				t->stack[k].sym = dec_sym(st, t->image, t->stack[k].id);
	}
}

int uft_part_begin(struct uft_part *part)
{
	struct uft_stream *st = part->st;

	if (part->from) {
		enum { N = 64 };
		struct uft_event *none = malloc(N * sizeof(*none));

		if (!none)
			return -ENOMEM;
		st->limit = part->from;
		st->is_passing = 1;
		while (uft_stream_batch(st, none, N) == N &&
		       !(part->stop && __atomic_load_n(part->stop, __ATOMIC_RELAXED)))
			;
		st->is_passing = 0;
		free(none);
		name_open_calls(st);
	}
	st->limit = part->to;
	return 0;
}

const struct uft_sym *uft_part_open_call(const struct uft_part *part, uint32_t index, uint32_t depth)
{
	const struct dec_task *t = index < part->st->ntask ? part->st->task[index] : NULL;

	return t && depth < t->depth ? t->stack[depth].sym : NULL;
}

uint32_t uft_part_task(const struct uft_part *part, uint32_t index, struct uft_stream *st)
{
	const struct dec_task *t = index < part->st->ntask ? part->st->task[index] : part->st->last_task;
	const struct rd_slice *slice = rd_find_slice(st->file, t->slice);

	if (t == part->st->last_task)
		return st->last_task->pub.index;
	return dec_task_get(st, t->slice, mrg_image(st, slice), slice, t->pub.own_pid, t->pub.own_tid)->pub.index;
}

int uft_part_tell_info(struct uft_part *last, struct uft_stream *st)
{
	const struct uft_info *info = uft_stream_info(last->st);

	for (uint32_t i = 0; i < last->st->ntask; i++)
		if (uft_part_task(last, i, st) != i)
			return 0;
	for (uint32_t i = 0; i < last->st->ntask; i++)
		st->task[i]->has_events |= last->st->task[i]->has_events;
	scan_known(st, info);
	return 1;
}

int uft_part_is_exact(const struct uft_part *part)
{
	const struct uft_stream *st = part->st;

	return !st->has_over && !dec_has_unknown(st) && !st->share;
}

size_t uft_part_symbols(const struct uft_part *part, struct uft_stream *st, const struct uft_sym ***out)
{
	return uft_resolve_others(st->resolver, part->st->resolver, out);
}

void uft_parts_close(struct uft_part *part, size_t n, int is_restart)
{
	struct uft_stream *st = part[0].st;

	for (size_t i = 1; i < n; i++) {
		st->file->is_changed |= part[i].st->file->is_changed;
		st->file->is_partial |= uft_stream_check_file(part[i].st, NULL) == -ENOMEM;
		uft_stream_close(part[i].st);
	}
	st->limit = 0;
	if (is_restart)
		seek_start(st);
}
