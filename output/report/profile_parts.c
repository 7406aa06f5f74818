/* SPDX-License-Identifier: MIT */
/*
 * profile_parts.c - a profile made by several threads
 *
 * Each thread adds up one part (parts_sum.c). Counts, sums and histograms are added. Two things reach over the border
 * of a part:
 *
 * Totals. Of a recursive function only the outermost call counts, and it may have begun before the part. A part's
 * running totals begin at 0. A call that was open when the part began has FRAME_BEFORE; its end is kept with the
 * running total of that moment (struct prof_ended), which begins at 0 again. Joining makes the steps of profile.c:
 * total += the part's addition, then total = max(total, total at the entry + duration).
 *
 * Calls without an entry (coroutines that were left, tracing_thresh), which profile.c recognises by calls before them.
 * If both sides of a border have such calls, the parts do not fit.
 *
 * So the sums are the same for any number of threads, to the last bit; tests compare them.
 */
#include <errno.h>
#include <stdlib.h>

#include "output/report/parts_sum.h"
#include "output/report/profile.h"
#include "symbol/array.h"

#define COST_READ	172u		/* of an event, as parts.c counts: decoding and adding up */
#define COST_SCAN	22u		/* and of uft_stream_info(), which the first thread calls */

/* Frames for the calls that are open when the part begins. */
static int open_frames(void *sum, const struct uft_part *part)
{
	struct profile *prof = sum;
	const struct uft_task *task;
	size_t ntask = uft_stream_tasks(part->st, &task);

	for (uint32_t i = 0; i < ntask; i++) {
		struct prof_task *t = profile_task(prof, i);
		const struct uft_sym *sym;

		if (!t)
			return -ENOMEM;
		for (; (sym = uft_part_open_call(part, i, t->nbefore)) != NULL; t->nbefore++) {
			if (array_reach(t->frame, t->nframes, t->nbefore))
				return -ENOMEM;
			t->frame[t->nbefore].func = (sym->index + 1) | FRAME_BEFORE;
		}
	}
	return 0;
}

/* ---- Putting parts together -------------------------------------------------------------------------------- */

/* Has @all exactly those calls open with which the part began? If not, ends of some were not shown. */
static int has_same_frames(const struct profile *all, const struct profile *part, const uint32_t *task)
{
	uint32_t *nbefore = calloc(all->ntask + 1, sizeof(*nbefore));
	int is_same = nbefore != NULL;

	for (size_t i = 0; is_same && i < part->ntask; i++)
		if (task[i] < all->ntask)
			nbefore[task[i]] = part->task[i].nbefore;
		else
			is_same = !part->task[i].nbefore;
	for (size_t i = 0; is_same && i < all->ntask; i++) {
		const struct prof_task *t = &all->task[i];

		is_same = t->nframes >= nbefore[i];
		for (size_t d = 0; is_same && d < t->nframes; d++)
			is_same = !t->frame[d].func == (d >= nbefore[i]);
	}
	free(nbefore);
	return is_same;
}

static int has_left(const struct profile *prof)
{
	for (size_t i = 0; i < prof->nfunc; i++)
		if (prof->func[i].nleft)
			return 1;
	return 0;
}

static int add_func(struct profile *all, uint32_t to, const struct profile *part, size_t from)
{
	const struct prof_func *f = &part->func[from];
	struct prof_func *sum = &all->func[to];

	sum->timed += f->timed;
	sum->self += f->self;
	sum->sum += f->sum;
	sum->notmin = sum->notmin > f->notmin ? sum->notmin : f->notmin;
	sum->max = sum->max > f->max ? sum->max : f->max;
	sum->squares += f->squares;
	sum->nleft += f->nleft;
	return hist_merge(&all->pool, &sum->hist, &part->pool, &f->hist);
}

static int add_funcs(struct profile *all, const struct profile *part, const struct uft_sym *const *sym)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < part->nfunc; i++) {
		if (!part->count[i].sym)
			continue;
		if (profile_grow_funcs(all, sym[i]->index) < 0)
			return -ENOMEM;
		all->count[sym[i]->index].sym = sym[i];
		all->count[sym[i]->index].calls += part->count[i].calls;
		ret = add_func(all, sym[i]->index, part, i);
	}
	return ret;
}

