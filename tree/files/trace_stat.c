/* SPDX-License-Identifier: MIT */
/*
 * trace_stat.c - function_profile_enabled and trace_stat/: how often and how long functions ran
 *
 * The runtime adds up calls and times (tracer PROFILE, runtime/trace/tracers/profile.c). We read its sums when a file
 * is read and when a process ends. Each function of each cpu is a row; rows of the same name are joined, as in the
 * kernel, which is one program.
 *
 * Differences from the kernel: beside the profile only function, function_graph and tracers that arm no sites can be on
 * (ops.c), else both are EBUSY; set_ftrace_pid holds for the profile. The time of a call counts on the cpu where the
 * call ends. Turning the profile on clears its sums; after turning it off they can still be read.
 */
#include "tree/files/rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream/wire/clock.h"
#include "symbol/array.h"

struct sum {
	char *name;
	uint32_t cpu;
	uint64_t hits, total, squares;	/* as in the arena */
};

struct table { struct sum *row; size_t n, cap, merged; };

struct tree_profile {
	struct table done;		/* of processes that ended */
	struct uft_clock_pair begin, end;	/* end: when it was switched off; 0 while it is on */
	const struct uft_image **live;	/* by slice */
	int has_sums;			/* the profile was on: running processes have sums, also when it is off */
};

/* ---- Tables ---------------------------------------------------------------------------------- */

static void table_free(struct table *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->row[i].name);
	free(t->row);
	*t = (struct table){ 0 };
}

static int by_name(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	return x->cpu != y->cpu ? (x->cpu > y->cpu) - (x->cpu < y->cpu) : strcmp(x->name, y->name);
}

/* One row for each cpu and name. */
static void table_merge(struct table *t)
{
	size_t to = 0;

	if (t->n)
		qsort(t->row, t->n, sizeof(t->row[0]), by_name);
	for (size_t i = 0; i < t->n; i++) {
		if (to && !by_name(&t->row[to - 1], &t->row[i])) {
			t->row[to - 1].hits += t->row[i].hits;
			t->row[to - 1].total += t->row[i].total;
			t->row[to - 1].squares += t->row[i].squares;
			free(t->row[i].name);
		} else {
			t->row[to++] = t->row[i];
		}
	}
	t->n = t->merged = to;
}

static int table_add(struct table *t, const char *name, uint32_t cpu, const struct uft_profile *p)
{
	struct sum *row;

	if (t->n == t->cap && t->n > 2 * t->merged + 1024)
		table_merge(t);
	if (array_reserve(t->row, t->cap, t->n + 1))
		return -ENOMEM;
	row = &t->row[t->n];
	*row = (struct sum){ strdup(name), cpu, p->hits, p->total, p->squares };
	t->n += row->name != NULL;
	return row->name ? 0 : -ENOMEM;
}

/* ---- Sums of the runtime --------------------------------------------------------------------- */

/*
 * Sums are read from the slice's file, not from the session's mapping: a read of the mapping allocates missing pages,
 * or on a full file system leaves the session blind for them (control/session.h).
 */
struct collecting {
	const struct uft_image *img;
	struct uft_resolver *names;
	struct table *to;
	uint32_t ncpus;
};

static int collect_sum(void *arg, uint32_t id, uint32_t block, const struct uft_profile *p)
{
	const struct collecting *c = arg;

	return p->hits ? table_add(c->to, uft_resolve_id(c->names, c->img, id)->name, block < c->ncpus ? block : 0, p) :
		0;
}

static int collect(struct uft_tree *t, uint32_t slice, const struct uft_image *img, struct table *to)
{
	struct collecting c = {
		.img = img, .names = uft_resolver_alloc(), .to = to, .ncpus = uft_session_arena(t->session)->ncpus
	};
	struct uft_slice_file f = { .fd = -1 };
	int ret = c.names ? uft_slice_open(t->session, slice, &f) : -ENOMEM;

	for (uint32_t i = 0; !ret && i < img->nobj; i++)
		ret = uft_slice_sums(t->session, &f, img->obj[i].first_stub_id, img->obj[i].nstubs, collect_sum, &c);
	if (f.fd >= 0)
		uft_slice_close(&f);
	uft_resolver_free(c.names);
	return ret;
}

void profile_begin(struct uft_tree *t, uint32_t slice, const struct uft_image *img)
{
	uint32_t nslices = uft_session_arena(t->session)->nslices;

	if (slice >= nslices)		/* the session's own */
		return;
	if (!t->profile && (t->profile = calloc(1, sizeof(*t->profile)))) {
		t->profile->live = calloc(nslices, sizeof(t->profile->live[0]));
		uft_clock_sample(&t->profile->begin);
	}
	if (t->profile && t->profile->live)
		t->profile->live[slice] = img;
}

void profile_end(struct uft_tree *t, uint32_t slice)
{
	struct tree_profile *p = t->profile;

	if (!p || !p->live || slice >= uft_session_arena(t->session)->nslices || !p->live[slice])
		return;
	if (t->instances->set.is_profiling || p->has_sums)
		collect(t, slice, p->live[slice], &p->done);
	p->live[slice] = NULL;
}

