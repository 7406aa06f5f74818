/* SPDX-License-Identifier: MIT */
/* report.c - trees, callers, callees, groups and histograms of streams of known content */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_stream.h"
#include "output/report/aggregate.h"

static int failures;

static void check(const char *what, int ok)
{
	printf("%s %s\n", ok ? "ok" : "FAIL", what);
	failures += !ok;
}

static char *print(struct uft_stream *st, enum uft_tree_view view, const struct uft_report_opts *o, int want)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);
	int ret = uft_output_tree(st, f, view, o);

	fclose(f);
	if (ret != want)
		printf("returned %d\n", ret);
	check("status", ret == want);
	fake_rewind(st, 1);
	return text;
}

#define HEADER	"total_ns,total_share,self_ns,calls,avg_ns,p50_ns,p99_ns,max_ns,min_ns,open,depth,path,function\n"

/* As CSV, of which the columns total, self, calls, open, depth and path are compared. */
static void expect(const char *what, struct uft_stream *st, enum uft_tree_view view, struct uft_report_opts o,
		   const char *rows)
{
	char *text, *got = calloc(1, 65536), *line;

	o.form = UFT_FORM_CSV;
	text = print(st, view, &o, 0);
	check("header", !strncmp(text, HEADER, strlen(HEADER)));
	for (line = strchr(text, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
		char *f[13] = { line }, *end = strchr(line, '\n');

		for (int i = 1; i < 13; i++)
			f[i] = strchr(f[i - 1], ',') + 1;
		sprintf(got + strlen(got), "%.*s %.*s %.*s %.*s %.*s %.*s\n", (int)(f[1] - f[0] - 1), f[0],
			(int)(f[3] - f[2] - 1), f[2],
			(int)(f[4] - f[3] - 1), f[3], (int)(f[10] - f[9] - 1), f[9], (int)(f[11] - f[10] - 1), f[10],
			(int)(f[12] - f[11] - 1), f[11]);
		if (!end)
			break;
	}
	if (strcmp(got, rows))
		printf("want:\n%sgot:\n%s", rows, got);
	check(what, !strcmp(got, rows));
	free(got);
	free(text);
}

static struct uft_event *leave(struct uft_stream *st, enum uft_event_kind kind, const struct uft_task *t,
			       const struct uft_sym *f, uint32_t depth, uint64_t ts, uint64_t ns, uint64_t self)
{
	struct uft_event *ev = fake_add(st, kind, 0, ts, t, f);

	ev->depth = depth;
	ev->duration_ns = ns;
	ev->self_ns = self;
	return ev;
}

static void test_paths(void)
{
	struct uft_stream *st = fake_new(UFT_TRACER_GRAPH, 1);
	const struct uft_task *t = fake_task(st, 1, "a", NULL);
	const struct uft_sym *m = fake_sym(st, "main", "", 0), *f = fake_sym(st, "f", "", 0),
			     *g = fake_sym(st, "g", "", 0);

	/* main 100: f 10, g 50 (f 30 (f 20)) */
	fake_entry(st, 0, 1000, t, m, 0);
	fake_entry(st, 0, 1010, t, f, 1);
	leave(st, UFT_EV_EXIT, t, f, 1, 1020, 10, 10);
	fake_entry(st, 0, 1030, t, g, 1);
	fake_entry(st, 0, 1040, t, f, 2);
	fake_entry(st, 0, 1045, t, f, 3);
	leave(st, UFT_EV_EXIT, t, f, 3, 1065, 20, 20);
	leave(st, UFT_EV_EXIT, t, f, 2, 1070, 30, 10);
	leave(st, UFT_EV_EXIT, t, g, 1, 1080, 50, 20);
	leave(st, UFT_EV_EXIT, t, m, 0, 1100, 100, 40);
	expect("tree", st, UFT_VIEW_TREE, (struct uft_report_opts){ 0 },
	       "100 40 1 0 0 main\n50 20 1 0 1 main;g\n30 10 1 0 2 main;g;f\n20 20 1 0 3 main;g;f;f\n10 10 1 0 1 main;f\n");
	expect("depth", st, UFT_VIEW_TREE, (struct uft_report_opts){ .depth = 2 },
	       "100 40 1 0 0 main\n50 20 1 0 1 main;g\n10 10 1 0 1 main;f\n");
	expect("share", st, UFT_VIEW_TREE, (struct uft_report_opts){ .min_share = 0.25 },
	       "100 40 1 0 0 main\n50 20 1 0 1 main;g\n30 10 1 0 2 main;g;f\n");
	expect("limit", st, UFT_VIEW_TREE, (struct uft_report_opts){ .limit = 1 }, "100 40 1 0 0 main\n");
	/* Time of recursion is counted once: f has 10 + 30. */
	expect("callers", st, UFT_VIEW_CALLERS, (struct uft_report_opts){ .func = "f" },
	       "40 40 3 0 0 f\n30 10 1 0 1 f;g\n30 10 1 0 2 f;g;main\n10 10 1 0 1 f;main\n0 20 1 0 1 f;f\n0 20 1 0 2 f;f;g\n0 20 1 0 3 f;f;g;main\n");
	expect("callees", st, UFT_VIEW_CALLEES, (struct uft_report_opts){ .func = "f" },
	       "40 20 2 0 0 f\n20 20 1 0 1 f;f\n");
	expect("flat", st, UFT_VIEW_FLAT, (struct uft_report_opts){ .by = UFT_BY_TASK },
	       "100  1 0 0 task a-1\n100 40 1 0 1 task a-1;main\n50 20 1 0 1 task a-1;g\n40 40 3 0 1 task a-1;f\n");
	free(print(st, UFT_VIEW_CALLERS, &(struct uft_report_opts){ .func = "nosuch" }, -ENOENT));
	free(print(st, UFT_VIEW_HISTOGRAM, &(struct uft_report_opts){ .func = "" }, -EINVAL));
	uft_stream_close(st);
}

static void test_odd_calls(void)
{
	struct uft_stream *st = fake_new(UFT_TRACER_GRAPH, 1);
	const struct uft_task *t = fake_task(st, 1, "a", NULL), *u = fake_task(st, 2, "b", NULL);
	const struct uft_sym *m = fake_sym(st, "main", "", 0), *f = fake_sym(st, "f", "", 0),
			     *g = fake_sym(st, "g", "", 0);
	char *text;

	fake_entry(st, 0, 1000, t, m, 0);
	fake_entry(st, 0, 1010, t, f, 1);
	leave(st, UFT_EV_LEFT, t, f, 1, 1020, 10, 10);
	leave(st, UFT_EV_EXIT, t, f, 1, 1030, 20, 20);		/* it returns after all: counted when it was left */
	fake_entry(st, 0, 1040, u, g, 0);			/* open at the end, as is main */
	fake_entry(st, 0, 1050, t, f, 1);			/* its exit is lost */
	fake_lost(st, 0, 1060, 3);
	fake_entry(st, 0, 1070, t, f, 1);
	leave(st, UFT_EV_EXIT, t, f, 1, 1080, 10, 10);
	/* it began before what was selected: callees counted by themselves */
	leave(st, UFT_EV_EXIT, t, g, 4, 1085, 500, 7);
	leave(st, UFT_EV_EXIT, t, f, 1, 1100, 0, 0)->flags = UFT_EVF_ORPHAN;
	expect("open, left, lost, orphan", st, UFT_VIEW_TREE, (struct uft_report_opts){ 0 },
	       "100 80 1 1 0 main\n20 20 4 0 1 main;f\n7 7 1 0 1 main;g\n60 60 1 1 0 g\n");
	text = print(st, UFT_VIEW_TREE, &(struct uft_report_opts){ .width = 100 }, 0);
	check("notes", strstr(text, "main (1 open)\n") && strstr(text, "# 2 calls had not returned") &&
	      strstr(text, "# 2 calls have no known duration") && strstr(text, "# 3 records were lost"));
	free(text);
	uft_stream_close(st);
	st = fake_new(UFT_TRACER_GRAPH, 1);
	expect("nothing", st, UFT_VIEW_TREE, (struct uft_report_opts){ 0 }, "");
	expect("nothing by cpu", st, UFT_VIEW_FLAT, (struct uft_report_opts){ .by = UFT_BY_CPU }, "");
	uft_stream_close(st);
}

static void test_groups(void)
{
	static const struct { enum uft_by by; const char *rows; } t[] = {
		{ UFT_BY_TASK,
			"60 60 2 0 0 task b-2\n40 40 1 0 1 task b-2;f\n20 20 1 0 1 task b-2;g\n10 10 1 0 0 task a-1\n10 10 1 0 1 task a-1;f\n" },
		{ UFT_BY_CPU, "50 50 2 0 0 cpu 0\n50 50 2 0 1 cpu 0;f\n20 20 1 0 0 cpu 3\n20 20 1 0 1 cpu 3;g\n" },
		{ UFT_BY_OBJECT,
			"50 50 2 0 0 object lib\n50 50 2 0 1 object lib;f\n20 20 1 0 0 object ?\n20 20 1 0 1 object ?;g\n" },
		{ UFT_BY_PROGRAM, "70 70 3 0 0 program ?\n50 50 2 0 1 program ?;f\n20 20 1 0 1 program ?;g\n" },
	};
	struct uft_stream *st = fake_new(UFT_TRACER_GRAPH, 4);
	const struct uft_task *a = fake_task(st, 1, "a", NULL), *b = fake_task(st, 2, "b", NULL);
	const struct uft_sym *f = fake_sym(st, "f", "lib", 0), *g = fake_sym(st, "g", "", 0);

	fake_entry(st, 0, 1000, a, f, 0);
	leave(st, UFT_EV_EXIT, a, f, 0, 1010, 10, 10);
	fake_entry(st, 0, 1000, b, f, 0);
	leave(st, UFT_EV_EXIT, b, f, 0, 1040, 40, 40);
	fake_entry(st, 3, 1050, b, g, 0);
	leave(st, UFT_EV_EXIT, b, g, 0, 1070, 20, 20);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		char want[600], *w = want;

		/* Groups have no self of their own. */
		for (const char *r = t[i].rows; *r; r = strchr(r, '\n') + 1) {
			unsigned total, self, calls, open, depth;
			char path[64];

			sscanf(r, "%u %u %u %u %u %63[^\n]", &total, &self, &calls, &open, &depth, path);
			w += depth ? sprintf(w, "%u %u %u %u %u %s\n", total, self, calls, open, depth, path) :
				     sprintf(w, "%u  %u %u %u %s\n", total, calls, open, depth, path);
		}
		expect("by", st, UFT_VIEW_TREE, (struct uft_report_opts){ .by = t[i].by }, want);
		expect("flat by", st, UFT_VIEW_FLAT, (struct uft_report_opts){ .by = t[i].by }, want);
	}
	uft_stream_close(st);
}

