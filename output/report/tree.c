/* SPDX-License-Identifier: MIT */
/*
 * tree.c - the call tree and the views made of it: callers, callees, flat by group, histogram
 *
 * The stream is added up by path once (aggregate.h). The tree prints these sums as they are; the other views make a
 * second tree of them:
 *
 *	callees F	all calls of F as one root, their callees below it; F within F belongs to the outer one
 *	callers F	F as the root, below it its callers, theirs below them: times and calls are those of F
 *	flat		in each group a node for each function, whose total is that of its outermost calls
 *
 * Text leaves out rows below min_share of all and tells how much that is; JSON and CSV leave out rows only if the user
 * asks for it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "output/report/aggregate.h"
#include "output/report/table.h"
#include "symbol/array.h"
#include "symbol/clean.h"
#include "symbol/names.h"
#include "symbol/text_file.h"

#define CALLERS_DEPTH	64u	/* callers of callers that are kept */

/* ---- Which functions ---- */

/* A byte for each function of @a: 1: @text matches it. NULL: no memory, or *ret is -EINVAL or -ENOENT. */
static uint8_t *match_funcs(const struct agg *a, const char *text, int *ret)
{
	uint8_t *match = calloc(a->nfuncs + 1, 1);
	struct uft_pattern p;
	size_t n = 0;

	*ret = match ? uft_pattern_parse(text, &p) : -ENOMEM;
	if (*ret < 0) {
		free(match);
		return NULL;
	}
	for (uint32_t i = 0; i < a->nfuncs; i++) {
		const struct agg_func *f = &a->func[i];
		const char *key = f->key + (f->key[0] == AGG_INLINED);
		char *demangled = uft_demangle(key);

		match[i] = f->key[0] != '\001' &&
			   (uft_pattern_match(&p, key, demangled ? demangled : f->name, f->object) ||
			    !strcmp(f->name, text));
		n += match[i];
		free(demangled);
	}
	uft_pattern_free(&p);
	if (n)
		return match;
	*ret = -ENOENT;
	free(match);
	return NULL;
}

/* ---- Walking: each node before its children, with how many calls of its function it is within ---- */

struct walk {
	const struct agg *a;
	uint32_t at, depth;		/* at: 0 before the first */
	uint32_t *nopen;		/* by function */
};

static int walk_begin(struct walk *w, const struct agg *a)
{
	*w = (struct walk){ .a = a, .nopen = calloc(a->nfuncs + 1, sizeof(*w->nopen)) };
	return w->nopen ? 0 : -ENOMEM;
}

/* The next node; 0: the end. @skip: leave out the nodes below the last one. */
static uint32_t walk_next(struct walk *w, int skip)
{
	const struct agg_node *node = w->a->node;
	uint32_t i = w->at;

	if (node[i].child && !skip) {
		w->depth++;
		w->at = node[i].child;
		w->nopen[node[w->at].func]++;
		return w->at;
	}
	for (; i; i = node[i].parent, w->depth--) {
		w->nopen[node[i].func]--;
		if (node[i].next) {
			w->at = node[i].next;
			w->nopen[node[w->at].func]++;
			return w->at;
		}
	}
	return w->at = 0;
}

static int walk_is_outer(const struct walk *w)
{
	return w->nopen[w->a->node[w->at].func] == 1;
}

static void walk_end(struct walk *w)
{
	free(w->nopen);
}

/* ---- Second trees ---- */

static uint32_t func_in(struct agg *to, const struct agg *a, uint32_t func)
{
	const struct agg_func *f = &a->func[func];
	uint32_t made = agg_func_get(to, f->key, f->name, f->object);

	if (made != UINT32_MAX && f->file && !to->func[made].file) {
		to->func[made].file = strdup(f->file);
		to->func[made].line = f->line;
	}
	return made;
}

/* The node of @up's function below *parent, with the times of @i. */
static int merge_caller(struct agg *to, uint32_t *parent, const struct agg *a, uint32_t up, uint32_t i, int is_outer)
{
	uint32_t func = func_in(to, a, a->node[up].func), at = func == UINT32_MAX ? func : agg_child(to, *parent, func);

	if (at == UINT32_MAX)
		return -ENOMEM;
	*parent = at;
	return agg_merge(to, at, a, &a->node[i], is_outer);
}