/* Makes the kept ends. 0; -EAGAIN: the part did not begin with the calls that were open; -ENOMEM. */
static int end_calls(struct profile *all, const struct profile *part, const struct uft_sym *const *sym,
		     const uint32_t *task)
{
	for (size_t i = 0; i < part->nended; i++) {
		const struct prof_ended *e = &part->ended[i];
		struct prof_task *t = profile_task(all, task[e->task]);
		uint32_t func = sym[e->func]->index;
		struct prof_frame *frame;
		uint64_t *total;

		if (!t)
			return -ENOMEM;
		if (e->depth >= t->nframes || t->frame[e->depth].func != func + 1)
			return -EAGAIN;
		frame = &t->frame[e->depth];
		total = profile_total(t, func);
		if (!total)
			return -ENOMEM;
		*total += e->total;
		*total = *total > frame->total + e->ns ? *total : frame->total + e->ns;
		frame->func = 0;
	}
	return 0;
}

/* Takes over the frames that the part leaves open, and adds its running totals. Returns as end_calls(). */
static int add_task(struct prof_task *to, const struct prof_task *from, const struct uft_sym *const *sym, size_t nfunc)
{
	for (size_t d = 0; d < from->nframes; d++) {
		uint32_t func = from->frame[d].func & ~FRAME_BEFORE;
		uint64_t *total;

		if (array_reach(to->frame, to->nframes, d))
			return -ENOMEM;
		if (from->frame[d].func & FRAME_BEFORE) {
			if (to->frame[d].func != sym[func - 1]->index + 1)
				return -EAGAIN;
			continue;
		}
		to->frame[d].func = func ? sym[func - 1]->index + 1 : 0;
		total = func ? profile_total(to, sym[func - 1]->index) : NULL;
		if (func && !total)
			return -ENOMEM;
		to->frame[d].total = func ? *total + from->frame[d].total : 0;
	}
	for (size_t k = 0; k < from->npages * PAGE_FUNCS && k < nfunc; k++) {
		uint64_t more = from->total[k / PAGE_FUNCS] ? from->total[k / PAGE_FUNCS][k % PAGE_FUNCS] : 0;
		uint64_t *total = more ? profile_total(to, sym[k]->index) : NULL;

		if (more && !total)
			return -ENOMEM;
		if (more)
			*total += more;
	}
	return 0;
}

static int join(void *whole, struct uft_stream *st, const void *sum, const struct uft_part *of)
{
	const struct profile *part = sum;
	struct profile *all = whole;
	const struct uft_sym **sym = NULL;
	uint32_t *task = calloc(part->ntask + 1, sizeof(*task));
	size_t nsym = uft_part_symbols(of, st, &sym);
	int ret = task && sym ? 0 : -ENOMEM, does_fit = 0;

	for (uint32_t i = 0; !ret && i < part->ntask; i++)
		task[i] = uft_part_task(of, i, st);
	if (!ret)
		does_fit = has_same_frames(all, part, task) && !(part->has_alone && (all->has_alone || has_left(all)));
	if (does_fit)
		ret = end_calls(all, part, sym, task);
	for (size_t i = 0; does_fit && !ret && i < part->ntask; i++) {
		int is_used = part->task[i].nframes || part->task[i].npages;
		struct prof_task *to = is_used ? profile_task(all, task[i]) : NULL;

		ret = to ? add_task(to, &part->task[i], sym, nsym) : is_used ? -ENOMEM : 0;
	}
	if (does_fit && !ret)
		ret = add_funcs(all, part, sym);
	all->has_alone |= does_fit && part->has_alone;
	free(sym);
	free(task);
	return ret ? ret : does_fit ? PARTS_JOINED : PARTS_APART;
}

/* ---- The whole ----------------------------------------------------------------------------------------------- */

static void *make(const void *all)
{
	(void)all;
	return calloc(1, sizeof(struct profile));
}

static void release(void *sum)
{
	profile_clear(sum);
	free(sum);
}

static void watch(void *sum, int *stop)
{
	struct profile *prof = sum;

	prof->stop = stop;
}

static int add(void *sum, struct uft_stream *st)
{
	struct profile *prof = sum;

	emit_source_init(&prof->src, st);
	return profile_add_events(prof);
}

static int clear(void *all)
{
	profile_clear(all);
	return 0;
}

int profile_add_stream(struct profile *prof, struct uft_stream *st, unsigned threads)
{
	static const struct parts_ops ops = {
		make, release, watch, open_frames, add, join, clear, { .read = COST_READ, .before = COST_SCAN },
	};
	int ret = parts_sum(&ops, prof, st, threads, 0);

	if (ret < 0 || !uft_stream_info(st))
		return ret < 0 ? ret : -ENOMEM;
	profile_add_totals(prof);
	return 0;
}
