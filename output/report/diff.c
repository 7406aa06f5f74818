/* SPDX-License-Identifier: MIT */
/*
 * diff.c - the difference of two programs, or of two runs of one, by call path
 *
 * Each recording is added up by path (aggregate.h). Paths are matched by the names of their functions as
 * linked, so both recordings may be of different builds. Both sides have a tree with the same nodes in the
 * same order; a run's own figures stand beside them.
 *
 *	run A1 --+--> side A: node i = sums of all A ---+
 *	run A2 --+                                      +--> row i: change of self, its share of the whole change
 *	run B1 -----> side B: node i = sums of all B ---+
 *
 * Self times are compared, because they add up: the changes of all paths are the change of the whole. With several runs
 * of a side figures are means, and the noise of a path is the largest distance between two runs of one side; a change
 * that is not larger is noise. Conditions (uft_diff_check()) are about functions, over all their paths; of recursive
 * calls the outermost count.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output/report/diff.h"
#include "output/report/table.h"
#include "symbol/array.h"
#include "symbol/names.h"

struct run {
	int side;
	uint64_t *self;			/* by node of the sides */
	uint32_t n;
};

struct uft_diff {
	struct agg side[2];
	uint32_t nruns[2];
	struct run *run;
	uint32_t nall;
	int is_finished;		/* the sides are linked: nothing is added any more */
};

struct uft_diff *uft_diff_new(void)
{
	struct uft_diff *d = calloc(1, sizeof(*d));

	if (d && agg_init(&d->side[0]) == 0 && agg_init(&d->side[1]) == 0)
		return d;
	uft_diff_free(d);
	return NULL;
}

void uft_diff_free(struct uft_diff *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; i < d->nall; i++)
		free(d->run[i].self);
	free(d->run);
	agg_free(&d->side[0]);
	agg_free(&d->side[1]);
	free(d);
}

/* ---- Adding runs ---- */

/* The node below @parent on both sides. */
static uint32_t pair_child(struct uft_diff *d, uint32_t parent, const struct agg_func *f)
{
	uint32_t at[2];

	for (int i = 0; i < 2; i++) {
		uint32_t func = agg_func_get(&d->side[i], f->key, f->name, f->object);

		at[i] = func == UINT32_MAX ? func : agg_child(&d->side[i], parent, func);
	}
	return at[0] == at[1] ? at[0] : UINT32_MAX;
}

static int add_nodes(struct uft_diff *d, const struct agg *a, struct run *run)
{
	uint32_t *place = calloc(a->nnodes, sizeof(*place));
	int ret = place ? 0 : -ENOMEM;

	for (uint32_t i = 1; i < a->nnodes && !ret; i++) {
		place[i] = pair_child(d, place[a->node[i].parent], &a->func[a->node[i].func]);
		ret = place[i] == UINT32_MAX ? -ENOMEM : agg_merge(&d->side[run->side], place[i], a, &a->node[i], 1);
	}
	run->n = d->side[0].nnodes;
	run->self = ret ? NULL : calloc(run->n, sizeof(*run->self));
	for (uint32_t i = 1; i < a->nnodes && run->self; i++)
		run->self[place[i]] += a->node[i].self;
	free(place);
	return ret ? ret : run->self ? 0 : -ENOMEM;
}

int uft_diff_add(struct uft_diff *d, int side, struct uft_stream *st)
{
	struct agg a;
	int ret;

	if (array_resize(d->run, d->nall + 1))
		return -ENOMEM;
	d->run[d->nall] = (struct run){ .side = side };
	ret = agg_init(&a);
	if (!ret)
		ret = agg_add_threads(&a, st, UFT_BY_NONE, 0);
	if (!ret)
		ret = add_nodes(d, &a, &d->run[d->nall]);
	d->side[side].lost += a.lost;
	agg_free(&a);
	if (!ret) {
		d->nall++;
		d->nruns[side]++;
	}
	return ret;
}

const struct agg *uft_diff_side(struct uft_diff *d, int side)
{
	for (int i = 0; i < 2 && !d->is_finished; i++)
		agg_finish(&d->side[i]);
	d->is_finished = 1;
	return &d->side[side];
}

/* ---- Rows ---- */