static int merge_below(struct agg *to, uint32_t *parent, const struct agg *a, uint32_t i, int is_outer)
{
	int ret = merge_caller(to, parent, a, i, i, is_outer);

	if (ret)
		return ret;
	to->node[*parent].is_group = a->node[i].is_group;
	to->node[*parent].is_inlined = a->node[i].is_inlined;
	return 0;
}

static int make_callees(struct agg *to, const struct agg *a, const uint8_t *match)
{
	uint32_t *place = calloc(a->nnodes, sizeof(*place));
	int ret = place ? 0 : -ENOMEM;

	for (uint32_t i = 1; i < a->nnodes && !ret; i++) {
		uint32_t at = place[a->node[i].parent];

		if (!at && !match[a->node[i].func])
			continue;
		ret = merge_below(to, &at, a, i, 1);
		place[i] = at;
	}
	free(place);
	return ret;
}

static int make_callers(struct agg *to, const struct agg *a, const uint8_t *match)
{
	struct walk w;
	int ret = walk_begin(&w, a);

	while (!ret && walk_next(&w, 0)) {
		uint32_t up = w.at, parent = 0;

		if (!match[a->node[w.at].func])
			continue;
		for (unsigned depth = 0; up && depth < CALLERS_DEPTH && !ret; depth++, up = a->node[up].parent)
			ret = merge_caller(to, &parent, a, up, w.at, walk_is_outer(&w));
	}
	walk_end(&w);
	return ret;
}

static int make_flat(struct agg *to, const struct agg *a, const uint8_t *match)
{
	struct walk w;
	uint32_t group = 0, func;
	int ret = walk_begin(&w, a);

	while (!ret && walk_next(&w, 0)) {
		const struct agg_node *n = &a->node[w.at];
		uint32_t parent = group;

		if (match && !match[n->func])
			continue;
		if (!n->is_group) {
			ret = merge_below(to, &parent, a, w.at, walk_is_outer(&w));
			continue;
		}
		func = func_in(to, a, n->func);
		group = func == UINT32_MAX ? func : agg_child(to, 0, func);
		if (group == UINT32_MAX) {
			ret = -ENOMEM;
			break;
		}
		to->node[group].is_group = AGG_GROUP_SUMMED;
		to->node[group].total = n->total;
		to->node[group].all_blocked = n->all_blocked;
		to->node[group].all_runnable = n->all_runnable;
		to->node[group].calls = n->calls;
	}
	walk_end(&w);
	return ret;
}

int agg_flatten(struct agg *to, const struct agg *a, const char *func)
{
	int ret;
	uint8_t *match = match_funcs(a, func, &ret);

	if (!ret)
		ret = make_flat(to, a, match);
	free(match);
	return ret == -ENOENT ? 0 : ret;
}

/* ---- The table ---- */

enum { COL_TOTAL, COL_SHARE, COL_BLOCKED, COL_RUNNABLE, COL_SELF, COL_SELF_BLOCKED, COL_SELF_RUNNABLE, COL_CALLS,
	COL_AVG, COL_P50, COL_P99, COL_MAX, COL_MIN, COL_OPEN, COL_DEPTH, COL_PATH, COL_FILE, COL_LINE, COL_NAME,
	NCOLUMNS };
static const struct table_column columns[NCOLUMNS] = {
	[COL_TOTAL] = { "total", "total_ns", TABLE_TIME, 7 },
	[COL_SHARE] = { "total%", "total_share", TABLE_SHARE, 7 },
	[COL_BLOCKED] = { "blocked", "blocked_ns", TABLE_TIME, 8 },
	[COL_RUNNABLE] = { "ready", "runnable_ns", TABLE_TIME, 7 },
	[COL_SELF] = { "self", "self_ns", TABLE_TIME, 7 },
	[COL_SELF_BLOCKED] = { NULL, "self_blocked_ns", TABLE_TIME, 0 },
	[COL_SELF_RUNNABLE] = { NULL, "self_runnable_ns", TABLE_TIME, 0 },
	[COL_CALLS] = { "calls", "calls", TABLE_COUNT, 9 },
	[COL_AVG] = { "avg", "avg_ns", TABLE_TIME, 7 },
	[COL_P50] = { "p50", "p50_ns", TABLE_TIME, 7 },
	[COL_P99] = { "p99", "p99_ns", TABLE_TIME, 7 },
	[COL_MAX] = { NULL, "max_ns", TABLE_TIME, 0 },
	[COL_MIN] = { NULL, "min_ns", TABLE_TIME, 0 },
	[COL_OPEN] = { NULL, "open", TABLE_COUNT, 0 },
	[COL_DEPTH] = { NULL, "depth", TABLE_COUNT, 0 },
	[COL_PATH] = { NULL, "path", TABLE_NAME, 0 },
	[COL_FILE] = { NULL, "file", TABLE_NAME, 0 },
	[COL_LINE] = { NULL, "line", TABLE_COUNT, 0 },
	[COL_NAME] = { "function", "function", TABLE_NAME, 0 },
};