/* All that a node has, whatever its place. */
static int is_same_row(const struct agg *a, const struct agg_node *n, const struct agg *b, const struct agg_node *m)
{
	return n->calls == m->calls && n->timed == m->timed && n->total == m->total && n->self == m->self &&
		n->sum == m->sum && n->nopen == m->nopen &&
	       n->min == m->min && n->max == m->max && agg_rank(a, n, 50) == agg_rank(b, m, 50) &&
	       agg_rank(a, n, 99) == agg_rank(b, m, 99);
}

/* Functions without their paths are those of all paths added up: of every group @by. */
static void check_flat(struct uft_stream *st, enum uft_by by)
{
	struct agg paths, flat, made;
	uint32_t nrows = 0;
	int same = 1;

	fake_rewind(st, 1);
	check("memory", !agg_init(&paths) && !agg_init(&flat) && !agg_init(&made));
	paths.max_nodes = UINT32_MAX / 4;
	check("paths", !agg_add(&paths, st, by));
	agg_finish(&paths);
	fake_rewind(st, 1);
	flat.may_be_flat = 1;
	check("flat", !agg_add_threads(&flat, st, by, 1));
	agg_finish(&flat);
	check("fewer nodes", flat.nnodes < 400 && paths.nnodes > 10000);
	check("the whole", flat.node[0].total == paths.node[0].total && flat.node[0].calls == paths.node[0].calls);
	/* What flat views make of both: the second is that already. */
	check("made", !agg_flatten(&made, &paths, "*"));
	for (uint32_t i = 1; i < flat.nnodes; i++) {
		const struct agg_node *n = &flat.node[i];
		uint32_t k = 0;

		if (n->is_group) {
			for (k = paths.node[0].child;
			     k && strcmp(paths.func[paths.node[k].func].key, flat.func[n->func].key);
			     k = paths.node[k].next)
				;
			same &= k && n->total == paths.node[k].total && n->calls == paths.node[k].calls;
			continue;
		}
		nrows++;
		for (k = 1; !n->parent && k < made.nnodes; k++)
			if (!made.node[k].parent && !strcmp(made.func[made.node[k].func].key, flat.func[n->func].key))
				break;
		same &= n->parent || (k < made.nnodes && is_same_row(&flat, n, &made, &made.node[k]));
	}
	check("the same", same && nrows >= 50);
	agg_free(&paths);
	agg_free(&flat);
	agg_free(&made);
}

