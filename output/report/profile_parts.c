/* SPDX-License-Identifier: MIT */
/*
 * profile_parts.c - a profile made by several threads
 *
 * Each thread adds up one part of the recording (stream/decode/parts.h) as if it were all, and the parts are put
 * together in their order. Counts, sums and histograms are just added. Two things reach over the border of a part:
 *
 * Totals. Of a recursive function only the outermost call counts, and the outermost may have begun before the part. A
 * part's running totals begin at 0; a call that was open when the part began has FRAME_BEFORE, and its end is written
 * down with the running total of that moment (struct prof_ended), which begins at 0 again. The steps of profile.c are
 * then made at last: total += what the part had added, then total = max(total, total at the entry + duration).
 *
 * Calls without an entry (coroutines that were left, tracing_thresh), which profile.c recognises by calls before them.
 * If both sides of a border have such calls, the parts are of no use: all is added up again, by one thread.
 *
 * So the sums are the same for any number of threads, to the last bit; tests compare them.
 */
#include <pthread.h>
#include <stdlib.h>

#include "output/report/profile.h"
#include "stream/decode/parts.h"
#include "symbol/thread.h"

#define COST_READ	172u		/* of an event, as parts.c counts: decoding and adding up */
#define COST_SCAN	22u		/* and of uft_stream_info(), which the first thread calls */

struct run {
	struct profile *prof;
	struct uft_part *part;
	pthread_t thread;
	int ret;
};

/* Frames for the calls that are open when the part begins. */
static int open_frames(struct profile *prof, const struct uft_part *part)
{
	const struct uft_task *task;
	size_t ntask = uft_stream_tasks(part->st, &task);

	for (uint32_t i = 0; i < ntask; i++) {
		struct prof_task *t = profile_task(prof, i);
		const struct uft_sym *sym;

		if (!t)
			return -ENOMEM;
		for (; (sym = uft_part_open_call(part, i, t->nbefore)) != NULL; t->nbefore++) {
			if (profile_grow(&t->frame, &t->nframes, t->nbefore, sizeof(*t->frame)) < 0)
				return -ENOMEM;
			t->frame[t->nbefore].func = (sym->index + 1) | FRAME_BEFORE;
		}
	}
	return 0;
}

static void *add_part(void *arg)
{
	struct run *r = arg;

	r->ret = uft_part_begin(r->part);
	if (!r->ret && r->part->from)
		r->ret = open_frames(r->prof, r->part);
	emit_source_init(&r->prof->src, r->part->st);
	if (!r->ret)
		r->ret = profile_add_events(r->prof);
	return NULL;
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

/* 1: done; 0: the part did not begin with the calls that were open; -ENOMEM. */
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
			return 0;
		frame = &t->frame[e->depth];
		total = profile_total(t, func);
		if (!total)
			return -ENOMEM;
		*total += e->total;
		*total = *total > frame->total + e->ns ? *total : frame->total + e->ns;
		frame->func = 0;
	}
	return 1;
}

/* The frames that the part leaves, and its running totals. As above. */
static int add_task(struct prof_task *to, const struct prof_task *from, const struct uft_sym *const *sym, size_t nfunc)
{
	for (size_t d = 0; d < from->nframes; d++) {
		uint32_t func = from->frame[d].func & ~FRAME_BEFORE;
		uint64_t *total;

		if (profile_grow(&to->frame, &to->nframes, d, sizeof(*to->frame)) < 0)
			return -ENOMEM;
		if (from->frame[d].func & FRAME_BEFORE) {
			if (to->frame[d].func != sym[func - 1]->index + 1)
				return 0;
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
	return 1;
}

/* 1: done; 0: they cannot be put together; -ENOMEM. */
static int add_profile(struct profile *all, struct uft_stream *st, const struct profile *part,
		       const struct uft_part *of)
{
	const struct uft_sym **sym = NULL;
	uint32_t *task = calloc(part->ntask + 1, sizeof(*task));
	size_t nsym = uft_part_symbols(of, st, &sym);
	int ret = task && sym ? 1 : -ENOMEM;

	for (uint32_t i = 0; ret > 0 && i < part->ntask; i++)
		task[i] = uft_part_task(of, i, st);
	if (ret > 0)
		ret = has_same_frames(all, part, task) && !(part->has_alone && (all->has_alone || has_left(all)));
	if (ret > 0)
		ret = end_calls(all, part, sym, task);
	for (size_t i = 0; ret > 0 && i < part->ntask; i++) {
		struct prof_task *to =
			part->task[i].nframes || part->task[i].npages ? profile_task(all, task[i]) : NULL;

		if (to)
			ret = add_task(to, &part->task[i], sym, nsym);
		else if (part->task[i].nframes || part->task[i].npages)
			ret = -ENOMEM;
	}
	if (ret > 0)
		ret = add_funcs(all, part, sym) ? -ENOMEM : 1;
	all->has_alone |= part->has_alone;
	free(sym);
	free(task);
	return ret;
}

/* ---- Threads ------------------------------------------------------------------------------------------------- */

/* 1: done; 0: as if nothing had been done; -ENOMEM. */
static int add_parts(struct profile *prof, struct uft_stream *st, struct uft_part *part, size_t n)
{
	struct run run[UFT_PARTS_MAX] = { { .prof = prof, .part = &part[0] } };
	size_t started = 1;
	int stop = 0, ret = 1;

	for (; started < n; started++) {
		struct run *r = &run[started];

		part[started].stop = &stop;
		*r = (struct run){ .prof = calloc(1, sizeof(*r->prof)), .part = &part[started] };
		if (r->prof)
			r->prof->stop = &stop;
		if (!r->prof || thread_start(&r->thread, add_part, r)) {
			free(r->prof);
			break;
		}
	}
	prof->stop = &stop;
	if (started < n)
		__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	if (started == n && !uft_stream_info(st))
		run[0].ret = -ENOMEM;
	else
		add_part(&run[0]);
	for (size_t i = 0; i < started; i++) {
		if (i)
			pthread_join(run[i].thread, NULL);
		ret = ret < 0 || !run[i].ret ? ret : run[i].ret;
	}
	for (size_t i = 0; ret > 0 && i < started; i++)
		ret = !stop && uft_part_is_exact(&part[i]);
	for (size_t i = 1; i < started; i++) {
		if (ret > 0)
			ret = add_profile(prof, st, run[i].prof, &part[i]);
		profile_clear(run[i].prof);
		free(run[i].prof);
	}
	prof->stop = NULL;
	if (!ret)
		profile_clear(prof);
	uft_parts_close(part, n, !ret);
	return ret;
}

int profile_add_stream(struct profile *prof, struct uft_stream *st, unsigned threads)
{
	static const struct uft_parts_cost cost = { .read = COST_READ, .before = COST_SCAN };
	struct uft_part part[UFT_PARTS_MAX];
	size_t n = uft_parts_open(st, threads, &cost, part);
	int ret = n > 1 ? add_parts(prof, st, part, n) : 0;

	if (!ret) {
		emit_source_init(&prof->src, st);
		ret = uft_stream_info(st) ? profile_add_events(prof) : -ENOMEM;
	}
	if (ret < 0)
		return ret;
	profile_add_totals(prof);
	return 0;
}