/*
 * Removes from a row of cells or columns those that the recording lacks or the user did not ask for. Returns how many
 * are left.
 */
struct columns { int has_switches, has_lines; };

static size_t without(char *p, size_t size, size_t n, size_t first, size_t last)
{
	memmove(p + first * size, p + (last + 1) * size, (n - last - 1) * size);
	return n - (last - first + 1);
}

static size_t without_unused(void *list, size_t size, const struct columns *c)
{
	size_t n = NCOLUMNS;

	if (!c->has_lines)
		n = without(list, size, n, COL_FILE, COL_LINE);
	if (!c->has_switches) {
		n = without(list, size, n, COL_SELF_BLOCKED, COL_SELF_RUNNABLE);
		n = without(list, size, n, COL_BLOCKED, COL_RUNNABLE);
	}
	return n;
}

struct path { char *text; size_t *end; size_t cap, ncap; };	/* end: length of the path down to each depth */

static int path_put(struct path *p, uint32_t depth, const char *name)
{
	size_t start = depth > 1 ? p->end[depth - 1] : 0, len = strlen(name);

	if (array_reserve(p->end, p->ncap, depth + 1) || array_reserve(p->text, p->cap, start + len + 2))
		return -ENOMEM;
	if (start)
		p->text[start++] = ';';
	memcpy(p->text + start, name, len + 1);
	for (char *at = p->text + start; (at = strchr(at, ';')); )
		*at = ':';
	p->end[depth] = start + len;
	return 0;
}

/* In text: the name, remarks on its calls, and its source line. NULL: no memory. */
static char *name_in_text(const struct agg_func *f, const struct agg_node *n, int has_lines)
{
	const char *file = has_lines && f->file ? uft_base_name(f->file) : NULL;
	char open[40] = "", line[16] = "", *text;

	if (n->nopen)
		snprintf(open, sizeof(open), " (%" PRIu64 " open)", n->nopen);
	if (file && f->line)
		snprintf(line, sizeof(line), ":%" PRIu32, f->line);
	if (asprintf(&text, "%s%s%s%s%s", f->name, open, file ? "  " : "", file ? file : "", line) < 0)
		return NULL;
	return text;
}

static void put_row(struct table *t, const struct columns *c, const struct agg *a, const struct walk *w, double all,
		    const char *path)
{
	const struct agg_node *n = &a->node[w->at];
	const struct agg_func *f = &a->func[n->func];
	int has_times = n->timed != 0 || n->is_group || n->is_inlined, has_ranks = n->timed != 0;
	char *text = t->form == UFT_FORM_TEXT && (n->nopen || f->file) ? name_in_text(f, n, c->has_lines) : NULL;
	struct table_cell cell[NCOLUMNS] = {
		[COL_BLOCKED] = CELL_TIME(n->all_blocked, has_times),
		[COL_RUNNABLE] = CELL_TIME(n->all_runnable, has_times),
		[COL_SELF_BLOCKED] = CELL_TIME(n->blocked, has_ranks),
		[COL_SELF_RUNNABLE] = CELL_TIME(n->runnable, has_ranks),
		[COL_TOTAL] = CELL_TIME(n->total, has_times),
		[COL_SHARE] = CELL_NUMBER(all > 0 ? (double)n->total / all : 0, has_times),
		[COL_SELF] = CELL_TIME(n->self, has_ranks), [COL_CALLS] = CELL_TIME(n->calls, !n->is_inlined),
		[COL_AVG] = CELL_TIME(n->timed ? (n->sum + n->timed / 2) / n->timed : 0, has_ranks),
		[COL_P50] = CELL_TIME(agg_rank(a, n, 50), has_ranks),
		[COL_P99] = CELL_TIME(agg_rank(a, n, 99), has_ranks),
		[COL_MAX] = CELL_TIME(n->max, has_ranks), [COL_MIN] = CELL_TIME(n->min, has_ranks),
		[COL_OPEN] = CELL_COUNT(n->nopen),
		[COL_DEPTH] = CELL_COUNT(w->depth - 1), [COL_PATH] = CELL_NAME(path),
		[COL_NAME] = CELL_NAME(text ? text : f->name),
		[COL_FILE] = { .is_known = f->file != NULL, .s = f->file },
		[COL_LINE] = CELL_TIME(f->line, f->line != 0) };

	without_unused(cell, sizeof(cell[0]), c);
	table_row(t, cell, w->depth < 32 ? 2 * (w->depth - 1) : 62);
	free(text);
}

