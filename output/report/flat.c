/* SPDX-License-Identifier: MIT */
/*
 * flat.c - the profile, one row per function: calls, times, variance
 *
 * Sources: a graph stream is added up call by call; a function stream gives hits only; a recording of the
 * profile tracer brings finished sums (uft_stream_profile()).
 *
 * Columns:
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
 * An unknown value is `-`. A call left without return counts with the time it had run; if it returns after all
 * (coroutine), the return is not counted again. With tracing_thresh there are no entries: a nested call of the same
 * function is recognised by its time, which lies within that of the outer call, back to RECENT calls of the task.
 *
 * How calls are added up: profile.c.
 */
#include <stdlib.h>

#include "output/output.h"
#include "output/report/profile.h"
#include "output/report/table.h"

/* The figures of one row, for sorting and printing. */
struct row {
	const char *name;
	uint64_t calls, total, self, min, max, p50, p99;
	double avg, s2;
	int has_times;
};

/* ---- Rows ---- */

/* The unbiased variance of n values with this sum and sum of squares. */
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
				       .total = f->total, .self = f->self, .min = ~f->notmin, .max = f->max,
				       .has_times = f->timed != 0 };
		if (f->timed) {
			row[n].avg = (double)f->sum / (double)f->timed;
			row[n].s2 = variance(f->timed, (double)f->sum, (double)f->squares);
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

/* Compares rows by all columns: rows that are equal here are equal. */
static int by_all(const struct row *x, const struct row *y)
{
	const uint64_t a[] = { x->calls, x->total, x->self, x->min, x->max, x->p50, x->p99 };
	const uint64_t b[] = { y->calls, y->total, y->self, y->min, y->max, y->p50, y->p99 };
	int by = strcmp(x->name, y->name);

	for (size_t i = 0; !by && i < sizeof(a) / sizeof(a[0]); i++)
		by = (a[i] < b[i]) - (a[i] > b[i]);
	return by ? by : (x->s2 < y->s2) - (x->s2 > y->s2);
}

/* Largest first; equal ones by name, so that the same recording always gives the same text. */
static int by_sort(const void *a, const void *b, void *sort)
{
	const struct row *x = a, *y = b;
	int by = 0;

	switch (*(const enum uft_profile_sort *)sort) {
	case UFT_SORT_TOTAL:
		by = (x->total < y->total) - (x->total > y->total);
		by = by ? by : (x->calls < y->calls) - (x->calls > y->calls);
		break;
	case UFT_SORT_SELF: by = (x->self < y->self) - (x->self > y->self); break;
	case UFT_SORT_CALLS: by = (x->calls < y->calls) - (x->calls > y->calls); break;
	case UFT_SORT_AVG: by = (x->avg < y->avg) - (x->avg > y->avg); break;
	case UFT_SORT_MAX: by = (x->max < y->max) - (x->max > y->max); break;
	case UFT_SORT_NAME: break;
	}
	return by ? by : by_all(x, y);
}

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

static int print_rows(const struct profile *prof, const struct row *row, size_t n, size_t limit,
		      const struct uft_report_opts *o, FILE *out)
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
			CELL_NUMBER(all > 0 ? (double)r->self / all : 0, has_times),
			CELL_TIME((uint64_t)(r->avg + 0.5), has_times),
			CELL_TIME(r->p50, has_ranks), CELL_TIME(r->p99, has_ranks), CELL_TIME(r->max, has_times),
			CELL_TIME(r->min, has_times), CELL_NUMBER(r->s2, has_times), CELL_NAME(r->name) }, 0);
	}
	return table_end(&t);
}

/* ---- The pass ---- */

static int report(const struct profile *prof, const struct uft_profile_row *counted, size_t ncounted, FILE *out,
		  const struct uft_report_opts *o)
{
	struct row *row = calloc((ncounted ? ncounted : prof->nfunc) + 1, sizeof(*row));
	size_t n;
	int ret;

	if (!row)
		return -ENOMEM;
	n = ncounted ? make_counted_rows(counted, ncounted, row) : make_event_rows(prof, row);
	qsort_r(row, n, sizeof(*row), by_sort, (void *)&o->sort);
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
	const struct uft_info *info;
	struct profile *prof;
	size_t ncounted = 0;
	int ret;

	if ((unsigned)o->sort > UFT_SORT_NAME)
		return -EINVAL;
	prof = calloc(1, sizeof(*prof));
	if (!prof)
		return -ENOMEM;
	ret = uft_stream_profile(st, &counted, &ncounted);
	if (ncounted && uft_stream_tracer(st) != UFT_TRACER_PROFILE)
		ncounted = 0;
	if (!ret && !ncounted)
		ret = profile_add_stream(prof, st, o->threads);
	info = ret ? NULL : uft_stream_info(st);
	if (info) {
		prof->has_times = info->tracer != UFT_TRACER_FUNCTION;
		prof->has_ranks = info->tracer != UFT_TRACER_PROFILE;
		ret = report(prof, counted, ncounted, out, o);
	}
	profile_clear(prof);
	free(prof);
	return ret;
}
