/* SPDX-License-Identifier: MIT */
/*
 * top.c - uft top: show repeatedly how often functions of running processes are called, and how long they take
 *
 * The command has a session of its own with the tracer profile: the runtime adds up calls and times of each function in
 * shared memory, without records or a file. Each refresh shows the difference of two readings of these sums. A call
 * that is added during a reading is in this refresh or in the next. Sums of ended processes are kept. A target can
 * write any value into its sums: they are copied, and used only as numbers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/screen.h"
#include "cmd/symbols.h"
#include "cmd/targets.h"
#include "control/session.h"
#include "output/report/table.h"
#include "stream/wire/clock.h"
#include "symbol/array.h"
#include "symbol/hash_index.h"
#include "symbol/keyed_hash.h"
#include "symbol/now.h"
#include "symbol/text_file.h"

#define POLL_MS		50
#define ROWS_DEFAULT	40u		/* where the output is no terminal */

struct top_opts {
	struct cmd_list filter, notrace;
	uint64_t delay_ns;
	uint32_t count, limit;
	int sort, json, csv;
};

enum top_sort { SORT_SELF, SORT_TOTAL, SORT_CALLS, SORT_AVG, SORT_MAX, SORT_NAME, NSORTS };
static const char *const sort_names[] = { [SORT_SELF] = "self", [SORT_TOTAL] = "total", [SORT_CALLS] = "calls",
	[SORT_AVG] = "avg",
					  [SORT_MAX] = "max", [SORT_NAME] = "name", NULL };

#define F(field) offsetof(struct top_opts, field)
static const struct cmd_option top_options[] = {
	{ "filter", 'l', "GLOB", "show only these functions; may be repeated", cmd_strings, F(filter), NULL },
	{ "notrace", 0, "GLOB", "do not show these functions; may be repeated", cmd_strings, F(notrace), NULL },
	{ "delay", 'd', "SECONDS", "refresh this often; default 1", cmd_time_s, F(delay_ns), NULL },
	{ "iterations", 'n', "N", "refresh N times, then end", cmd_uint, F(count), NULL },
	{ "sort", 's', "KEY", "sort rows by KEY; default: self", cmd_choice, F(sort), sort_names },
	{ "limit", 0, "N", "print at most N rows; default: what the terminal holds, or 40", cmd_uint, F(limit), NULL },
	{ "json", 0, NULL, "print each refresh as a JSON table", cmd_flag, F(json), NULL },
	{ "csv", 0, NULL, "print each refresh as a CSV table", cmd_flag, F(csv), NULL },
	CMD_DEMANGLE_OPTION,
	{ 0 }
};
#undef F

static const struct cmd_syntax top_syntax = {
	"top", "[OPTIONS] PID|NAME|CGROUP...",
	"Show which functions of running processes are called how often and how long they take, until q or Ctrl-C.",
	top_options, 0
};

/* ---- Sums ---- */

struct sums { uint64_t hits, total, self, max; };	/* times in units of the rings' clock */

struct row {
	char *name;
	struct sums now, before, done;	/* since the start; at the last refresh; of processes that ended */
};

struct slice { const struct uft_image *img; struct uft_resolver *names; uint32_t *row_of; uint32_t nrow_of; };

struct top {
	const struct top_opts *opts;
	struct uft_session *session;
	struct slice *slice;		/* of the arena */
	struct row *row;
	uint32_t nrows, cap_rows;
	struct hash_index by_name;	/* of row */
	struct uft_clock_pair begin, last;
	int sort, is_live;		/* live: a terminal, which is redrawn */
	int error;
};

/* The row of that name, NULL without memory. */
static struct row *row_named(struct top *t, const char *name)
{
	const uint64_t hash = hash_text(name);
	uint32_t found = HASH_FIND(i, &t->by_name, hash, !strcmp(t->row[i].name, name));

	if (found != HASH_NONE)
		return &t->row[found];
	if (array_reserve(t->row, t->cap_rows, t->nrows + 1) || hash_index_reserve(&t->by_name, t->nrows + 1))
		return NULL;
	t->row[t->nrows] = (struct row){ .name = strdup(name) };
	if (!t->row[t->nrows].name)
		return NULL;
	hash_index_add(&t->by_name, hash, t->nrows);
	return &t->row[t->nrows++];
}

static struct row *row_of(struct top *t, struct slice *s, uint32_t id)
{
	const struct uft_sym *sym = uft_resolve_id(s->names, s->img, id);
	struct row *row;

	if (sym->index < s->nrow_of && s->row_of[sym->index])
		return &t->row[s->row_of[sym->index] - 1];
	if (array_reach(s->row_of, s->nrow_of, sym->index))
		return NULL;
	row = row_named(t, sym->name);
	if (row)
		s->row_of[sym->index] = (uint32_t)(row - t->row) + 1;
	return row;
}

