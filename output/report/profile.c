/* SPDX-License-Identifier: MIT */
/*
 * profile.c - calls added up by function
 *
 * Totals: each task has a running total per function. The entry of a call saves it; the exit sets it to the saved value
 * plus the call's duration. So the duration replaces the additions of inner calls of the same function. No count of
 * open calls is needed, and a lost exit does no harm to later calls.
 *
 * Objects, all by uft_sym.index: struct prof_count and struct prof_func; by uft_task.index: struct prof_task, frames of
 * the open calls and the running totals in pages of the function index. One thread, one pass; memory grows with
 * functions, depth, and (task, function page) pairs in use. Speed: two loops over each batch of events. The first pairs
 * entries with exits; entries and exits take the same path without a branch, because a branch on the kind of an event
 * would be mispredicted. It makes one sample per timed call. The second adds the samples up, also without branches on
 * data, so that the cache misses of many functions overlap (one after the other they cost 20 ns a call). Invariants:
 * the counts of tests/golden/profile, recursion included.
 */
#include <stdlib.h>

#include "output/report/profile.h"
#include "symbol/array.h"

/* ---- Tables ---- */

int profile_grow_funcs(struct profile *prof, uint32_t index)
{
	size_t had = prof->nfunc, n = had;

	if (array_reach(prof->func, n, index) || array_resize(prof->count, n))
		return -ENOMEM;
	memset(prof->count + had, 0, (n - had) * sizeof(*prof->count));
	prof->nfunc = n;
	return 0;
}

/* Counts @calls of @sym and makes sure that it has its places. */
static inline int count_calls(struct profile *prof, const struct uft_sym *sym, uint64_t calls)
{
	if (__builtin_expect(sym->index >= prof->nfunc, 0) && profile_grow_funcs(prof, sym->index) < 0)
		return -ENOMEM;
	prof->count[sym->index].sym = sym;
	prof->count[sym->index].calls += calls;
	return 0;
}

struct prof_task *profile_task(struct profile *prof, uint32_t index)
{
	return array_reach(prof->task, prof->ntask, index) ? NULL : &prof->task[index];
}

static uint64_t *add_total_page(struct prof_task *t, uint32_t func)
{
	size_t page = func / PAGE_FUNCS;

	if (array_reach(t->total, t->npages, page))
		return NULL;
	t->total[page] = calloc(PAGE_FUNCS, sizeof(**t->total));
	return t->total[page] ? &t->total[page][func % PAGE_FUNCS] : NULL;
}

uint64_t *profile_total(struct prof_task *t, uint32_t func)
{
	size_t page = func / PAGE_FUNCS;

	if (page < t->npages && t->total[page])
		return &t->total[page][func % PAGE_FUNCS];
	return add_total_page(t, func);
}

/* ---- Calls ---- */

static void keep_sample(struct profile *prof, const struct uft_event *ev)
{
	prof->sample[prof->nsamples++] = (struct prof_sample){ .ns = ev->duration_ns, .self_ns = ev->self_ns,
							       .func = ev->sym->index };
}

/*
 * Counts a call whose entry was not shown: a CALL record, or a call that began before the selection. Calls of the same
 * function within it have been counted: their part of the total lies within this call's duration, so it is subtracted.
 */
static int call(struct profile *prof, const struct uft_event *ev)
{
	struct prof_task *t = profile_task(prof, ev->task->index);
	uint64_t start = ev->ts_ns - ev->duration_ns, inner = 0;
	uint64_t *total = t ? profile_total(t, ev->sym->index) : NULL;

	if (!total || count_calls(prof, ev->sym, 1) < 0)
		return -ENOMEM;
	if (!t->recent)
		t->recent = calloc(RECENT, sizeof(*t->recent));
	if (!t->recent)
		return -ENOMEM;
	for (unsigned i = 0; i < RECENT; i++) {
		struct prof_interval *r = &t->recent[i];

		if (r->counted && r->func == ev->sym->index && r->start >= start) {
			inner += r->counted;
			r->counted = 0;
		}
	}
	t->recent[t->next++ % RECENT] = (struct prof_interval){ ev->sym->index, start, ev->duration_ns };
	*total += ev->duration_ns - (inner < ev->duration_ns ? inner : ev->duration_ns);
	keep_sample(prof, ev);
	return 0;
}