struct row {
	uint32_t node;
	double self[2], change, noise;	/* means, ns */
	int has_noise;
};

/* The largest distance between two runs of one side. */
static double noise_of(const struct uft_diff *d, uint32_t node)
{
	double noise = 0;

	for (int side = 0; side < 2; side++) {
		double least = INFINITY, most = 0;

		for (uint32_t i = 0; i < d->nall; i++) {
			double self = node < d->run[i].n ? (double)d->run[i].self[node] : 0;

			if (d->run[i].side != side)
				continue;
			least = self < least ? self : least;
			most = self > most ? self : most;
		}
		noise = most - least > noise ? most - least : noise;
	}
	return noise;
}

static int by_change(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	double dx = fabs(x->change), dy = fabs(y->change);

	return dx != dy ? (dx < dy) - (dx > dy) : (x->node > y->node) - (x->node < y->node);
}

static const char *word_of(const struct uft_diff *d, const struct row *r)
{
	uint64_t a = d->side[0].node[r->node].calls, b = d->side[1].node[r->node].calls;

	if (!a || !b)
		return a ? "gone" : "new";
	if (r->has_noise && fabs(r->change) <= r->noise)
		return "noise";
	return r->change > 0 ? "slower" : r->change < 0 ? "faster" : "same";
}

static struct row *make_rows(const struct uft_diff *d, size_t *n)
{
	uint32_t nnodes = d->side[0].nnodes;
	struct row *row = calloc(nnodes + 1, sizeof(*row));

	*n = 0;
	for (uint32_t i = 1; row && i < nnodes; i++) {
		struct row *r = &row[(*n)++];

		r->node = i;
		for (int side = 0; side < 2; side++)
			r->self[side] = d->nruns[side] ? (double)d->side[side].node[i].self / d->nruns[side] : 0;
		r->change = r->self[1] - r->self[0];
		r->has_noise = d->nruns[0] > 1 || d->nruns[1] > 1;
		r->noise = r->has_noise ? noise_of(d, i) : 0;
	}
	if (row)
		qsort(row, *n, sizeof(*row), by_change);
	return row;
}

#define NAMES_MAX	3u	/* of a path in text: people know the rest, or ask for CSV */

/* `main;work;leaf`, malloc'd; @most names at most, 0 all: `...;work;leaf`. In names ; becomes :. */
static char *path_of(const struct agg *a, uint32_t node, uint32_t most)
{
	size_t len = 5;
	uint32_t n = 0;
	char *text, *at;

	for (uint32_t i = node; i; i = a->node[i].parent)
		len += strlen(a->func[a->node[i].func].name) + 1;
	text = malloc(len);
	if (!text)
		return NULL;
	at = text + len - 1;
	*at = 0;
	for (uint32_t i = node; i; i = a->node[i].parent) {
		const char *name = a->func[a->node[i].func].name;

		if (most && n++ == most) {
			at -= 4;
			memcpy(at, "...;", 4);
			break;
		}
		if (i != node)
			*--at = ';';
		at -= strlen(name);
		memcpy(at, name, strlen(name));
		for (char *c = at, *end = at + strlen(name); (c = memchr(c, ';', (size_t)(end - c))); )
			*c = ':';
	}
	memmove(text, at, strlen(at) + 1);
	return text;
}

enum { COL_WORD, COL_CHANGE, COL_SHARE, COL_NOISE, COL_SELF_A, COL_SELF_B, COL_CALLS_A, COL_CALLS_B, COL_P99_A,
	COL_P99_B, COL_TOTAL_A, COL_TOTAL_B,
       COL_PATH, NCOLUMNS };
