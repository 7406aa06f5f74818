/* SPDX-License-Identifier: MIT */
/*
 * profile.c - one row per function: how often, how long, how it varies
 *
 * Sources: a graph stream is added up call by call; a function stream gives hits only; a recording of the
 * profile tracer brings finished sums (uft_stream_profile()).
 *
 * What the columns mean
 *   calls	calls that began, and calls without a recorded entry (orphans, tracing_thresh)
 *   total_us	time between entry and return, callees included. Of a recursive function only the outermost
 *		call of a task counts, so that no moment is counted twice and total never exceeds the run
 *   self_us	the same without traced callees, all calls
 *   avg_us	mean over all timed calls, nested ones too: not total / calls for a recursive function
 *   min, max	exact
 *   p50, p99	from a histogram, off by at most 1.6 % (histogram.h), all timed calls
 *   s2_us2	variance, as the kernel's s^2 column: (n sum(x^2) - sum(x)^2) / (n (n - 1))
 * What is not known is `-`. A call left without return counts with the time it had run; should it return
 * after all (coroutine), that is not counted again. With tracing_thresh there are no entries: a nested call of
 * the same function is recognised by its time lying within the outer one's, back to RECENT calls of the task.
 *
 * Output: a header line starting with `#`, then fields separated by blanks, the name last (it may contain
 * blanks itself). Times in microseconds with three decimals.
 *
 * Objects: struct prof_func per function, by uft_sym.index; struct prof_task per task, by uft_task.index:
 * the stack of open calls and, in pages of the function index, how many of them are open. The stack follows
 * the depth that the stream gives, so that a lost exit cannot leave a function open for good. One thread,
 * one pass; memory grows with functions, open calls, and (task, function page) pairs in use.
 * Invariants: the counts of tests/golden/profile, recursion included.
 */
#include <stdlib.h>

#include "output/emit.h"
#include "output/histogram.h"
#include "output/output.h"

#define PAGE_FUNCS	512u
#define RECENT		64u
#define NO_FUNC		(~0u)

struct prof_func {
	uint64_t calls, timed;
	uint64_t total, self, sum;	/* sum: of all timed calls, nested ones too */
	uint64_t min, max;
	double squares;			/* ns^2 */
	const struct uft_sym *sym;
	uint32_t nleft;			/* calls left that may still return */
	struct histogram hist;
};

struct prof_interval {
	uint32_t func;
	uint64_t start, counted;
};

struct prof_task {
	uint32_t *stack;		/* functions of the open calls, NO_FUNC where not known */
	uint32_t depth, cap;
	uint32_t **open;		/* [function / PAGE_FUNCS][function % PAGE_FUNCS]: open calls */
	uint32_t npages;
	struct prof_interval *recent;	/* RECENT slots, used with tracing_thresh only */
	uint32_t next;
};