/* Counts an exit that finds no entry in its frame. */
static int exit_alone(struct profile *prof, const struct uft_event *ev)
{
	struct prof_func *f = &prof->func[ev->sym->index];

	if (!f->nleft) {
		prof->has_alone = 1;
		return call(prof, ev);
	}
	f->nleft--;		/* counted when it was left */
	return 0;
}

/*
 * Pairs an ENTRY, EXIT or LEFT whose places all exist. 1: done; 0: an exit without its entry. The running total never
 * shrinks, because the frame may be an old one whose exit was lost.
 */
static inline int pair_call(struct prof_frame *frame, uint64_t *total, uint32_t func, uint64_t ns, int is_exit)
{
	uint64_t mask = -(uint64_t)is_exit, now = *total, with_call = frame->total + ns;

	if (__builtin_expect((frame->func ^ (func + 1)) & (uint32_t)mask, 0))
		return 0;
	with_call = with_call > now ? with_call : now;
	frame->total = now;
	frame->func = (func + 1) & ~(uint32_t)mask;
	*total = now + ((with_call - now) & mask);	/* masks, not `?:`: that became branches */
	return 1;
}

/* Keeps the exit of a call that began before the part: profile_parts.c finds its addition to the total. */
static int end_before(struct profile *prof, const struct uft_event *ev, struct prof_frame *frame, uint64_t *total)
{
	size_t i = prof->nended;

	if (array_reach(prof->ended, prof->cap_ended, i))
		return -ENOMEM;
	prof->ended[i] = (struct prof_ended){ .task = ev->task->index, .func = ev->sym->index, .depth = ev->depth,
					      .ns = ev->duration_ns, .total = *total };
	prof->nended++;
	*total = 0;
	frame->func = 0;
	keep_sample(prof, ev);
	return 0;
}

/* The same, and makes room: the slow path when something is new. */
static int add_call(struct profile *prof, const struct uft_event *ev, int is_exit)
{
	struct prof_task *t = profile_task(prof, ev->task->index);
	uint64_t *total;

	if (count_calls(prof, ev->sym, (uint64_t)!is_exit) < 0 || !t ||
	    array_reach(t->frame, t->nframes, ev->depth))
		return -ENOMEM;
	total = profile_total(t, ev->sym->index);
	if (!total)
		return -ENOMEM;
	if (!pair_call(&t->frame[ev->depth], total, ev->sym->index, ev->duration_ns, is_exit))
		return t->frame[ev->depth].func == ((ev->sym->index + 1) | FRAME_BEFORE) ?
		       end_before(prof, ev, &t->frame[ev->depth], total) : exit_alone(prof, ev);
	if (is_exit)
		keep_sample(prof, ev);
	return 0;
}

static int left(struct profile *prof, const struct uft_event *ev)
{
	int ret = add_call(prof, ev, 1);

	if (!ret && !(ev->flags & UFT_EVF_OPEN))
		prof->func[ev->sym->index].nleft++;
	return ret;
}

static int add_event(struct profile *prof, const struct uft_event *ev)
{
	switch (ev->kind) {
	case UFT_EV_FUNC:
		return count_calls(prof, ev->sym, 1);
	case UFT_EV_ENTRY:
		return add_call(prof, ev, 0);
	case UFT_EV_EXIT:
		if (ev->flags & UFT_EVF_CALL) {
			if (prof->stop)		/* recognising nested calls needs the calls before the part */
				__atomic_store_n(prof->stop, 1, __ATOMIC_RELAXED);
			return call(prof, ev);
		}
		return ev->flags & UFT_EVF_ORPHAN ? count_calls(prof, ev->sym, 1) : add_call(prof, ev, 1);
	case UFT_EV_LEFT:
		return left(prof, ev);
	default:
		return 0;
	}
}