static const struct table_column columns[NCOLUMNS] = {
	[COL_WORD] = { "what", "what", TABLE_NAME, 7 },
	[COL_CHANGE] = { "change", "change_ns", TABLE_CHANGE, 8 },
	[COL_SHARE] = { "share%", "change_share", TABLE_SHARE, 7 },
	[COL_NOISE] = { "noise", "noise_ns", TABLE_TIME, 7 },
	[COL_SELF_A] = { "self A", "self_a_ns", TABLE_TIME, 7 },
	[COL_SELF_B] = { "self B", "self_b_ns", TABLE_TIME, 7 },
	[COL_CALLS_A] = { "calls A", "calls_a", TABLE_COUNT, 9 },
	[COL_CALLS_B] = { "calls B", "calls_b", TABLE_COUNT, 9 },
	[COL_P99_A] = { NULL, "p99_a_ns", TABLE_TIME, 0 },
	[COL_P99_B] = { NULL, "p99_b_ns", TABLE_TIME, 0 },
	[COL_TOTAL_A] = { NULL, "total_a_ns", TABLE_TIME, 0 },
	[COL_TOTAL_B] = { NULL, "total_b_ns", TABLE_TIME, 0 },
	[COL_PATH] = { "path", "path", TABLE_NAME, 0 },
};

/* The columns that text has room for when it is asked to be wide. */
static void make_columns(struct table_column *to, int is_wide)
{
	static const struct table_column wide[NCOLUMNS] = {
		[COL_P99_A] = { "p99 A", "p99_a_ns", TABLE_TIME, 7 },
		[COL_P99_B] = { "p99 B", "p99_b_ns", TABLE_TIME, 7 },
		[COL_TOTAL_A] = { "total A", "total_a_ns", TABLE_TIME, 8 },
		[COL_TOTAL_B] = { "total B", "total_b_ns", TABLE_TIME, 8 },
	};

	for (int i = 0; i < NCOLUMNS; i++)
		to[i] = is_wide && wide[i].key ? wide[i] : columns[i];
}

/* 0 or -ENOMEM. */
static int put_row(struct table *t, const struct uft_diff *d, const struct row *r, double all)
{
	const struct agg_node *a = &d->side[0].node[r->node], *b = &d->side[1].node[r->node];
	uint64_t na = d->nruns[0] ? d->nruns[0] : 1, nb = d->nruns[1] ? d->nruns[1] : 1;
	char *path = path_of(&d->side[0], r->node, t->form == UFT_FORM_TEXT ? NAMES_MAX : 0);

	if (!path)
		return -ENOMEM;
	table_row(t, (struct table_cell[NCOLUMNS]){
		[COL_WORD] = CELL_NAME(word_of(d, r)), [COL_CHANGE] = CELL_NUMBER(r->change, 1),
		[COL_SHARE] = CELL_NUMBER(all != 0 ? r->change / all : 0, all != 0),
		[COL_NOISE] = CELL_TIME((uint64_t)r->noise, r->has_noise),
		[COL_SELF_A] = CELL_TIME((uint64_t)(r->self[0] + 0.5), a->timed != 0),
		[COL_SELF_B] = CELL_TIME((uint64_t)(r->self[1] + 0.5), b->timed != 0),
		[COL_CALLS_A] = CELL_COUNT(a->calls / na),
		[COL_CALLS_B] = CELL_COUNT(b->calls / nb),
		[COL_P99_A] = CELL_TIME(agg_rank(&d->side[0], a, 99), a->timed != 0),
		[COL_P99_B] = CELL_TIME(agg_rank(&d->side[1], b, 99), b->timed != 0),
		[COL_TOTAL_A] = CELL_TIME(a->total / na, a->timed != 0),
		[COL_TOTAL_B] = CELL_TIME(b->total / nb, b->timed != 0), [COL_PATH] = CELL_NAME(path) },
			0);
	free(path);
	return 0;
}

static void put_summary(FILE *out, const struct uft_diff *d, double a, double b)
{
	char ta[TABLE_TIME_ROOM], tb[TABLE_TIME_ROOM], change[TABLE_TIME_ROOM];

	fprintf(out, "# B took %s, A took %s", table_time(tb, (uint64_t)b), table_time(ta, (uint64_t)a));
	if (a > 0)
		fprintf(out, ": B is %.1f %% %s (%s)", fabs(b / a - 1) * 100, b > a ? "slower" : b < a ? "faster" :
			"slower or faster", table_time(change, (uint64_t)fabs(b - a)));
	fprintf(out, ". Means of %u and %u recordings, traced functions only.\n", d->nruns[0], d->nruns[1]);
	if (d->side[0].lost || d->side[1].lost)
		fprintf(out,
			"# Records are missing: %" PRIu64 " of A, %" PRIu64
			" of B were lost. What is missing looks faster than it was.\n",
			d->side[0].lost, d->side[1].lost);
}