struct profile {
	struct emit_source src;
	struct emit_names names;
	struct hist_pool pool;
	struct prof_func *func;
	size_t nfunc;
	struct prof_task *task;
	size_t ntask;
	int has_times, has_ranks;
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

static struct prof_func *get_func(struct profile *prof, const struct uft_sym *sym)
{
	if (sym->index >= prof->nfunc && reserve(&prof->func, &prof->nfunc, sym->index, sizeof(*prof->func)) < 0)
		return NULL;
	prof->func[sym->index].sym = sym;
	return &prof->func[sym->index];
}

static struct prof_task *get_task(struct profile *prof, const struct uft_task *task)
{
	if (task->index >= prof->ntask && reserve(&prof->task, &prof->ntask, task->index, sizeof(*prof->task)) < 0)
		return NULL;
	return &prof->task[task->index];
}

static uint32_t *add_open_page(struct prof_task *t, uint32_t func)
{
	size_t n = t->npages, page = func / PAGE_FUNCS;

	if (reserve(&t->open, &n, page, sizeof(*t->open)) < 0)
		return NULL;
	t->npages = (uint32_t)n;
	t->open[page] = calloc(PAGE_FUNCS, sizeof(**t->open));
	return t->open[page] ? &t->open[page][func % PAGE_FUNCS] : NULL;
}

static inline uint32_t *open_count(struct prof_task *t, uint32_t func)
{
	uint32_t page = func / PAGE_FUNCS;

	if (page < t->npages && t->open[page])
		return &t->open[page][func % PAGE_FUNCS];
	return add_open_page(t, func);
}

/* ---- Calls ---- */

static int grow_stack(struct prof_task *t, uint32_t depth)
{
	size_t n = t->cap;

	if (reserve(&t->stack, &n, depth, sizeof(*t->stack)) < 0)
		return -ENOMEM;
	t->cap = (uint32_t)n;
	return 0;
}

/* Closes open calls down to @depth: their exits were lost. */
static inline void cut_stack(struct prof_task *t, uint32_t depth)
{
	while (t->depth > depth) {
		uint32_t func = t->stack[--t->depth];

		if (func != NO_FUNC)
			t->open[func / PAGE_FUNCS][func % PAGE_FUNCS]--;
	}
}

static int enter(struct profile *prof, const struct uft_event *ev)
{
	struct prof_func *f = get_func(prof, ev->sym);
	struct prof_task *t = get_task(prof, ev->task);
	uint32_t *open;

	if (!f || !t || (ev->depth >= t->cap && grow_stack(t, ev->depth) < 0))
		return -ENOMEM;
	open = open_count(t, ev->sym->index);
	if (!open)
		return -ENOMEM;
	cut_stack(t, ev->depth);
	while (t->depth < ev->depth)
		t->stack[t->depth++] = NO_FUNC;
	t->stack[t->depth++] = ev->sym->index;
	++*open;
	f->calls++;
	return 0;
}

static int add_time(struct profile *prof, struct prof_func *f, const struct uft_event *ev, uint64_t total)
{
	uint64_t ns = ev->duration_ns;

	f->min = f->timed && f->min < ns ? f->min : ns;
	f->max = f->max > ns ? f->max : ns;
	f->timed++;
	f->total += total;
	f->self += ev->self_ns;
	f->sum += ns;
	f->squares += (double)ns * (double)ns;
	return hist_add(&prof->pool, &f->hist, ns);
}

/* EXIT or LEFT of a call whose entry the stream has shown. */
static int leave(struct profile *prof, const struct uft_event *ev)
{
	struct prof_func *f = get_func(prof, ev->sym);
	struct prof_task *t = get_task(prof, ev->task);
	uint32_t *open;

	if (!f || !t)
		return -ENOMEM;
	open = open_count(t, ev->sym->index);
	if (!open)
		return -ENOMEM;
	cut_stack(t, ev->depth + 1);
	if (t->depth == ev->depth + 1 && t->stack[ev->depth] == ev->sym->index) {
		t->depth--;
		--*open;
		f->nleft += ev->kind == UFT_EV_LEFT;
	} else if (f->nleft) {
		f->nleft--;
		return 0;
	} else {
		f->calls++;	/* it began before what was selected */
	}
	return add_time(prof, f, ev, *open ? 0 : ev->duration_ns);
}

/*
 * A CALL record: no entry, no depth. Calls of the same function that lie within this one have been counted:
 * what they gave to the total is this call's own time, so it comes off again.
 */
static int call(struct profile *prof, const struct uft_event *ev)
{
	struct prof_func *f = get_func(prof, ev->sym);
	struct prof_task *t = get_task(prof, ev->task);
	uint64_t start = ev->ts_ns - ev->duration_ns, inner = 0;

	if (!f || !t)
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
	f->calls++;
	return add_time(prof, f, ev, ev->duration_ns - (inner < ev->duration_ns ? inner : ev->duration_ns));
}

static int hit(struct profile *prof, const struct uft_event *ev)
{
	struct prof_func *f = get_func(prof, ev->sym);

	if (!f)
		return -ENOMEM;
	f->calls++;
	return 0;
}

static int add_event(struct profile *prof, const struct uft_event *ev)
{
	switch (ev->kind) {
	case UFT_EV_ENTRY:
		return enter(prof, ev);
	case UFT_EV_EXIT:
		if (ev->flags & UFT_EVF_CALL)
			return call(prof, ev);
		if (ev->flags & UFT_EVF_ORPHAN)
			return hit(prof, ev);
		return leave(prof, ev);
	case UFT_EV_LEFT:
		return leave(prof, ev);
	case UFT_EV_FUNC:
		return hit(prof, ev);
	default:
		return 0;
	}
}

/* ---- Rows ---- */

/* Unbiased, of n values with this sum and sum of squares; ns^2 to us^2. */
static double variance(uint64_t n, double sum, double squares)
{
	double v;

	if (n < 2)
		return 0;
	v = ((double)n * squares - sum * sum) / ((double)n * (double)(n - 1)) / 1e6;
	return v > 0 ? v : 0;
}

static uint64_t rank_value(const struct profile *prof, const struct prof_func *f, unsigned percent)
{
	uint64_t rank = f->timed - f->timed * (100 - percent) / 100, v;

	if (rank == f->timed)
		return f->max;
	v = hist_rank(&prof->pool, &f->hist, rank);
	return v < f->min ? f->min : v > f->max ? f->max : v;
}

static const char *row_name(struct profile *prof, const struct uft_sym *sym)
{
	const struct emit_text *name = emit_func(&prof->names, sym);

	return name ? name->text : "?";
}

static size_t make_event_rows(struct profile *prof, struct row *row)
{
	size_t n = 0;

	for (size_t i = 0; i < prof->nfunc; i++) {
		const struct prof_func *f = &prof->func[i];

		if (!f->calls)
			continue;
		row[n] = (struct row){ .name = row_name(prof, f->sym), .calls = f->calls, .total = f->total,
				       .self = f->self, .min = f->min, .max = f->max, .has_times = f->timed != 0 };
		if (f->timed) {
			row[n].avg = (double)f->sum / (double)f->timed;
			row[n].s2 = variance(f->timed, (double)f->sum, f->squares);
			row[n].p50 = rank_value(prof, f, 50);
			row[n].p99 = rank_value(prof, f, 99);
		}
		n++;
	}
	return n;
}

static size_t make_counted_rows(struct profile *prof, const struct uft_profile_row *in, size_t nin, struct row *row)
{
	size_t n = 0;

	for (size_t i = 0; i < nin; i++) {
		if (!in[i].hits)
			continue;
		row[n++] = (struct row){ .name = row_name(prof, in[i].sym), .calls = in[i].hits,
					 .total = in[i].total_ns, .self = in[i].self_ns, .min = in[i].min_ns,
					 .max = in[i].max_ns, .avg = (double)in[i].total_ns / (double)in[i].hits,
					 .s2 = variance(in[i].hits, (double)in[i].total_ns, in[i].squares_ns2),
					 .has_times = 1 };
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

static void put_time(FILE *out, int width, int is_known, uint64_t ns)
{
	if (is_known)
		fprintf(out, " %*llu.%03u", width - 4, (unsigned long long)(ns / 1000), (unsigned)(ns % 1000));
	else
		fprintf(out, " %*s", width, "-");
}

static int print_rows(const struct profile *prof, const struct row *row, size_t n, FILE *out)
{
	fprintf(out, "#%11s %15s %15s %12s %12s %12s %12s %12s %14s  %s\n", "calls", "total_us", "self_us", "avg_us",
		"min_us", "max_us", "p50_us", "p99_us", "s2_us2", "function");
	for (size_t i = 0; i < n && !ferror(out); i++) {
		const struct row *r = &row[i];
		int has_times = r->has_times && prof->has_times, has_ranks = has_times && prof->has_ranks;

		fprintf(out, "%12llu", (unsigned long long)r->calls);
		put_time(out, 15, has_times, r->total);
		put_time(out, 15, has_times, r->self);
		put_time(out, 12, has_times, (uint64_t)(r->avg + 0.5));
		put_time(out, 12, has_times, r->min);
		put_time(out, 12, has_times, r->max);
		put_time(out, 12, has_ranks, r->p50);
		put_time(out, 12, has_ranks, r->p99);
		if (has_times)
			fprintf(out, " %14.3f  %s\n", r->s2, r->name);
		else
			fprintf(out, " %14s  %s\n", "-", r->name);
	}
	errno = 0;
	return fflush(out) || ferror(out) ? errno ? -errno : -EIO : 0;
}

/* ---- The pass ---- */

static void profile_free(struct profile *prof)
{
	for (size_t i = 0; i < prof->ntask; i++) {
		struct prof_task *t = &prof->task[i];

		for (uint32_t p = 0; p < t->npages; p++)
			free(t->open[p]);
		free(t->open);
		free(t->stack);
		free(t->recent);
	}
	free(prof->task);
	free(prof->func);
	free(prof->pool.block);
	emit_names_free(&prof->names);
	free(prof);
}

static int add_events(struct profile *prof)
{
	const struct uft_event *ev;
	int ret = 0;

	while (!ret && (ev = emit_source_next(&prof->src)))
		ret = add_event(prof, ev);
	return ret;
}

static int report(struct profile *prof, const struct uft_profile_row *counted, size_t ncounted, FILE *out,
		  enum uft_profile_sort sort, size_t limit)
{
	struct row *row = calloc((ncounted ? ncounted : prof->nfunc) + 1, sizeof(*row));
	size_t n;
	int ret;

	if (!row)
		return -ENOMEM;
	n = ncounted ? make_counted_rows(prof, counted, ncounted, row) : make_event_rows(prof, row);
	qsort(row, n, sizeof(*row), orders[sort]);
	ret = print_rows(prof, row, limit && limit < n ? limit : n, out);
	free(row);
	return ret;
}

/**
 * uft_output_profile - print one row per function
 * @st:    the stream, at its start
 * @out:   where to; not closed
 * @sort:  the column to sort by, largest first; names ascend
 * @limit: rows at most, 0 all
 *
 * Returns 0; -EINVAL @sort; -ENOMEM; or the negative errno of @out. Context: control.
 */
int uft_output_profile(struct uft_stream *st, FILE *out, enum uft_profile_sort sort, size_t limit)
{
	const struct uft_profile_row *counted = NULL;
	const struct uft_info *info = uft_stream_info(st);
	struct profile *prof;
	size_t ncounted = 0;
	int ret;

	if ((unsigned)sort >= sizeof(orders) / sizeof(orders[0]))
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
		ret = report(prof, counted, ncounted, out, sort, limit);
	profile_free(prof);
	return ret;
}