/* ---- Some calls only ---- */

static void blocked(struct uft_stream *st, const struct uft_task *t, uint64_t from, uint64_t to)
{
	for (int i = 0; i < 2; i++) {
		struct uft_event *ev = fake_add(st, UFT_EV_DATA, 0, i ? to : from, t, NULL);

		ev->data = UFT_EVENT_SWITCH;
		ev->word[0] = i ? UFT_SWITCH_IN : 0;
	}
}

static int is_g_or_long(const void *ns, const struct uft_event *ev)
{
	return !strcmp(ev->sym->name, "g") || (ev->kind != UFT_EV_ENTRY && ev->duration_ns >= *(const uint64_t *)ns);
}

static int is_odd_and_long(const void *ns, const struct uft_event *ev)
{
	return ev->kind != UFT_EV_ENTRY && (ev->sym->name[1] & 1) && ev->duration_ns >= *(const uint64_t *)ns;
}

static int is_any(const void *ns, const struct uft_event *ev)
{
	(void)ns;
	return ev->kind != UFT_EV_LOST;
}

static void expect_node(const struct agg *a, const char *name, uint32_t parent, const uint64_t want[7])
{
	for (uint32_t i = 1; i < a->nnodes; i++) {
		const struct agg_node *n = &a->node[i];
		const uint64_t got[7] = { n->calls, n->total, n->self, n->timed, n->nopen, n->blocked, n->all_blocked };

		if (n->parent != parent || strcmp(a->func[n->func].name, name))
			continue;
		for (int k = 0; k < 7; k++) {
			if (got[k] != want[k])
				printf("%s below %u: [%d] is %llu, not %llu\n", name, parent, k,
				       (unsigned long long)got[k], (unsigned long long)want[k]);
			check(name, got[k] == want[k]);
		}
		return;
	}
	printf("no %s below %u\n", name, parent);
	failures++;
}