/* Prints notes that the reader of the rows needs. */
static void put_notes(FILE *out, const struct uft_diff *d, size_t nhidden, const struct uft_report_opts *o)
{
	int is_more = 0;

	for (int side = 0; side < 2; side++)
		for (uint32_t i = 1; i < d->side[side].nnodes; i++)
			is_more |= d->side[side].node[i].is_more;
	if (is_more)
		fprintf(out,
			"# there are more than %u paths: the calls of the others are in [more paths] (record fewer functions: -l)\n",
			AGG_NODES);
	if (nhidden && o->limit)
		fprintf(out,
			"# %zu more path%s not shown (--limit %zu; those whose change is less than %g %% of the whole time by --min 0)\n",
			nhidden,
			nhidden == 1 ? " is" : "s are", o->limit, 100 * o->min_share);
	else if (nhidden)
		fprintf(out,
			"# %zu path%s whose change is less than %g %% of the whole time %s not shown (--min 0 shows all)\n",
			nhidden,
			nhidden == 1 ? "" : "s", 100 * o->min_share,
			nhidden == 1 ? "is" : "are");
	if (d->nruns[0] < 2 && d->nruns[1] < 2)
		fputs("# noise is not known of one pair: a change may be one of the machine. Record both again and give all: A B A2 B2\n",
		      out);
}

int uft_diff_print(struct uft_diff *d, FILE *out, const struct uft_report_opts *o)
{
	struct table_column column[NCOLUMNS];
	struct table t = { .out = out, .form = o->form, .width = o->width, .column = column, .ncolumns = NCOLUMNS };
	double whole[2] = { 0, 0 };
	size_t n, nhidden = 0;
	struct row *row = make_rows(d, &n);
	int ret = 0, ended;

	if (!row)
		return -ENOMEM;
	make_columns(column, o->is_wide);
	for (size_t i = 0; i < n; i++)
		for (int side = 0; side < 2; side++)
			whole[side] += row[i].self[side];
	if (o->form == UFT_FORM_TEXT)
		put_summary(out, d, whole[0], whole[1]);
	table_begin(&t, "diff");
	for (size_t i = 0; i < n && !ferror(out) && !ret; i++) {
		double most = whole[0] > whole[1] ? whole[0] : whole[1];

		if ((o->limit && t.nrows >= o->limit) ||
		    (o->min_share > 0 && fabs(row[i].change) < o->min_share * most)) {
			nhidden++;
			continue;
		}
		ret = put_row(&t, d, &row[i], whole[1] - whole[0]);
	}
	free(row);
	ended = table_end(&t);
	ret = ret ? ret : ended;
	if (!ret && o->form == UFT_FORM_TEXT)
		put_notes(out, d, nhidden, o);
	return ret;
}

/* ---- Conditions: METRIC(FUNCTION) OPERATOR LIMIT ---- */

enum metric { M_CALLS, M_TOTAL, M_SELF, M_AVG, M_P50, M_P99, M_MAX, NMETRICS };
static const char *const metrics[NMETRICS] = { "calls", "total", "self", "avg", "p50", "p99", "max" };

struct condition {
	enum metric metric;
	char func[256];
	int is_less, is_equal;
	double limit;
	int is_ratio;			/* to A */
};

static int parse_limit(const char *text, struct condition *c)
{
	static const struct { const char *name; double scale; int is_ratio, is_time; } unit[] = {
		{ "x", 1, 1, 0 }, { "ns", 1, 0, 1 }, { "us", 1e3, 0, 1 }, { "ms", 1e6, 0, 1 }, { "s", 1e9, 0, 1 },
		{ "", 1, 0, 0 },
	};
	char *end;

	c->limit = strtod(text, &end);
	if (end == text || !(c->limit >= 0) || c->limit > 1e18)
		return -EINVAL;
	for (size_t i = 0; i < sizeof(unit) / sizeof(unit[0]); i++)
		if (!strcmp(end, unit[i].name)) {
			c->limit *= unit[i].scale;
			c->is_ratio = unit[i].is_ratio;
			/* calls have no unit, times must have one */
			return unit[i].is_ratio || unit[i].is_time == (c->metric != M_CALLS) ? 0 : -EINVAL;
		}
	return -EINVAL;
}