void profile_free(struct uft_tree *t)
{
	if (!t->profile)
		return;
	table_free(&t->profile->done);
	free(t->profile->live);
	free(t->profile);
}

/* Clears all sums. Targets may be adding at this moment: such a call then counts as a later one. */
static void forget(struct uft_tree *t)
{
	const struct uft_arena *a = uft_session_arena(t->session);
	struct tree_profile *p = t->profile;

	if (!p)
		return;
	table_free(&p->done);
	uft_clock_sample(&p->begin);
	p->end.clock = 0;
	for (uint32_t i = 0; p->live && i < a->nslices; i++) {
		struct uft_slice_file f;

		if (p->live[i] && !uft_slice_open(t->session, i, &f)) {
			uft_slice_clear_sums(t->session, &f);
			uft_slice_close(&f);
		}
	}
}

/* ---- Files ----------------------------------------------------------------------------------- */

int show_function_profile_enabled(const struct place *at, struct tree_text *out)
{
	text_printf(out, "%d\n", at->in->set.is_profiling);
	return 0;
}

ssize_t store_function_profile_enabled(struct uft_handle *h, const char *p, size_t n)
{
	struct settings set = h->at.in->set;
	uint64_t on = 0;
	int ret = text_number(p, n, 10, &on);

	if (ret)
		return ret;
	set.is_profiling = on != 0;
	if (set.is_profiling == h->at.in->set.is_profiling)
		return (ssize_t)n;
	ret = tree_apply(h->at.in, &set, NULL);
	if (!ret && set.is_profiling)
		forget(h->t);	/* only now: a refused write clears nothing */
	if (!ret && h->t->profile) {
		h->t->profile->has_sums = 1;
		if (!set.is_profiling)
			uft_clock_sample(&h->t->profile->end);
	}
	return ret ? ret : (ssize_t)n;
}

static int by_time(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	return x->total != y->total ? (x->total < y->total) - (x->total > y->total) :
		(x->hits < y->hits) - (x->hits > y->hits);
}

/* The kernel's duration: seven digits, as many of them decimals as fit. */
static void put_duration(struct tree_text *out, double ns)
{
	unsigned long long us = (unsigned long long)(ns / 1000), rest = (unsigned long long)ns % 1000;
	char text[48];
	int width = snprintf(text, sizeof(text), "%llu", us);

	if (width < 7) {
		width = snprintf(text, sizeof(text), "%llu.%03llu", us, rest);
		width = width < 8 ? width : 8;
	}
	text_printf(out, "%.*s us %*s", width, text, width < 8 ? 8 - width : 0, "");
}

static void put_row(struct tree_text *out, const struct sum *s, double ns_per_unit)
{
	double unit = ns_per_unit * (1 << UFT_PROFILE_SQ_SHIFT), hits = (double)s->hits,
	       total = (double)s->total * ns_per_unit;
	double spread = s->hits > 1 ?
		(hits * (double)s->squares * unit * unit - total * total) / (hits * (hits - 1) * 1000) : 0;

	text_printf(out, "  %-30.30s  %10llu    ", s->name, (unsigned long long)s->hits);
	put_duration(out, total);
	text_printf(out, "    ");
	put_duration(out, total / hits);
	text_printf(out, "    ");
	/* squares are kept of shortened times: a tiny one may come out negative */
	put_duration(out, spread > 0 ? spread : 0);
	text_printf(out, "\n");
}

/* The factor of a profile that is off is the same at each reading. */
static double ns_per_unit(const struct tree_profile *p)
{
	struct uft_clock_pair end = p->end;

	if (!end.clock)
		uft_clock_sample(&end);
	return end.clock > p->begin.clock ? (double)(end.ns - p->begin.ns) / (double)(end.clock - p->begin.clock) : 1;
}

int show_trace_stat(const struct place *at, struct tree_text *out)
{
	const uint32_t nslices = uft_session_arena(at->t->session)->nslices;
	struct tree_profile *p = at->t->profile;
	struct table all = { 0 };
	double rate = 1;
	int ret = 0;

	text_printf(out, "  Function                               Hit    Time            Avg             s^2\n"
			 "  --------                               ---    ----            ---             ---\n");
	for (size_t i = 0; p && i < p->done.n && !ret; i++) {
		const struct sum *s = &p->done.row[i];

		ret = table_add(&all, s->name, s->cpu,
				&(struct uft_profile){ .hits = s->hits, .total = s->total, .squares = s->squares });
	}
	for (uint32_t i = 0; p && p->live && i < nslices && !ret; i++)
		if (p->live[i])
			ret = collect(at->t, i, p->live[i], &all);
	table_merge(&all);
	if (all.n)
		qsort(all.row, all.n, sizeof(all.row[0]), by_time);
	if (all.n)
		rate = ns_per_unit(p);
	for (size_t i = 0; i < all.n && !ret; i++)
		if (all.row[i].cpu == at->index)
			put_row(out, &all.row[i], rate);
	table_free(&all);
	return ret;
}