static void add(struct sums *to, const struct uft_profile *p)
{
	to->hits += p->hits;
	to->total += p->total;
	to->self += p->self;
	to->max = p->max > to->max ? p->max : to->max;
}

struct collecting { struct top *t; struct slice *s; int is_done; };

/* A call may have begun on another CPU. */
static int collect_sum(void *arg, uint32_t id, uint32_t block, const struct uft_profile *p)
{
	const struct collecting *c = arg;
	struct row *row = row_of(c->t, c->s, id);

	(void)block;
	if (!row)
		return -ENOMEM;
	add(c->is_done ? &row->done : &row->now, p);
	return 0;
}

/* Adds what a process has by now to `now`, or to `done`. */
static int collect(struct top *t, uint32_t slice, int is_done)
{
	struct collecting c = { .t = t, .s = &t->slice[slice], .is_done = is_done };
	const struct uft_image *img = c.s->img;
	struct uft_slice_file f;
	int ret = uft_slice_open(t->session, slice, &f);

	if (ret)
		return ret;
	for (uint32_t i = 0; i < img->nobj && !ret; i++) {
		/* loads names once; a function without a name is shown by its address */
		uft_object_names(img->obj[i].obj, NULL);
		ret = uft_slice_sums(t->session, &f, img->obj[i].first_stub_id, img->obj[i].nstubs, collect_sum, &c);
	}
	uft_slice_close(&f);
	return ret;
}

static void on_slice_begin(void *arg, uint32_t slice, pid_t pid, pid_t ppid, const struct uft_image *img)
{
	struct top *t = arg;
	struct slice *s;

	(void)pid, (void)ppid;
	if (!t->slice || slice >= uft_session_arena(t->session)->nslices)
		return;
	s = &t->slice[slice];
	s->img = img;
	s->names = uft_resolver_alloc();
	if (!s->names) {
		t->error = -ENOMEM;
		s->img = NULL;
	}
}

static void forget_slice(struct slice *s)
{
	uft_resolver_free(s->names);
	free(s->row_of);
	*s = (struct slice){ 0 };
}

static void on_slice_end(void *arg, uint32_t slice, pid_t pid)
{
	struct top *t = arg;

	(void)pid;
	if (!t->slice || slice >= uft_session_arena(t->session)->nslices || !t->slice[slice].img)
		return;
	if (collect(t, slice, 1) < 0)
		t->error = -ENOMEM;
	forget_slice(&t->slice[slice]);
}

static void on_warning(void *arg, const char *text)
{
	(void)arg;
	fprintf(stderr, "uft top: warning: %s\n", text);
}

static int read_sums(struct top *t)
{
	int ret = t->error;

	for (uint32_t i = 0; i < t->nrows; i++) {
		t->row[i].before = t->row[i].now;
		t->row[i].now = t->row[i].done;
	}
	for (uint32_t i = 0; i < uft_session_arena(t->session)->nslices && !ret; i++)
		if (t->slice[i].img)
			ret = collect(t, i, 0);
	return ret;
}

/* ---- A refresh ---- */

/* Of one function between two readings. */
struct line { const char *name; uint64_t hits; double total_ns, self_ns, avg_ns, max_ns; };

static int line_order;		/* enum top_sort, of compare() */

static int compare(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	double v[NSORTS] = { [SORT_SELF] = x->self_ns - y->self_ns, [SORT_TOTAL] = x->total_ns - y->total_ns,
		[SORT_CALLS] = (double)x->hits - (double)y->hits,
			     [SORT_AVG] = x->avg_ns - y->avg_ns, [SORT_MAX] = x->max_ns - y->max_ns };

	if (v[line_order] != 0)
		return v[line_order] > 0 ? -1 : 1;
	return strcmp(x->name, y->name);
}

static const struct table_column columns[] = {
	{ "calls/s", "calls_per_s", TABLE_COUNT, 11 }, { NULL, "calls", TABLE_COUNT, 0 },
	{ "total", "total_ns", TABLE_TIME, 8 },
	{ "self", "self_ns", TABLE_TIME, 8 }, { "self%", "self_share", TABLE_SHARE, 7 },
	{ "avg", "avg_ns", TABLE_TIME, 8 },
	{ "max", "max_ns", TABLE_TIME, 8 }, { "function", "function", TABLE_NAME, 0 },
};
#define NCOLUMNS	(sizeof(columns) / sizeof(columns[0]))