static int parse_condition(const char *text, struct condition *c)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')'), *at;
	size_t len;

	*c = (struct condition){ .metric = NMETRICS };
	if (!open || !close || close <= open + 1 || (len = (size_t)(close - open - 1)) >= sizeof(c->func))
		return -EINVAL;
	for (int i = 0; i < NMETRICS; i++)
		if (strlen(metrics[i]) == (size_t)(open - text) && !strncmp(text, metrics[i], strlen(metrics[i])))
			c->metric = (enum metric)i;
	memcpy(c->func, open + 1, len);
	at = close + 1;
	at += strspn(at, " ");
	if (c->metric == NMETRICS || (*at != '>' && *at != '<'))
		return -EINVAL;
	c->is_less = *at++ == '<';
	c->is_equal = *at == '=';
	at += c->is_equal;
	return parse_limit(at + strspn(at, " "), c);
}

static double value_of(const struct agg *a, const struct agg_node *n, enum metric m, uint32_t nruns)
{
	switch (m) {
	case M_CALLS: return (double)n->calls / nruns;
	case M_TOTAL: return (double)n->total / nruns;
	case M_SELF: return (double)n->self / nruns;
	case M_AVG: return n->timed ? (double)n->sum / (double)n->timed : 0;
	case M_P50: return (double)agg_rank(a, n, 50);
	case M_P99: return (double)agg_rank(a, n, 99);
	default: return (double)n->max;
	}
}

static void put_value(char *buf, size_t size, enum metric m, double v)
{
	char time[TABLE_TIME_ROOM];

	snprintf(buf, size, "%s", m == M_CALLS ? "" : table_time(time, (uint64_t)v));
	if (m == M_CALLS)
		snprintf(buf, size, "%g", v);
}

/* One function of both sides. */
static int check_one(const struct condition *c, const char *text, const char *name, double a, double b, FILE *out)
{
	double limit = c->is_ratio ? c->limit * a : c->limit;
	int holds = c->is_less ? b < limit : b > limit;
	char ta[TABLE_TIME_ROOM], tb[TABLE_TIME_ROOM];

	holds |= c->is_equal && b == limit;
	put_value(ta, sizeof(ta), c->metric, a);
	put_value(tb, sizeof(tb), c->metric, b);
	fprintf(out, "# %s: %s(%s) is %s in B, %s in A", holds ? "FAIL" : "ok", metrics[c->metric], name, tb, ta);
	if (a > 0)
		fprintf(out, " (%.2fx)", b / a);
	fprintf(out, "; condition: %s\n", text);
	return holds;
}

int uft_diff_is_condition(const char *text)
{
	struct condition c;

	return parse_condition(text, &c) == 0;
}

int uft_diff_check(struct uft_diff *d, const char *text, FILE *out)
{
	struct condition c;
	struct agg flat[2];
	int ret = parse_condition(text, &c), nmatched = 0, holds = 0;

	if (ret)
		return ret;
	for (int i = 0; i < 2; i++)
		ret = agg_init(&flat[i]) < 0 || ret < 0 ? -ENOMEM : 0;
	for (int i = 0; i < 2 && !ret; i++)
		ret = agg_flatten(&flat[i], uft_diff_side(d, i), c.func);
	for (uint32_t i = 1; !ret && i < flat[0].nnodes; i++) {
		const struct agg_func *f = &flat[0].func[flat[0].node[i].func];
		uint32_t func = agg_func_get(&flat[1], f->key, f->name, f->object),
			 other = func == UINT32_MAX ? func : agg_child(&flat[1], 0, func);

		if (other == UINT32_MAX) {
			ret = -ENOMEM;
			break;
		}
		nmatched++;
		holds |= check_one(&c, text, f->name, value_of(&flat[0], &flat[0].node[i], c.metric, d->nruns[0]),
				   value_of(&flat[1], &flat[1].node[other], c.metric, d->nruns[1]), out);
	}
	agg_free(&flat[0]);
	agg_free(&flat[1]);
	return ret ? ret : nmatched ? holds : -ENOENT;
}
