/* SPDX-License-Identifier: MIT */
/*
 * flat.c - the profile, one row per function: how often, how long, how it varies
 *
 * Sources: a graph stream is added up call by call; a function stream gives hits only; a recording of the
 * profile tracer brings finished sums (uft_stream_profile()).
 *
 * What the columns mean
 *   calls	calls that began, and calls without a recorded entry (orphans, tracing_thresh)
 *   total	time between entry and return, callees included. Of a recursive function only the outermost
 *		call of a task counts, so that no moment is counted twice and total never exceeds the run
 *   self	the same without traced callees, all calls
 *   self%	of the self time of all functions: of the time that was traced
 *   avg	mean over all timed calls, nested ones too: not total / calls for a recursive function
 *   min, max	exact
 *   p50, p99	from a histogram, off by at most 1.6 % (histogram.h), all timed calls
 *   variance_ns2	as the kernel's s^2 column: (n sum(x^2) - sum(x)^2) / (n (n - 1)); min and variance are
 *			not in the text
 * An unknown value is `-`. A call left without return counts with the time it had run; should it return
 * after all (coroutine), that is not counted again. With tracing_thresh there are no entries: a nested call of
 * the same function is recognised by its time lying within the outer one's, back to RECENT calls of the task.
 *
 * How total is kept: each task has a running total per function. An entry remembers it, the exit sets it to what
 * was remembered plus the call's own time, so that what inner calls of the same function added is replaced,
 * not added to. No count of open calls is needed, and a lost exit harms nothing after it.
 *
 * Objects, all by uft_sym.index: struct prof_count and struct prof_func; by uft_task.index: struct prof_task, frames of
 * the open calls and the running totals in pages of the function index. One thread, one pass; memory grows with
 * functions, depth, and (task, function page) pairs in use.
 * Speed: two loops over each batch of events. The first pairs entries with exits; whether the next event is an entry or
 * an exit cannot be predicted, so both take the same path without a branch. It leaves one sample per timed call
 * to the second, which adds them up: no branch depends on data there either, so that the cache misses of many
 * functions overlap (one after the other they cost 20 ns a call).
 * Invariants: the counts of tests/golden/profile, recursion included.
 */
#include <stdlib.h>

#include "output/emit.h"
#include "output/histogram.h"
#include "output/output.h"
#include "output/report/table.h"

#define PAGE_FUNCS	512u
#define RECENT		64u

struct prof_count {
	const struct uft_sym *sym;	/* NULL: never seen */
	uint64_t calls;
};

struct prof_func {
	uint64_t timed;			/* calls with a known duration; of these: */
	uint64_t self, sum;		/* sum: nested ones too */
	uint64_t notmin, max;		/* notmin: ~shortest, so that 0 is none */
	double squares;			/* ns^2 */
	uint64_t total;			/* over all tasks, when all is read */
	uint64_t nleft;			/* calls left that may still return */
	struct histogram hist;
};

/* A timed call on its way from the first loop to the second. */
struct prof_sample {
	uint64_t ns, self_ns;
	size_t func;
	size_t place;			/* in the histogram, when it has been looked up */
};

struct prof_interval {
	uint32_t func;
	uint64_t start, counted;
};

struct prof_frame {
	uint64_t total;			/* the function's running total at the entry */
	uint32_t func;			/* 1 + index; 0 none */
};

struct prof_task {
	struct prof_frame *frame;	/* by depth */
	size_t nframes;
	uint64_t **total;		/* [function / PAGE_FUNCS][function % PAGE_FUNCS] */
	size_t npages;
	struct prof_interval *recent;	/* RECENT slots: calls without an entry */
	uint32_t next;
};

struct profile {
	struct emit_source src;
	struct hist_pool pool;
	struct prof_count *count;
	struct prof_func *func;
	size_t nfunc;
	struct prof_task *task;
	size_t ntask;
	int has_times, has_ranks;
	size_t nsamples;		/* of the batch under way; one event gives at most one */
	struct prof_sample sample[EMIT_BATCH + 1];	/* one more is written without being kept */
};

/* What a source boils down to, for sorting and printing. */
struct row {
	const char *name;
	uint64_t calls, total, self, min, max, p50, p99;
	double avg, s2;
	int has_times;
};

/* ---- Tables ---- */