static void print_lines(struct top *t, FILE *out, const struct line *line, size_t n, double seconds, size_t limit)
{
	struct table table = { .out = out, .form = t->opts->json ? UFT_FORM_JSON : t->opts->csv ? UFT_FORM_CSV :
		UFT_FORM_TEXT,
			       .width = t->is_live ? cmd_terminal_width(STDOUT_FILENO) : 0, .column = columns,
			       .ncolumns = NCOLUMNS };

	table_begin(&table, "top");
	for (size_t i = 0; i < n && i < limit; i++) {
		struct table_cell cell[NCOLUMNS] = {
			CELL_COUNT((uint64_t)((double)line[i].hits / seconds + 0.5)), CELL_COUNT(line[i].hits),
			CELL_TIME((uint64_t)line[i].total_ns, 1),
			CELL_TIME((uint64_t)line[i].self_ns, 1), CELL_NUMBER(line[i].self_ns / (seconds * 1e9), 1),
			CELL_TIME((uint64_t)line[i].avg_ns, 1),
			CELL_TIME((uint64_t)line[i].max_ns, 1), CELL_NAME(line[i].name),
		};

		table_row(&table, cell, 0);
	}
	table_end(&table);
}

/* Rows that the terminal holds below our two. */
static size_t row_limit(const struct top *t)
{
	unsigned rows = t->is_live ? screen_rows() : 0;

	return t->opts->limit ? t->opts->limit : rows > 4 ? rows - 3u : ROWS_DEFAULT;
}

/* One line of the terminal: the keys are shortened or left out where it is too narrow. */
static void print_title(FILE *out, double rate, size_t n, const char *sort)
{
	static const char keys[] = "   (q quits, s sorts by another column)", short_keys[] = "   (q: quit, s: sort)";
	unsigned width = cmd_terminal_width(STDOUT_FILENO);
	char title[160];
	size_t len =
		(size_t)snprintf(title, sizeof(title), "uft top: %.0f calls/s of %zu functions, by %s", rate, n, sort);

	if (width && len > width)
		title[width] = '\0';
	fprintf(out, "%s%s\n", title, !width || len + sizeof(keys) - 1 <= width ? keys : len +
		sizeof(short_keys) - 1 <= width ? short_keys : "");
}

/* Prints a message in place of a table without rows; a table of a form (JSON, CSV) stays empty. */
static void print_none(const struct top *t, FILE *out, double seconds)
{
	fprintf(out, "# no traced function was called in %.3g s%s\n", seconds,
		t->opts->filter.n ? "" : "; -l '*:mod:*' shows the functions of libraries, too");
}

static int refresh(struct top *t)
{
	struct line *line = malloc((t->nrows + 1) * sizeof(*line));
	struct uft_clock_pair now;
	char *text = NULL;
	size_t n = 0, size;
	uint64_t calls = 0;
	double unit, seconds;
	FILE *out = t->is_live ? open_memstream(&text, &size) : stdout;
	int ret = 0;

	uft_clock_sample(&now);
	if (!line || !out) {
		free(line);
		return -ENOMEM;
	}
	unit = now.clock > t->begin.clock ? (double)(now.ns - t->begin.ns) / (double)(now.clock - t->begin.clock) : 1;
	seconds = (double)(now.ns - t->last.ns) / 1e9;
	t->last = now;
	for (uint32_t i = 0; i < t->nrows; i++) {
		const struct row *r = &t->row[i];
		uint64_t hits = r->now.hits > r->before.hits ? r->now.hits - r->before.hits : 0;
		double total = r->now.total > r->before.total ? (double)(r->now.total - r->before.total) * unit : 0;
		double self = r->now.self > r->before.self ? (double)(r->now.self - r->before.self) * unit : 0;

		calls += hits;
		if (hits || self > 0)
			line[n++] = (struct line){
				r->name, hits, total, self, hits ? total / (double)hits : 0, (double)r->now.max * unit
			};
	}
	line_order = t->sort;
	qsort(line, n, sizeof(*line), compare);
	if (t->is_live)
		print_title(out, (double)calls / seconds, n, sort_names[t->sort]);
	if (n || t->opts->json || t->opts->csv)
		print_lines(t, out, line, n, seconds, row_limit(t));
	else
		print_none(t, out, seconds);
	if (t->is_live) {
		ret = text_file_close(out, &text);
		if (!ret)
			screen_draw(text);
		free(text);
	}
	free(line);
	if (ret)
		return ret;
	return fflush(stdout) ? -errno : 0;
}

/* ---- The command ---- */

static void read_keys(struct top *t, const struct screen *screen)
{
	char key;

	while ((key = screen_key(screen)))
		if (key == 's')
			t->sort = (t->sort + 1) % NSORTS;
}

static int is_due(const struct top *t)
{
	return now_ns() >= t->last.ns + t->opts->delay_ns;
}

