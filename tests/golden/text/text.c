/* SPDX-License-Identifier: MIT */
/*
 * text.c - the trace text against what a real kernel printed, byte for byte
 *
 * kernel-*.txt are `cat trace` of Linux 6.12 (only the function tracer's flag column is masked while reading, since
 * uft has no such flags). The tests read such a file back into events, print them, and compare. In
 * kernel-graph*.txt a leaf's line stands where the call began, and its exit may be anywhere before the
 * CPU's next event: both extremes are tried.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_stream.h"
#include "output/output.h"

static int failures;
static const char *dir;

static char *read_file(const char *name)
{
	char path[4096], *text = calloc(1, 1 << 20);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "r");
	if (!f || !fread(text, 1, (1 << 20) - 1, f)) {
		fprintf(stderr, "cannot read %s\n", path);
		exit(1);
	}
	fclose(f);
	return text;
}

static char *print(struct uft_stream *st, int colour)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	if (uft_output_text(st, f, colour, &(struct uft_text_opts){ .flags = UFT_TEXT_REPORT })) {
		fprintf(stderr, "uft_output_text failed\n");
		exit(1);
	}
	fclose(f);
	return text;
}

static void expect(const char *what, const char *got, const char *want)
{
	size_t i = 0, line = 1;

	for (; got[i] && got[i] == want[i]; i++)
		line += want[i] == '\n';
	if (got[i] == want[i]) {
		printf("ok %s\n", what);
		return;
	}
	while (i && want[i - 1] != '\n')
		i--;
	printf("FAIL %s: line %zu\n  want: %.*s\n  got:  %.*s\n", what, line, (int)strcspn(want + i, "\n"), want + i,
	       (int)strcspn(got + i, "\n"), got + i);
	failures++;
}

/* Prints @st, compares all that follows the header, closes @st. */
static void expect_body(const char *what, struct uft_stream *st, const char *want)
{
	char *got = print(st, 0), *body = got;

	while (*body == '#' && strncmp(body, "#####", 5))
		body = strchr(body, '\n') + 1;
	expect(what, body, want);
	free(got);
	uft_stream_close(st);
}

/* ---- A kernel's graph text back into events ---- */

#define CPUS 8

struct parser {
	struct uft_stream *st;
	int late;			/* exits of leaves come when the CPU's next line does */
	const struct uft_task *task[CPUS];
	struct uft_event pending[CPUS];
	int has_pending[CPUS];
	const struct uft_sym *open[CPUS * 64][64];	/* by task index and depth */
};

static uint64_t parse_ns(const char *s)
{
	double us = atof(s);

	return (uint64_t)(us * 1000 + 0.5);
}

static void flush_pending(struct parser *p, unsigned cpu)
{
	if (p->has_pending[cpu])
		fake_exit(p->st, cpu, 0, p->task[cpu], p->pending[cpu].sym, p->pending[cpu].depth,
			  p->pending[cpu].duration_ns);
	p->has_pending[cpu] = 0;
}

static const struct uft_task *parse_task(struct parser *p, const char *s, const char *end)
{
	char name[64] = "", *dash;
	size_t n;

	while (*s == ' ')
		s++;
	while (end > s && end[-1] == ' ')
		end--;
	n = (size_t)(end - s);
	memcpy(name, s, n);
	dash = strrchr(name, '-');
	*dash = 0;
	return fake_task(p->st, (uint32_t)atoi(dash + 1), name, NULL);
}

static void parse_line(struct parser *p, char *line)
{
	unsigned cpu = (unsigned)strtoul(line, &line, 10);
	char *bar = strchr(line, '|'), *body, *name;
	uint32_t depth;
	uint64_t ns = parse_ns(line + 4);
	const struct uft_task *task = p->task[cpu];

	flush_pending(p, cpu);
	body = bar + 3 + strspn(bar + 3, " ");
	depth = (uint32_t)(body - bar - 3) / 2;
	if (*body == '}') {
		const struct uft_sym *sym = p->open[task->index][depth];

		if ((name = strstr(body, "/* ")))
			sym = fake_sym(p->st, strtok(name + 3, " "), "", 0);
		fake_exit(p->st, cpu, 0, task, sym, depth, ns);
		return;
	}
	name = strndup(body, strcspn(body, "("));
	p->open[task->index][depth] = fake_sym(p->st, name, "", 0);
	fake_entry(p->st, cpu, 0, task, p->open[task->index][depth], depth);
	if (strstr(body, "();")) {
		p->pending[cpu] = (struct uft_event){ .sym = p->open[task->index][depth], .depth = depth,
						      .duration_ns = ns };
		p->has_pending[cpu] = 1;
		if (!p->late)
			flush_pending(p, cpu);
	}
	free(name);
}