/* Makes room for index @i in an array of @size-byte zeroed elements. */
static int reserve(void *array, size_t *n, size_t i, size_t size)
{
	size_t want = *n ? *n : 64;
	char *p;

	if (i < *n)
		return 0;
	while (want <= i)
		want *= 2;
	memcpy(&p, array, sizeof(p));
	p = realloc(p, want * size);
	if (!p)
		return -ENOMEM;
	memset(p + *n * size, 0, (want - *n) * size);
	memcpy(array, &p, sizeof(p));
	*n = want;
	return 0;
}

static int grow_funcs(struct profile *prof, uint32_t index)
{
	size_t n = prof->nfunc;

	if (reserve(&prof->count, &n, index, sizeof(*prof->count)) < 0)
		return -ENOMEM;
	return reserve(&prof->func, &prof->nfunc, index, sizeof(*prof->func));
}

/* Counts @calls of @sym and makes sure that it has its places. */
static inline int count_calls(struct profile *prof, const struct uft_sym *sym, uint64_t calls)
{
	if (__builtin_expect(sym->index >= prof->nfunc, 0) && grow_funcs(prof, sym->index) < 0)
		return -ENOMEM;
	prof->count[sym->index].sym = sym;
	prof->count[sym->index].calls += calls;
	return 0;
}

static inline struct prof_task *get_task(struct profile *prof, const struct uft_task *task)
{
	if (task->index >= prof->ntask && reserve(&prof->task, &prof->ntask, task->index, sizeof(*prof->task)) < 0)
		return NULL;
	return &prof->task[task->index];
}

static uint64_t *add_total_page(struct prof_task *t, uint32_t func)
{
	size_t page = func / PAGE_FUNCS;

	if (reserve(&t->total, &t->npages, page, sizeof(*t->total)) < 0)
		return NULL;
	t->total[page] = calloc(PAGE_FUNCS, sizeof(**t->total));
	return t->total[page] ? &t->total[page][func % PAGE_FUNCS] : NULL;
}

static inline uint64_t *running_total(struct prof_task *t, uint32_t func)
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
 * A call whose entry was not shown: a CALL record, or it began before what was selected. Calls of the same
 * function that lie within it have been counted: what they gave to the total is this call's own time, so it
 * comes off again.
 */
static int call(struct profile *prof, const struct uft_event *ev)
{
	struct prof_task *t = get_task(prof, ev->task);
	uint64_t start = ev->ts_ns - ev->duration_ns, inner = 0;
	uint64_t *total = t ? running_total(t, ev->sym->index) : NULL;

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

/* An exit that finds no entry in its frame. */
static int exit_alone(struct profile *prof, const struct uft_event *ev)
{
	struct prof_func *f = &prof->func[ev->sym->index];

	if (!f->nleft)
		return call(prof, ev);
	f->nleft--;		/* counted when it was left */
	return 0;
}

/*
 * ENTRY, EXIT or LEFT with all its places there. 1: done, 0: an exit without its entry. The running total never
 * shrinks: the frame may be an old one whose exit was lost.
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

/* The same, making room; the slow path of first times. */
static int add_call(struct profile *prof, const struct uft_event *ev, int is_exit)
{
	struct prof_task *t = get_task(prof, ev->task);
	uint64_t *total;

	if (count_calls(prof, ev->sym, (uint64_t)!is_exit) < 0 || !t ||
	    reserve(&t->frame, &t->nframes, ev->depth, sizeof(*t->frame)) < 0)
		return -ENOMEM;
	total = running_total(t, ev->sym->index);
	if (!total)
		return -ENOMEM;
	if (!pair_call(&t->frame[ev->depth], total, ev->sym->index, ev->duration_ns, is_exit))
		return exit_alone(prof, ev);
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
		if (ev->flags & UFT_EVF_CALL)
			return call(prof, ev);
		return ev->flags & UFT_EVF_ORPHAN ? count_calls(prof, ev->sym, 1) : add_call(prof, ev, 1);
	case UFT_EV_LEFT:
		return left(prof, ev);
	default:
		return 0;
	}
}