/* Adds an ENTRY or EXIT whose places exist. 1: done; 0: not such an event, nothing changed. */
static inline int add_known(struct profile *prof, const struct uft_event *ev, struct prof_sample **next)
{
	int is_exit = ev->kind == UFT_EV_EXIT;
	uint32_t func, task;
	struct prof_task *t;
	uint64_t *page;

	if ((!is_exit & (ev->kind != UFT_EV_ENTRY)) | ev->flags)
		return 0;
	func = ev->sym->index;
	task = ev->task->index;
	if (func >= prof->nfunc || task >= prof->ntask)
		return 0;
	t = &prof->task[task];
	if (ev->depth >= t->nframes || func / PAGE_FUNCS >= t->npages || !(page = t->total[func / PAGE_FUNCS]))
		return 0;
	if (!pair_call(&t->frame[ev->depth], &page[func % PAGE_FUNCS], func, ev->duration_ns, is_exit))
		return 0;
	prof->count[func].sym = ev->sym;
	prof->count[func].calls += (uint64_t)!is_exit;
	(*next)->ns = ev->duration_ns;		/* the next one overwrites it if this is no exit */
	(*next)->self_ns = ev->self_ns;
	(*next)->func = func;
	*next += is_exit;
	return 1;
}

/* ---- Samples ---- */

#define AHEAD	12

static inline int add_sample(struct profile *prof, const struct prof_sample *s)
{
	struct prof_func *f = &prof->func[s->func];

	f->timed++;
	f->self += s->self_ns;
	f->sum += s->ns;
	f->notmin = f->notmin > ~s->ns ? f->notmin : ~s->ns;
	f->max = f->max > s->ns ? f->max : s->ns;
	f->squares += (unsigned __int128)s->ns * s->ns;
	if (__builtin_expect(s->place == HIST_NOWHERE, 0))
		return hist_add(&prof->pool, &f->hist, s->ns);
	hist_count(&prof->pool, s->place);
	return 0;
}

/* Three steps, some samples apart, so that each finds the memory that the step before prefetched in the cache. */
static int add_samples(struct profile *prof)
{
	struct prof_sample *s = prof->sample;
	size_t n = prof->nsamples;
	int ret = 0;

	prof->nsamples = 0;
	for (size_t i = 0; i < n + 2 * AHEAD && !ret; i++) {
		if (i < n) {
			struct prof_func *f = &prof->func[s[i].func];

			__builtin_prefetch(f, 1);
			__builtin_prefetch(&f->hist.octave[hist_octave(s[i].ns)]);
		}
		if (i >= AHEAD && i < n + AHEAD) {
			struct prof_sample *mid = &s[i - AHEAD];

			mid->place = hist_place(&prof->func[mid->func].hist, mid->ns);
			if (mid->place != HIST_NOWHERE)
				__builtin_prefetch(&prof->pool.block[0][0] + mid->place, 1);
		}
		if (i >= 2 * AHEAD)
			ret = add_sample(prof, &s[i - 2 * AHEAD]);
	}
	return ret;
}

/* The running totals of all tasks, added up. */
void profile_add_totals(struct profile *prof)
{
	for (size_t i = 0; i < prof->ntask; i++) {
		const struct prof_task *t = &prof->task[i];

		for (size_t k = 0; k < t->npages * PAGE_FUNCS && k < prof->nfunc; k++)
			if (t->total[k / PAGE_FUNCS])
				prof->func[k].total += t->total[k / PAGE_FUNCS][k % PAGE_FUNCS];
	}
}

static int is_stopped(const struct profile *prof)
{
	return prof->stop && __atomic_load_n(prof->stop, __ATOMIC_RELAXED);
}

int profile_add_events(struct profile *prof)
{
	const struct uft_event *ev = prof->src.ev;
	int ret = 0;

	while (!ret && !is_stopped(prof) && emit_source_next(&prof->src)) {
		size_t n = prof->src.n;
		struct prof_sample *next = prof->sample;

		for (size_t i = 0; i < n && !ret; i++) {
			if (__builtin_expect(add_known(prof, &ev[i], &next), 1))
				continue;
			prof->nsamples = (size_t)(next - prof->sample);
			ret = add_event(prof, &ev[i]);
			next = &prof->sample[prof->nsamples];
		}
		prof->nsamples = (size_t)(next - prof->sample);
		prof->src.next = n;
		if (!ret)
			ret = add_samples(prof);
	}
	return ret;
}

void profile_clear(struct profile *prof)
{
	for (size_t i = 0; i < prof->ntask; i++) {
		struct prof_task *t = &prof->task[i];

		for (size_t p = 0; p < t->npages; p++)
			free(t->total[p]);
		free(t->total);
		free(t->frame);
		free(t->recent);
	}
	free(prof->task);
	free(prof->func);
	free(prof->count);
	free(prof->pool.block);
	free(prof->ended);
	memset(prof, 0, sizeof(*prof));
}