/* The tasks that the CPUs start with are those on the left of their first switch. */
static void find_first_tasks(struct parser *p, const char *text)
{
	for (const char *s = text; (s = strstr(s, " => ")); s += 4) {
		const char *line = s;
		unsigned cpu;

		while (line[-1] != '\n')
			line--;
		cpu = (unsigned)atoi(line);
		if (!p->task[cpu])
			p->task[cpu] = parse_task(p, strchr(line, ')') + 1, s);
	}
	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		if (!p->task[cpu])
			p->task[cpu] = fake_task(p->st, 1000 + cpu, "idle", NULL);
}

static void test_kernel_graph(const char *file, int late)
{
	struct parser *p = calloc(1, sizeof(*p));
	char *want = read_file(file), *copy = strdup(want), *got, what[64], *save = NULL;

	p->st = fake_new(UFT_TRACER_GRAPH, 2);
	p->late = late;
	find_first_tasks(p, want);
	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *arrow = strstr(line, " => ");

		if (*line == '#' || !strncmp(line, " ---", 4))
			continue;
		if (arrow) {
			flush_pending(p, (unsigned)atoi(line));
			p->task[atoi(line)] = parse_task(p, arrow + 4, arrow + strlen(arrow));
		} else {
			char *text = strdup(line);

			parse_line(p, text);
			free(text);
		}
	}
	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		flush_pending(p, cpu);
	snprintf(what, sizeof(what), "%s, exits %s", file, late ? "late" : "at once");
	got = print(p->st, 0);
	expect(what, got, want);
	free(got);
	uft_stream_close(p->st);
	free(want);
	free(copy);
	free(p);
}

/* ---- A kernel's function text ---- */

static uint64_t parse_seconds(const char *s)
{
	char *dot;
	uint64_t sec = strtoull(s, &dot, 10);

	return sec * 1000000000 + strtoull(dot + 1, NULL, 10) * 1000;
}

/* Rounding is part of the form: give the same microsecond by different nanoseconds. */
static void parse_function(struct uft_stream *st, char *line, unsigned i)
{
	static const int jitter[] = { 0, 499, -500, 1 };
	char *bracket = strchr(line, '['), *dash = bracket, *name, *arrow;
	uint64_t ts;
	const struct uft_task *task;

	memcpy(bracket + 6, ".....", 5);	/* in the expected text */
	name = strdup(line);
	bracket = name + (bracket - line);
	dash = bracket;
	while (*dash != '-')
		dash--;
	*dash = 0;
	task = fake_task(st, (uint32_t)atoi(dash + 1), name + strspn(name, " "), NULL);
	ts = parse_seconds(bracket + 11) + (uint64_t)(int64_t)jitter[i % 4];
	char *func = strstr(bracket + 11, ": ") + 2;

	arrow = strstr(func, " <-");
	*arrow = 0;
	fake_func(st, (uint32_t)atoi(bracket + 1), ts, task, fake_sym(st, func, "", 0), fake_sym(st, arrow + 3, "", 0));
	free(name);
}

static void test_kernel_function(const char *file)
{
	struct uft_stream *st = fake_new(UFT_TRACER_FUNCTION, 2);
	char *want = read_file(file), *got;
	unsigned long in, written;
	unsigned i = 0;

	for (char *line = want, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = 0;
		if (*line != '#')
			parse_function(st, line, i++);
		*end = '\n';
	}
	if (sscanf(strstr(want, "entries-written: "), "entries-written: %lu/%lu", &in, &written) != 2)
		exit(1);
	fake_info(st)->events = in;
	fake_info(st)->lost = written - in;
	got = print(st, 0);
	expect(file, got, want);
	free(got);
	uft_stream_close(st);
	free(want);
}

/* ---- Durations: the kernel's rules, written down independently ---- */