/* Calls that are hidden are callers: they have what is below them that counts. */
static void test_some_paths(void)
{
	struct uft_stream *st = fake_new(UFT_TRACER_GRAPH, 1);
	const struct uft_task *t = fake_task(st, 1, "a", NULL);
	const struct uft_sym *m = fake_sym(st, "main", "", 0), *f = fake_sym(st, "f", "", 0),
			     *g = fake_sym(st, "g", "", 0);
	const uint64_t least = 30;
	struct agg a;

	/* main, open: f 10, f 40 (g 20 (f 5)), g 8, an exit without its entry; f lost; g open */
	fake_entry(st, 0, 1000, t, m, 0);
	fake_entry(st, 0, 1010, t, f, 1);
	leave(st, UFT_EV_EXIT, t, f, 1, 1020, 10, 10);
	fake_entry(st, 0, 1030, t, f, 1);
	blocked(st, t, 1032, 1036);
	fake_entry(st, 0, 1040, t, g, 2);
	blocked(st, t, 1041, 1043);
	fake_entry(st, 0, 1045, t, f, 3);
	blocked(st, t, 1046, 1047);
	leave(st, UFT_EV_EXIT, t, f, 3, 1050, 5, 5);
	leave(st, UFT_EV_EXIT, t, g, 2, 1060, 20, 15);
	leave(st, UFT_EV_EXIT, t, f, 1, 1070, 40, 20);
	fake_entry(st, 0, 1071, t, f, 1);	/* its exit is lost */
	fake_entry(st, 0, 1072, t, g, 2);
	leave(st, UFT_EV_EXIT, t, g, 2, 1080, 8, 8);
	fake_entry(st, 0, 1090, t, g, 1);
	check("memory", !agg_init(&a));
	a.counts = is_g_or_long;
	a.counts_of = &least;
	check("some", !agg_add(&a, st, UFT_BY_NONE));
	agg_finish(&a);
	/* calls, total, self, timed, open, blocked in itself, in all */
	expect_node(&a, "main", 0, (const uint64_t[]){ 0, 48, 0, 0, 0, 0, 7 });
	expect_node(&a, "f", 1, (const uint64_t[]){ 1, 48, 20, 1, 0, 4, 7 });
	expect_node(&a, "g", 2, (const uint64_t[]){ 2, 28, 23, 2, 0, 2, 3 });
	expect_node(&a, "f", 3, (const uint64_t[]){ 0, 0, 0, 0, 0, 0, 0 });
	expect_node(&a, "g", 1, (const uint64_t[]){ 1, 0, 0, 1, 1, 0, 0 });
	check("the whole", a.node[0].total == 48);
	agg_free(&a);
	uft_stream_close(st);
}