/* An ENTRY or EXIT whose places are there: 1 done, 0 not such a one, nothing changed. */
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
	f->squares += (double)(int64_t)s->ns * (double)(int64_t)s->ns;	/* signed: one instruction */
	if (__builtin_expect(s->place == HIST_NOWHERE, 0))
		return hist_add(&prof->pool, &f->hist, s->ns);
	hist_count(&prof->pool, s->place);
	return 0;
}

/* Three steps, some samples apart, so that each finds in the cache what the one before asked for. */
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
static void add_totals(struct profile *prof)
{
	for (size_t i = 0; i < prof->ntask; i++) {
		const struct prof_task *t = &prof->task[i];

		for (size_t k = 0; k < t->npages * PAGE_FUNCS && k < prof->nfunc; k++)
			if (t->total[k / PAGE_FUNCS])
				prof->func[k].total += t->total[k / PAGE_FUNCS][k % PAGE_FUNCS];
	}
}

static int add_events(struct profile *prof)
{
	const struct uft_event *ev = prof->src.ev;
	int ret = 0;

	while (!ret && emit_source_next(&prof->src)) {
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
	add_totals(prof);
	return ret;
}

/* ---- Rows ---- */

/* Unbiased, of n values with this sum and sum of squares. */
static double variance(uint64_t n, double sum, double squares)
{
	double v;

	if (n < 2)
		return 0;
	v = ((double)n * squares - sum * sum) / ((double)n * (double)(n - 1));
	return v > 0 ? v : 0;
}

static uint64_t rank_value(const struct profile *prof, size_t func, unsigned percent)
{
	const struct prof_func *f = &prof->func[func];
	uint64_t rank = f->timed - f->timed * (100 - percent) / 100, v;

	if (rank == f->timed)
		return f->max;
	v = hist_rank(&prof->pool, &f->hist, rank);
	return v < ~f->notmin ? ~f->notmin : v > f->max ? f->max : v;
}

static size_t make_event_rows(const struct profile *prof, struct row *row)
{
	size_t n = 0;

	for (size_t i = 0; i < prof->nfunc; i++) {
		const struct prof_func *f = &prof->func[i];

		if (!prof->count[i].calls)
			continue;
		row[n] = (struct row){ .name = prof->count[i].sym->name, .calls = prof->count[i].calls,
				       .total = f->total, .self = f->self, .min = ~f->notmin, .max = f->max, .has_times = f->timed != 0 };
		if (f->timed) {
			row[n].avg = (double)f->sum / (double)f->timed;
			row[n].s2 = variance(f->timed, (double)f->sum, f->squares);
			row[n].p50 = rank_value(prof, i, 50);
			row[n].p99 = rank_value(prof, i, 99);
		}
		n++;
	}
	return n;
}

static size_t make_counted_rows(const struct uft_profile_row *in, size_t nin, struct row *row)
{
	size_t n = 0;

	for (size_t i = 0; i < nin; i++) {
		if (!in[i].hits)
			continue;
		row[n++] = (struct row){ .name = in[i].sym->name, .calls = in[i].hits,
					 .total = in[i].total_ns, .self = in[i].self_ns, .min = in[i].min_ns,
					 .max = in[i].max_ns, .avg = (double)in[i].total_ns / (double)in[i].hits,
					 .s2 = variance(in[i].hits, (double)in[i].total_ns, in[i].squares_ns2),
					 .has_times = in[i].max_ns || in[i].total_ns };
	}
	return n;
}

/* Largest first; equal ones by name, so that the same recording always gives the same text. */
static int down(uint64_t a, uint64_t b, const struct row *x, const struct row *y)
{
	return a != b ? (a < b) - (a > b) : strcmp(x->name, y->name);
}

static int by_total(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->total != y->total ? down(x->total, y->total, x, y) : down(x->calls, y->calls, x, y);
}

static int by_self(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return down(x->self, y->self, x, y);
}

static int by_calls(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return down(x->calls, y->calls, x, y);
}

static int by_avg(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->avg != y->avg ? (x->avg < y->avg) - (x->avg > y->avg) : strcmp(x->name, y->name);
}

static int by_max(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return down(x->max, y->max, x, y);
}

static int by_name(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int (*const orders[])(const void *, const void *) = {
	[UFT_SORT_TOTAL] = by_total,
	[UFT_SORT_SELF] = by_self,
	[UFT_SORT_CALLS] = by_calls,
	[UFT_SORT_AVG] = by_avg,
	[UFT_SORT_MAX] = by_max,
	[UFT_SORT_NAME] = by_name,
};

static const struct table_column columns[] = {
	{ "calls", "calls", TABLE_COUNT, 9 },
	{ "total", "total_ns", TABLE_TIME, 7 },
	{ "self", "self_ns", TABLE_TIME, 7 },
	{ "self%", "self_share", TABLE_SHARE, 6 },
	{ "avg", "avg_ns", TABLE_TIME, 7 },
	{ "p50", "p50_ns", TABLE_TIME, 7 },
	{ "p99", "p99_ns", TABLE_TIME, 7 },
	{ "max", "max_ns", TABLE_TIME, 7 },
	{ NULL, "min_ns", TABLE_TIME, 0 },
	{ NULL, "variance_ns2", TABLE_NUMBER, 0 },
	{ "function", "function", TABLE_NAME, 0 },
};
#define NCOLUMNS	(sizeof(columns) / sizeof(columns[0]))

static int print_rows(const struct profile *prof, const struct row *row, size_t n, size_t limit, const struct uft_report_opts *o, FILE *out)
{
	struct table t = { .out = out, .form = o->form, .width = o->width, .column = columns, .ncolumns = NCOLUMNS };
	double all = 0;

	for (size_t i = 0; i < n; i++)
		all += (double)row[i].self;
	table_begin(&t, "profile");
	for (size_t i = 0; i < limit && !ferror(out); i++) {
		const struct row *r = &row[i];
		int has_times = r->has_times && prof->has_times, has_ranks = has_times && prof->has_ranks;

		table_row(&t, (struct table_cell[NCOLUMNS]){
			CELL_COUNT(r->calls), CELL_TIME(r->total, has_times), CELL_TIME(r->self, has_times),
			CELL_NUMBER(all > 0 ? (double)r->self / all : 0, has_times), CELL_TIME((uint64_t)(r->avg + 0.5), has_times),
			CELL_TIME(r->p50, has_ranks), CELL_TIME(r->p99, has_ranks), CELL_TIME(r->max, has_times),
			CELL_TIME(r->min, has_times), CELL_NUMBER(r->s2, has_times), CELL_NAME(r->name) }, 0);
	}
	return table_end(&t);
}

/* ---- The pass ---- */

static void profile_free(struct profile *prof)
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
	free(prof);
}

static int report(const struct profile *prof, const struct uft_profile_row *counted, size_t ncounted, FILE *out,
		  const struct uft_report_opts *o)
{
	struct row *row = calloc((ncounted ? ncounted : prof->nfunc) + 1, sizeof(*row));
	size_t n;
	int ret;

	if (!row)
		return -ENOMEM;
	n = ncounted ? make_counted_rows(counted, ncounted, row) : make_event_rows(prof, row);
	qsort(row, n, sizeof(*row), orders[o->sort]);
	ret = print_rows(prof, row, n, o->limit && o->limit < n ? o->limit : n, o, out);
	free(row);
	return ret;
}

/**
 * uft_output_profile - print one row per function
 * @st:    the stream, at its start
 * @out:   where to; not closed
 * @o:     form, width, the column to sort by (largest first; names ascend), rows at most
 *
 * Returns 0; -EINVAL @o->sort; -ENOMEM; or the negative errno of @out. Context: control.
 */
int uft_output_profile(struct uft_stream *st, FILE *out, const struct uft_report_opts *o)
{
	const struct uft_profile_row *counted = NULL;
	const struct uft_info *info = uft_stream_info(st);
	struct profile *prof;
	size_t ncounted = 0;
	int ret;

	if ((unsigned)o->sort >= sizeof(orders) / sizeof(orders[0]))
		return -EINVAL;
	prof = calloc(1, sizeof(*prof));
	if (!prof || !info) {
		free(prof);
		return -ENOMEM;
	}
	emit_source_init(&prof->src, st);
	prof->has_times = info->tracer != UFT_TRACER_FUNCTION;
	prof->has_ranks = info->tracer != UFT_TRACER_PROFILE;
	ret = info->tracer == UFT_TRACER_PROFILE ? uft_stream_profile(st, &counted, &ncounted) : add_events(prof);
	if (!ret)
		ret = report(prof, counted, ncounted, out, o);
	profile_free(prof);
	return ret;
}