static void kernel_duration(char *out, uint64_t ns)
{
	char mark = ns > 1000000000 ? '$' : ns > 100000000 ? '@' : ns > 10000000 ? '*' : ns > 1000000 ? '#' :
		    ns > 100000 ? '!' : ns > 10000 ? '+' : ' ';
	char us[32], rest[8];
	int len;

	len = sprintf(us, "%llu", (unsigned long long)(ns / 1000));
	if (len < 7) {
		snprintf(rest, (size_t)(8 - len) < 5 ? (size_t)(8 - len) : 5, "%03u", (unsigned)(ns % 1000));
		strcat(us, ".");
		strcat(us, rest);
	}
	len = (int)strlen(us);
	sprintf(out, "%c %s us %*s|  ", mark, us, len < 8 ? 8 - len : 0, "");
}

static void test_durations(void)
{
	struct uft_stream *st = fake_new(UFT_TRACER_GRAPH, 1);
	const struct uft_task *t = fake_task(st, 1, "a", NULL);
	const struct uft_sym *f = fake_sym(st, "f", "", 0);
	char *want = calloc(1, 1 << 20), *p = want;

	for (uint64_t base = 1; base <= 100000000000000ull; base *= 10)
		for (uint64_t m = 1; m < 10; m += 4)
			for (int d = -1; d <= 1; d++) {
				uint64_t ns = base * m + (uint64_t)(int64_t)d;
				char column[64];

				kernel_duration(column, ns);
				p += sprintf(p, " 0) %sf();\n", column);
				fake_entry(st, 0, 0, t, f, 0);
				fake_exit(st, 0, 0, t, f, 0, ns);
			}
	expect_body("durations around every power of ten", st, want);
	free(want);
}