/* Prints a note on the figures, if @n is not 0. */
static void put_note(FILE *out, uint64_t n, const char *one, const char *many)
{
	if (n)
		fprintf(out, "# %" PRIu64 " %s\n", n, n == 1 ? one : many);
}

static void put_notes(FILE *out, const struct agg *a, uint64_t nhidden, const struct uft_report_opts *o, int is_part)
{
	uint64_t nopen = 0, nmore = 0;

	for (uint32_t i = 1; i < a->nnodes; i++) {
		nopen += a->node[i].nopen;
		nmore += a->node[i].is_more;
	}
	if (nmore)
		fprintf(out,
			"# there are more than %u paths: the calls of the others are in [more paths] (--func and --range make fewer)\n",
			AGG_NODES << a->may_be_flat);
	if (nhidden)
		fprintf(out,
			"# %" PRIu64 " %s with less than %g %% of the time%s%s %s not shown (--min 0%s shows all)\n",
			nhidden,
			o->limit ? nhidden == 1 ? "row beyond --limit or" : "rows beyond --limit or" : nhidden == 1 ?
			"path" : "paths", 100 * o->min_share, is_part ? " of these functions" : "",
			o->limit && !o->depth ? "" : " or deeper than asked for", nhidden == 1 ? "is" : "are",
			o->limit ? " without --limit" : "");
	put_note(out, nopen,
		 "call had not returned when its process or the recording ended: it counts up to the last record",
		 "calls had not returned when their process or the recording ended: they count up to its last record");
	put_note(out, a->unknown, "call has no known duration, as its entry or return was not recorded",
		 "calls have no known duration, as their entry or return was not recorded");
	put_note(out, a->lost, "record was lost: calls and times of this recording are too small",
		 "records were lost: calls and times of this recording are too small");
	if (a->has_thresh)
		fputs("# short calls were not recorded (--thresh), and entries neither: callers are not known\n", out);
}

/* Counts the nodes below @top. */
static uint64_t count_below(const struct agg *a, uint32_t top)
{
	uint64_t n = 0;

	for (uint32_t i = a->node[top].child; i;) {
		n++;
		if (a->node[i].child) {
			i = a->node[i].child;
			continue;
		}
		while (i != top && !a->node[i].next)
			i = a->node[i].parent;
		i = i == top ? 0 : a->node[i].next;
	}
	return n;
}

/* The time of all outermost rows. */
static double outermost(const struct agg *a)
{
	double sum = 0;

	for (uint32_t i = a->node[0].child; i; i = a->node[i].next)
		sum += (double)a->node[i].total;
	return sum;
}

/*
 * @all: the whole time, the base of shares. @is_part: the rows are callers or callees; a row is left out for a small
 * share of their time, however small their own share of the whole is.
 */