/* Refreshes until the last process has ended, or the user ends it. */
static int look(struct top *t)
{
	struct screen screen = { .has_keys = 0 };
	int ret = 0, is_alive = 1;
	uint32_t n = 0;

	if (t->is_live)
		screen_begin(&screen);
	while (!ret && !screen_is_over() && is_alive && !(t->opts->count && n >= t->opts->count)) {
		is_alive = uft_session_poll(t->session, POLL_MS) > 0;
		read_keys(t, &screen);
		if (!is_due(t) && is_alive)
			continue;
		ret = read_sums(t);
		if (!ret)
			ret = refresh(t);
		n++;
	}
	screen_end(&screen);
	return ret;
}

static int attach_all(struct top *t, const struct cmd_targets *targets, struct uft_error *err)
{
	struct uft_session_stats stats;
	size_t n = 0;
	int ret = 0;

	for (size_t i = 0; i < targets->n && !screen_is_over(); i++) {
		ret = uft_session_attach(t->session, targets->item[i].pid, err);
		n += !ret;
		if (ret && ret != -EEXIST && !(ret == -ESRCH && targets->n > 1) && !targets->item[i].is_found)
			return ret;
	}
	uft_session_stats(t->session, &stats);
	if (n && stats.ended_unarmed == stats.attached)
		return uft_fail(err, -ESRCH, "process %d ended before it could be traced", stats.ended_pid);
	return n || screen_is_over() ? uft_session_check(t->session, err) : ret;
}

static int watch(struct top *t, const struct cmd_targets *targets, struct uft_error *err)
{
	struct uft_session_opts opts = { 0 };
	struct uft_session_events events = {
		.arg = t, .slice_begin = on_slice_begin, .slice_end = on_slice_end, .warning = on_warning
	};
	struct uft_ops op = { .tracer = UFT_TRACER_PROFILE, .filter = t->opts->filter.item,
		.notrace = t->opts->notrace.item };
	struct uft_trace_spec spec = { .ops = &op, .nops = 1 }, nothing = { .nops = 0 };
	int ret = uft_session_create(&opts, &events, &t->session, err);

	if (ret)
		return ret;
	t->slice = calloc(uft_session_arena(t->session)->nslices, sizeof(*t->slice));
	ret = t->slice ? uft_session_trace(t->session, &spec, err) : -ENOMEM;
	uft_clock_sample(&t->begin);
	if (!ret)
		ret = attach_all(t, targets, err);
	uft_clock_sample(&t->last);
	if (!ret)
		ret = look(t);
	if (!ret)
		uft_session_trace(t->session, &nothing, NULL);
	return ret;
}

static void release(struct top *t)
{
	uint32_t nslices = t->session ? uft_session_arena(t->session)->nslices : 0;

	for (uint32_t i = 0; t->slice && i < nslices; i++)
		if (t->slice[i].img)
			forget_slice(&t->slice[i]);
	free(t->slice);
	t->slice = NULL;
	if (t->session)
		uft_session_destroy(t->session);
	for (uint32_t i = 0; i < t->nrows; i++)
		free(t->row[i].name);
	free(t->row);
	hash_index_free(&t->by_name);
}

static int run(struct top_opts *o, int argc, char **argv, struct cmd_targets *targets)
{
	struct top t = { .opts = o };
	struct uft_error err = { "" };
	int done = cmd_parse(&top_syntax, &argc, argv, o), ret = 0;

	if (done >= 0)
		return done;
	if (o->json && o->csv)
		return cmd_usage(&top_syntax, "--json and --csv exclude each other");
	if (argc < 2)
		return cmd_usage(&top_syntax, "no process is named: give a PID, a NAME or a CGROUP");
	for (int i = 1; i < argc && !ret; i++)
		ret = cmd_targets_add(targets, TARGET_ANY, argv[i], &err);
	if (ret)
		return ret == -EINVAL ? cmd_usage(&top_syntax, "%s", err.text) : cmd_fail("top", "%s", err.text);
	t.sort = o->sort;
	t.is_live = isatty(STDOUT_FILENO) && !o->json && !o->csv;
	screen_catch_ends();
	ret = watch(&t, targets, &err);
	release(&t);
	return ret && ret != -EPIPE ? cmd_fail("top", "%s", err.text[0] ? err.text : strerror(-ret)) : 0;
}

int cmd_top(int argc, char **argv)
{
	struct top_opts o = { .delay_ns = 1000000000 };
	struct cmd_targets targets = { 0 };
	int status;

	cmd_heap_prepare();
	status = run(&o, argc, argv, &targets);
	cmd_targets_free(&targets);
	free(o.filter.item);
	free(o.notrace.item);
	return status;
}