/* As captured: the forms of each mark. */
static void test_marks(void)
{
	static const struct { uint64_t ns; const char *line; } cases[] = {
		{ 1592, " 0)   1.592 us    |  f();\n" },
		{ 10000, " 0)   10.000 us   |  f();\n" },
		{ 10466, " 0) + 10.466 us   |  f();\n" },
		{ 110165, " 0) ! 110.165 us  |  f();\n" },
		{ 1593886, " 0) # 1593.886 us |  f();\n" },
		{ 15938865, " 0) * 15938.86 us |  f();\n" },
		{ 300652678, " 0) @ 300652.6 us |  f();\n" },
		{ 1300652678, " 0) $ 1300652 us  |  f();\n" },
		{ 13006526780, " 0) $ 13006526 us |  f();\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct uft_stream *st = fake_new(UFT_TRACER_GRAPH, 1);
		const struct uft_task *t = fake_task(st, 1, "a", NULL);
		const struct uft_sym *f = fake_sym(st, "f", "", 0);

		fake_entry(st, 0, 0, t, f, 0);
		fake_exit(st, 0, 0, t, f, 0, cases[i].ns);
		expect_body("mark", st, cases[i].line);
	}
}

/* ---- Single forms ---- */

static void test_orphan_left_lost(void)
{
	struct uft_stream *st = fake_new(UFT_TRACER_GRAPH, 2);
	const struct uft_task *t = fake_task(st, 7, "prog", NULL);
	const struct uft_sym *f = fake_sym(st, "f", "", 0), *g = fake_sym(st, "g", "", 0);
	struct uft_event *ev;

	ev = fake_add(st, UFT_EV_EXIT, 0, 0, t, g);
	ev->flags = UFT_EVF_ORPHAN;
	ev->depth = 1;
	fake_entry(st, 0, 0, t, f, 0);
	fake_entry(st, 0, 0, t, g, 1);
	ev = fake_add(st, UFT_EV_LEFT, 0, 0, t, g);
	ev->depth = 1;
	ev->duration_ns = 20000;
	fake_exit(st, 0, 0, t, f, 0, 21000);
	ev = fake_add(st, UFT_EV_EXIT, 0, 0, t, g);	/* tracing_thresh */
	ev->flags = UFT_EVF_CALL;
	ev->duration_ns = 150000;
	fake_entry(st, 0, 0, t, f, 0);
	fake_lost(st, 0, 0, 11745);
	fake_lost(st, 1, 0, 0);
	fake_exit(st, 0, 0, t, f, 0, 5);
	expect_body("orphan, left, threshold, lost", st,
		    " 0)               |    } /* g */\n"
		    " 0)               |  f() {\n"
		    " 0)               |    g() {\n"
		    " 0) + 20.000 us   |    } /* left: g */\n"
		    " 0) + 21.000 us   |  }\n"
		    " 0) ! 150.000 us  |  } /* g */\n"
		    " 0)               |  f() {\n"
		    "CPU:0 [LOST 11745 EVENTS]\n"
		    "CPU:1 [LOST EVENTS]\n"
		    " 0)   0.005 us    |  }\n");
}

/* A migrated call: its exit stands on another CPU, which has not seen the entry. */
static void test_migration(void)
{
	struct uft_stream *st = fake_new(UFT_TRACER_GRAPH, 2);
	const struct uft_task *t = fake_task(st, 301, "sleeper", NULL), *u = fake_task(st, 12345, "longername", NULL);
	const struct uft_sym *f = fake_sym(st, "f", "", 0), *g = fake_sym(st, "g", "", 0);

	fake_entry(st, 1, 0, u, g, 0);
	fake_entry(st, 0, 0, t, f, 0);
	fake_exit(st, 1, 0, u, g, 0, 7000);
	fake_exit(st, 1, 0, t, f, 0, 2000);
	fake_entry(st, 1, 0, t, g, 0);
	fake_entry(st, 1, 0, u, g, 0);
	expect_body("migration and task switch", st,
		    " 1)   7.000 us    |  g();\n"
		    " 0)               |  f() {\n"
		    " ------------------------------------------\n"
		    " 1) longern-12345  =>  sleeper-301  \n"
		    " ------------------------------------------\n"
		    "\n"
		    " 1)   2.000 us    |  } /* f */\n"
		    " 1)               |  g() {\n"
		    " ------------------------------------------\n"
		    " 1)  sleeper-301   => longern-12345 \n"
		    " ------------------------------------------\n"
		    "\n"
		    " 1)               |  g() {\n");
}

/* More waits behind an undecided entry than is held: it is printed as nested, nothing is lost or reordered. */
static void test_hold(void)
{
	struct uft_stream *st = fake_new(UFT_TRACER_GRAPH, 12);
	const struct uft_task *t = fake_task(st, 1, "a", NULL), *u = fake_task(st, 2, "b", NULL);
	const struct uft_sym *f = fake_sym(st, "slow", "", 0), *g = fake_sym(st, "fast", "", 0);
	size_t n = 1200000, lines = 0;
	char *got, *p;

	fake_entry(st, 11, 0, u, f, 0);
	for (size_t i = 0; i < n; i++) {
		fake_entry(st, 0, 0, t, g, 0);
		fake_exit(st, 0, 0, t, g, 0, 50);
	}
	fake_exit(st, 11, 0, u, f, 0, 120000000);
	got = print(st, 0);
	p = strstr(got, " 11)               |  slow() {\n  0)   0.050 us    |  fast();\n");
	for (char *s = got; *s; s++)
		lines += *s == '\n';
	if (!p || lines != n + 2 + 4 || !strstr(got, " 11) @ 120000.0 us |  }\n")) {
		printf("FAIL hold: %zu lines\n", lines);
		failures++;
	} else {
		printf("ok hold\n");
	}
	free(got);
	uft_stream_close(st);
}

/* Names come from strangers: no line may be forged, no escape reach the terminal. */
static void test_hostile_names(void)
{
	struct uft_stream *st = fake_new(UFT_TRACER_FUNCTION, 1);
	const struct uft_task *t = fake_task(st, 4194304, "a\n\033[2Jb", NULL), *u = fake_task(st, 5, "", NULL);

	fake_func(st, 0, 1500, t, fake_sym(st, "f\ng", "", 0), fake_sym(st, "\033]0;x\a", "", 0));
	fake_func(st, 0, 99999999999500, u, fake_sym(st, "h", "", 0), NULL);
	fake_func(st, 1234, 99999999999501, u, fake_sym(st, "h", "", 0), NULL);
	expect_body("control characters", st,
		    "         a??[2Jb-4194304 [000] .....     0.000002: f?g <-?]0;x?\n"
		    "           <...>-5       [000] ..... 100000.000000: h\n"
		    "           <...>-5       [1234] ..... 100000.000000: h\n");
}

static void test_depth(void)
{
	struct uft_stream *st = fake_new(UFT_TRACER_GRAPH, 1);
	const struct uft_task *t = fake_task(st, 1, "a", NULL);
	const struct uft_sym *f = fake_sym(st, "f", "", 0);
	size_t deepest = 0;
	char *got;

	for (uint32_t d = 0; d < 5000; d++)
		fake_entry(st, 0, 0, t, f, d);
	for (uint32_t d = 5000; d-- > 0;)
		fake_exit(st, 0, 0, t, f, d, 10);
	got = print(st, 0);
	for (char *s = got; *s; s += strcspn(s, "\n") + 1)
		deepest = strcspn(s, "\n") > deepest ? strcspn(s, "\n") : deepest;
	if (deepest != 21 + 512 + 5 || !strstr(got, "  }\n 0)   0.010 us    |  }\n")) {
		printf("FAIL depth: longest line %zu\n", deepest);
		failures++;
	} else {
		printf("ok depth\n");
	}
	free(got);
	uft_stream_close(st);
}

/* Colour adds escape sequences and nothing else. */
static void test_colour(void)
{
	struct uft_stream *st = fake_new(UFT_TRACER_GRAPH, 1);
	const struct uft_task *t = fake_task(st, 1, "a", NULL);
	const struct uft_sym *f = fake_sym(st, "f", "", 0);
	char *plain, *colour, *w;
	int escapes = 0;

	for (uint64_t ns = 5; ns < 20000000000; ns *= 10) {
		fake_entry(st, 0, 0, t, f, 0);
		fake_exit(st, 0, 0, t, f, 0, ns);
	}
	plain = print(st, 0);
	fake_rewind(st, 1);
	colour = w = print(st, 1);
	for (char *r = colour; (*w = *r); r++) {
		if (*r == '\033') {
			r += strcspn(r, "m");
			escapes++;
		} else {
			w++;
		}
	}
	expect("colour", colour, plain);
	if (!escapes) {
		printf("FAIL colour: none\n");
		failures++;
	}
	free(plain);
	free(colour);
	uft_stream_close(st);
}

static void test_empty(void)
{
	static const struct { enum uft_tracer tracer; const char *start; } cases[] = {
		{ UFT_TRACER_GRAPH, "# tracer: function_graph\n#\n# CPU  DURATION" },
		{ UFT_TRACER_FUNCTION,
			"# tracer: function\n#\n# entries-in-buffer/entries-written: 0/0   #P:3\n#\n#  " },
		{ UFT_TRACER_PROFILE, "# tracer: nop\n#\n# entries-in-buffer/entries-written: 0/0   #P:3\n#\n" },
	};

	for (size_t i = 0; i < 3; i++) {
		struct uft_stream *st = fake_new(cases[i].tracer, 3);
		char *got = print(st, 0);

		got[strlen(cases[i].start)] = 0;
		expect("empty", got, cases[i].start);
		free(got);
		uft_stream_close(st);
	}
}

static void test_full_disk(void)
{
	struct uft_stream *st = fake_new(UFT_TRACER_GRAPH, 1);
	const struct uft_task *t = fake_task(st, 1, "a", NULL);
	FILE *f = fopen("/dev/full", "w");
	int ret;

	fake_entry(st, 0, 0, t, fake_sym(st, "f", "", 0), 0);
	fake_rewind(st, 200000);
	ret = uft_output_text(st, f, 0, &(struct uft_text_opts){ .flags = UFT_TEXT_REPORT });
	printf("%s full disk: %d\n", ret == -28 ? "ok" : "FAIL", ret);
	failures += ret != -28;
	fclose(f);
	uft_stream_close(st);
}

int main(int argc, char **argv)
{
	dir = argc > 1 ? argv[1] : ".";
	for (int late = 0; late < 2; late++) {
		test_kernel_graph("kernel-graph.txt", late);
		test_kernel_graph("kernel-graph-deep.txt", late);
	}
	test_kernel_function("kernel-function.txt");
	test_durations();
	test_marks();
	test_orphan_left_lost();
	test_migration();
	test_hold();
	test_hostile_names();
	test_depth();
	test_colour();
	test_empty();
	test_full_disk();
	return failures != 0;
}