/* Adds up the calls of @st that @counts shows, by a stack of its own. */
static void add_by_hand(struct uft_stream *st, int (*counts)(const void *of, const struct uft_event *ev),
			const uint64_t *least, uint64_t sum[3])
{
	enum { TASKS = 3, DEPTH = 40 };
	uint64_t below[TASKS + 1][DEPTH + 1] = { { 0 } };
	uint32_t depth[TASKS + 1] = { 0 };
	struct uft_event ev;

	fake_rewind(st, 1);
	while (uft_stream_batch(st, &ev, 1)) {
		uint32_t t = ev.task->tid, d = ev.depth;
		int is = counts(least, &ev);

		depth[t] = d + (ev.kind == UFT_EV_ENTRY);
		if (ev.kind == UFT_EV_ENTRY) {
			below[t][d + 1] = 0;
			continue;
		}
		sum[0] += (uint64_t)is;
		sum[1] += is ? ev.self_ns : 0;
		below[t][d] += is ? ev.duration_ns : below[t][d + 1];
	}
	for (uint32_t t = 1; t <= TASKS; t++)
		for (uint32_t d = 0; d <= depth[t]; d++) /* open calls do not count */
			sum[2] += below[t][d];
}

static void check_some(struct uft_stream *st, uint32_t max_nodes)
{
	const uint64_t least = 3000;
	uint64_t want[3] = { 0 }, got[3] = { 0 };
	struct agg some, all, any;
	int same = 1;

	add_by_hand(st, is_odd_and_long, &least, want);
	check("memory", !agg_init(&some) && !agg_init(&all) && !agg_init(&any));
	some.max_nodes = all.max_nodes = any.max_nodes = max_nodes;
	some.counts = is_odd_and_long;
	some.counts_of = &least;
	any.counts = is_any;
	fake_rewind(st, 1);
	check("some", !agg_add(&some, st, UFT_BY_NONE));
	fake_rewind(st, 1);
	check("all", !agg_add(&all, st, UFT_BY_NONE));
	fake_rewind(st, 1);
	check("any", !agg_add(&any, st, UFT_BY_NONE));
	agg_finish(&some);
	for (uint32_t i = 1; i < some.nnodes; i++) {
		got[0] += some.node[i].calls;
		got[1] += some.node[i].self;
		got[2] += some.node[i].parent ? 0 : some.node[i].total;
	}
	printf("some of %u paths: %llu calls, self %llu, outermost %llu\n", some.nnodes, (unsigned long long)got[0],
	       (unsigned long long)got[1], (unsigned long long)got[2]);
	for (int i = 0; i < 3; i++)
		check("what counts", got[i] == want[i] && got[i]);
	same &= all.nnodes == any.nnodes;
	for (uint32_t i = 1; same && i < all.nnodes; i++)
		same &= is_same_row(&all, &all.node[i], &any, &any.node[i]);
	check("all calls count", same);
	agg_free(&some);
	agg_free(&all);
	agg_free(&any);
}

/*
 * Calls at random, with threads, unwinding and more paths than are kept: what the nodes took is what the
 * outermost ones took.
 */