static int print_tree(const struct agg *a, const struct agg *notes, FILE *out, const char *report,
		      const struct uft_report_opts *o, double all, int is_part)
{
	double least = o->min_share * (is_part ? outermost(a) : all);
	struct table_column shown[NCOLUMNS];
	struct columns used = { notes->has_switches, o->has_lines };
	struct table t = { .out = out, .form = o->form, .width = o->width, .column = shown, .ncolumns = NCOLUMNS };
	struct path path = { NULL, NULL, 0, 0 };
	struct walk w;
	uint64_t nhidden = 0;
	int skip = 0, ret = walk_begin(&w, a);

	memcpy(shown, columns, sizeof(shown));
	t.ncolumns = without_unused(shown, sizeof(shown[0]), &used);
	if (!ret)
		table_begin(&t, report);
	while (!ret && walk_next(&w, skip) && !ferror(out)) {
		const struct agg_node *n = &a->node[w.at];

		skip = (double)n->total < least || (o->depth && w.depth > o->depth) ||
		       (o->limit && t.nrows >= o->limit);
		if (skip) {
			nhidden += 1 + count_below(a, w.at);
			continue;
		}
		ret = path_put(&path, w.depth, a->func[n->func].name);
		if (!ret)
			put_row(&t, &used, a, &w, all, path.text);
	}
	walk_end(&w);
	free(path.text);
	free(path.end);
	if (ret)
		return ret;
	ret = table_end(&t);
	if (!ret && o->form == UFT_FORM_TEXT)
		put_notes(out, notes, nhidden, o, is_part);
	return ret;
}

/* ---- The histogram ---- */

struct bars { struct table t; uint64_t all; uint64_t octave[65]; };

static void put_bucket(void *ctx, uint64_t from, uint64_t to, uint64_t calls)
{
	struct bars *b = ctx;
	double share = (double)calls / (double)b->all;

	if (b->t.form == UFT_FORM_TEXT)
		b->octave[from ? 63 - __builtin_clzll(from) : 0] += calls;
	else
		table_row(&b->t, (struct table_cell[]){ CELL_TIME(from, 1), CELL_TIME(to, 1), CELL_COUNT(calls),
			CELL_NUMBER(share, 1), CELL_NAME("") }, 0);
}

#define BAR	40

static int print_histogram(const struct agg *a, FILE *out, const struct uft_report_opts *o)
{
	static const struct table_column bucket[] = {
		{ "from", "from_ns", TABLE_TIME, 9 }, { "to", "to_ns", TABLE_TIME, 8 },
		{ "calls", "calls", TABLE_COUNT, 12 },
		{ "calls%", "calls_share", TABLE_SHARE, 8 }, { "", "", TABLE_NAME, 0 },
	};
	/* One function after the other; in JSON and CSV all that match are one. */
	struct bars b =
		{ .t = { .out = out, .form = o->form, .column = bucket, .ncolumns = o->form == UFT_FORM_TEXT ? 5 :
			4 } };
	int ret = 0;

	if (o->form != UFT_FORM_TEXT) {
		const struct agg_node *n = a->nnodes > 1 ? &a->node[1] : &a->node[0];

		b.all = n->timed;
		table_begin(&b.t, "histogram");
		agg_each_bucket(a, n, put_bucket, &b);
		return table_end(&b.t);
	}
	for (uint32_t i = a->node[0].child; i && !ret; i = a->node[i].next) {
		const struct agg_node *n = &a->node[i];
		char p50[TABLE_TIME_ROOM], p99[TABLE_TIME_ROOM], max[TABLE_TIME_ROOM], min[TABLE_TIME_ROOM],
			bar[BAR + 1];
		uint64_t most = 1;

		memset(b.octave, 0, sizeof(b.octave));
		b.all = n->timed;
		agg_each_bucket(a, n, put_bucket, &b);
		fprintf(out, "%s# %s: %" PRIu64 " call%s, min %s, p50 %s, p99 %s, max %s\n",
			i == a->node[0].child ? "" : "\n", a->func[n->func].name, n->calls, n->calls == 1 ? "" : "s",
			table_time(min, n->timed ? n->min : 0), table_time(p50, n->timed ? agg_rank(a, n, 50) : 0),
			table_time(p99, n->timed ? agg_rank(a, n, 99) : 0), table_time(max, n->max));
		table_begin(&b.t, "histogram");
		for (unsigned k = 0; k < 64; k++)
			most = b.octave[k] > most ? b.octave[k] : most;
		for (unsigned k = 0; k < 64; k++) {
			unsigned len = (unsigned)((double)b.octave[k] / (double)most * BAR + 0.5);

			if (!b.octave[k])
				continue;
			memset(bar, '*', len);
			bar[len] = 0;
			table_row(&b.t,
				  (struct table_cell[]){ CELL_TIME(k ? 1ull << k : 0, 1), CELL_TIME((2ull << k) - 1, 1),
				  CELL_COUNT(b.octave[k]),
							       CELL_NUMBER((double)b.octave[k] / (double)b.all, 1),
							       CELL_NAME(bar) }, 0);
		}
		ret = table_end(&b.t);
	}
	return ret;
}