static void test_sums(uint32_t max_nodes)
{
	enum { TASKS = 3, DEPTH = 40, FUNCS = 50 };
	struct { uint32_t func, depth; uint64_t start, child; } stack[TASKS][DEPTH];
	uint32_t depth[TASKS] = { 0 };
	struct uft_stream *st = fake_new(UFT_TRACER_GRAPH, 1);
	const struct uft_task *task[TASKS];
	const struct uft_sym *sym[FUNCS];
	uint64_t now = 1000, roots = 0, calls = 0, self = 0, outer = 0, counted = 0, state = 88172645463325252ull;
	struct agg a;

	for (uint32_t i = 0; i < TASKS; i++)
		task[i] = fake_task(st, i + 1, "t", NULL);
	for (uint32_t i = 0; i < FUNCS; i++) {
		char name[16];

		sprintf(name, "f%u", i);
		sym[i] = fake_sym(st, name, "", 0);
	}
	for (int n = 0; n < 400000; n++) {
		uint32_t t, is_end = n > 399000;

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		t = (uint32_t)(state >> 40) % TASKS;
		now += 1 + (state >> 20) % 1000;
		if (depth[t] < DEPTH && !is_end && ((state >> 8) % 100 < 51 || !depth[t])) {
			uint32_t f = (uint32_t)(state >> 50) % FUNCS;

			fake_entry(st, 0, now, task[t], sym[f], depth[t]);
			stack[t][depth[t]].func = f;
			stack[t][depth[t]].start = now;
			stack[t][depth[t]++].child = 0;
			calls++;
		} else if (depth[t]) {
			uint32_t d = --depth[t];
			uint64_t ns = now - stack[t][d].start;

			leave(st, state & 0xf00000 ? UFT_EV_EXIT : UFT_EV_LEFT, task[t], sym[stack[t][d].func], d, now,
			      ns, ns - stack[t][d].child);
			if (d)
				stack[t][d - 1].child += ns;
			else
				roots += ns;
		}
	}
	for (uint32_t t = 0; t < TASKS; t++)
		for (roots += depth[t] ? now - stack[t][0].start : 0; depth[t]; depth[t]--)
			;
	check("memory", agg_init(&a) == 0);
	a.max_nodes = max_nodes;
	check("added", agg_add(&a, st, UFT_BY_NONE) == 0);
	agg_finish(&a);
	for (uint32_t i = 1; i < a.nnodes; i++) {
		self += a.node[i].self;
		outer += a.node[i].parent ? 0 : a.node[i].total;
		counted += a.node[i].calls;
	}
	printf("%llu calls, %u paths: self %llu, outermost %llu, made %llu\n", (unsigned long long)calls, a.nnodes,
	       (unsigned long long)self, (unsigned long long)outer, (unsigned long long)roots);
	check("self adds up", self == roots);
	check("outermost calls add up", outer == roots && a.node[0].total == roots);
	check("calls", counted == calls);
	check("bounded", a.nnodes <= 2 * max_nodes);
	agg_free(&a);
	check_flat(st, UFT_BY_NONE);
	check_flat(st, UFT_BY_TASK);
	check_flat(st, UFT_BY_CPU);
	check_some(st, max_nodes);
	uft_stream_close(st);
}

static void test_histogram(void)
{
	struct uft_stream *st = fake_new(UFT_TRACER_GRAPH, 1);
	const struct uft_task *t = fake_task(st, 1, "a", NULL);
	const struct uft_sym *f = fake_sym(st, "f", "", 0);
	char *text;

	for (uint64_t i = 0; i < 100; i++) {
		uint64_t ns = i < 90 ? 10 : i < 99 ? 1000 : 1000000;

		fake_entry(st, 0, 1000 + 2000000 * i, t, f, 0);
		leave(st, UFT_EV_EXIT, t, f, 0, 1000 + 2000000 * i + ns, ns, ns);
	}
	text = print(st, UFT_VIEW_HISTOGRAM, &(struct uft_report_opts){ .func = "f" }, 0);
	check("histogram", !strncmp(text, "# f: 100 calls, min 10ns, p50 10ns, p99 1.00us, max 1.00ms\n", 59) &&
	      strstr(text,
		     "      8ns    15ns          90   90.00  ****************************************\n    512ns  1.02us           9    9.00  ****\n"));
	if (failures)
		fputs(text, stdout);
	free(text);
	text = print(st, UFT_VIEW_HISTOGRAM, &(struct uft_report_opts){ .func = "f", .form = UFT_FORM_CSV }, 0);
	check("histogram as CSV",
	      !strcmp(text, "from_ns,to_ns,calls,calls_share\n10,10,90,0.9\n992,1007,9,0.09\n999424,1015807,1,0.01\n"));
	if (failures)
		fputs(text, stdout);
	free(text);
	uft_stream_close(st);
}

int main(void)
{
	test_paths();
	test_odd_calls();
	test_groups();
	test_some_paths();
	test_sums(AGG_NODES);
	test_sums(1000);
	test_histogram();
	return failures != 0;
}