/* ---- The views ---- */

static int make_view(struct agg *to, const struct agg *a, enum uft_tree_view view, const char *func)
{
	uint8_t *match = NULL;
	int ret = 0;

	if (view != UFT_VIEW_FLAT)
		match = match_funcs(a, func, &ret);
	if (ret)
		return ret;
	ret = view == UFT_VIEW_FLAT ? make_flat(to, a, NULL) : view == UFT_VIEW_CALLERS ? make_callers(to, a, match) :
	      view == UFT_VIEW_CALLEES ? make_callees(to, a, match) : make_flat(to, a, match);
	free(match);
	if (!ret)
		agg_finish(to);
	return ret;
}

/* Missing debug information, for the end of a text. */
struct source_notes { FILE *f; char *text; size_t n; };

static void add_note(void *ctx, const char *object, const char *why)
{
	struct source_notes *notes = ctx;

	fputs("# no source lines of ", notes->f);
	uft_put_clean(notes->f, object);
	fprintf(notes->f, ": %s\n", why);
}

/* @made: the tree that is shown; @whole gets the inlined functions before @made is made of it. */
static int make_shown(struct agg *whole, struct agg *made, enum uft_tree_view view, const struct uft_report_opts *o,
		      struct source_notes *notes)
{
	struct agg_source source = { .note = add_note, .ctx = notes, .err = o->err }, silent = { .err = o->err };
	int ret = 0;

	notes->f = open_memstream(&notes->text, &notes->n);
	if (!notes->f)
		return -ENOMEM;
	if (o->has_inlines)
		ret = agg_find_inlined(whole, &source);
	if (!ret && o->has_lines)
		ret = agg_find_source(whole, o->has_inlines ? &silent : &source);
	ret = text_file_close(notes->f, &notes->text) && !ret ? -ENOMEM : ret;
	return ret || view == UFT_VIEW_TREE ? ret : make_view(made, whole, view, o->func);
}

int uft_output_tree(struct uft_stream *st, FILE *out, enum uft_tree_view view, const struct uft_report_opts *o)
{
	static const char *const name[] = {
		[UFT_VIEW_TREE] = "tree", [UFT_VIEW_CALLERS] = "callers", [UFT_VIEW_CALLEES] = "callees",
		[UFT_VIEW_FLAT] = "flat",
		[UFT_VIEW_HISTOGRAM] = "histogram",
	};
	struct source_notes notes = { 0 };
	struct agg whole, made = { 0 };
	int ret = agg_init(&whole);

	if (!ret && view != UFT_VIEW_TREE)
		ret = agg_init(&made);
	if (!ret)
		whole.may_be_flat = (view == UFT_VIEW_FLAT || view == UFT_VIEW_HISTOGRAM) && !o->has_inlines;
	if (!ret)
		ret = agg_add_threads(&whole, st, view == UFT_VIEW_TREE || view == UFT_VIEW_FLAT ? o->by : UFT_BY_NONE,
				      o->threads);
	if (!ret) {
		agg_finish(&whole);
		ret = make_shown(&whole, &made, view, o, &notes);
	}
	if (!ret)
		ret = view == UFT_VIEW_HISTOGRAM ? print_histogram(&made, out, o) :
		      print_tree(view == UFT_VIEW_TREE ? &whole : &made, &whole, out, name[view], o,
				 (double)whole.node[0].total, view == UFT_VIEW_CALLERS || view == UFT_VIEW_CALLEES);
	if (!ret && o->form == UFT_FORM_TEXT && notes.text)
		fputs(notes.text, out);
	free(notes.text);
	agg_free(&made);
	agg_free(&whole);
	return ret;
}
