/* SPDX-License-Identifier: MIT */
/*
 * output.c - how fast reports are made, apart from reading the file
 *
 *	output [MILLIONS]	events of each stream, default 20
 *
 * A stream kept in memory is printed, profiled and exported; one row each: million lines (text), calls
 * (profile, export) a second of this thread's CPU time. The stream's own cost, a copy of every event, is the row
 * `stream`, measured the same way and not subtracted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/median.h"
#include "fake_stream.h"
#include "output/output.h"

/* A tree of 4 levels, 2 calls each, over 200 functions; 8192 calls, on `ncpus` CPUs in turn or mixed. */
struct maker {
	struct uft_stream *st;
	const struct uft_sym *sym[200];
	const struct uft_task *task[4];
	uint32_t ncpus, next;
	uint64_t ts, lines;
};

static void call(struct maker *m, uint32_t cpu, uint32_t depth)
{
	const struct uft_sym *f = m->sym[(m->next++ * 7 + depth) % 200];
	uint64_t start = m->ts += 60;

	fake_entry(m->st, cpu, start, m->task[cpu], f, depth);
	for (int i = 0; i < 2 && depth < 3; i++)
		call(m, cpu, depth + 1);
	m->ts += 90;
	fake_exit(m->st, cpu, m->ts, m->task[cpu], f, depth, m->ts - start);
	m->lines += depth == 3 ? 1 : 2;
}

static struct uft_stream *make(enum uft_tracer tracer, uint32_t ncpus, int is_mixed, uint64_t *lines)
{
	struct maker m = { .st = fake_new(tracer, ncpus), .ncpus = ncpus, .ts = 12345000000000 };
	char name[64];

	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "function_number_%d", i);
		m.sym[i] = fake_sym(m.st, name, "prog", 0);
	}
	for (uint32_t i = 0; i < ncpus; i++)
		m.task[i] = fake_task(m.st, 4000 + i, "worker", NULL);
	for (uint32_t i = 0; i < 8192; i++) {
		if (tracer == UFT_TRACER_FUNCTION) {
			fake_func(m.st, i % ncpus, m.ts += 50, m.task[i % ncpus], m.sym[i * 7 % 200], m.sym[i % 200]);
			m.lines++;
		} else if (is_mixed) {	/* every leaf waits for its exit behind the other CPUs' lines */
			for (uint32_t c = 0; c < ncpus; c++)
				fake_entry(m.st, c, m.ts += 20, m.task[c], m.sym[(i + c) % 200], 0);
			for (uint32_t c = 0; c < ncpus; c++)
				fake_exit(m.st, c, m.ts += 20, m.task[c], m.sym[(i + c) % 200], 0, 20 * ncpus);
			m.lines += ncpus;
		} else if (i % 15 == 0) {
			call(&m, i / 15 % ncpus, 0);
		}
	}
	*lines = m.lines;
	return m.st;
}

static void row(const char *what, double n, double t)
{
	printf("%-28s %8.1f M/s\n", what, n / t / 1e6);
}

static void run(const char *name, enum uft_tracer tracer, uint32_t ncpus, int is_mixed, uint64_t events)
{
	uint64_t lines;
	struct uft_stream *st = make(tracer, ncpus, is_mixed, &lines);
	uint64_t each = uft_stream_info(st)->events, times = events / each + 1;
	double calls = (double)uft_stream_info(st)->calls * (double)times, t;
	FILE *null = fopen("/dev/null", "w");
	struct uft_event ev[256];
	struct uft_error err;
	char what[64];

	fake_rewind(st, times);
	t = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
	while (uft_stream_batch(st, ev, 256))
		;
	snprintf(what, sizeof(what), "%s stream calls", name);
	row(what, calls, clock_seconds(CLOCK_THREAD_CPUTIME_ID) - t);
	for (int colour = 0; colour < 2; colour++) {
		fake_rewind(st, times);
		t = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
		uft_output_text(st, null, colour, &(struct uft_text_opts){ .flags = UFT_TEXT_REPORT });
		snprintf(what, sizeof(what), "%s text%s lines", name, colour ? " colour" : "");
		row(what, (double)lines * (double)times, clock_seconds(CLOCK_THREAD_CPUTIME_ID) - t);
	}
	fake_rewind(st, times);
	t = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
	uft_output_profile(st, null, &(struct uft_report_opts){ .sort = UFT_SORT_TOTAL });
	snprintf(what, sizeof(what), "%s profile calls", name);
	row(what, calls, clock_seconds(CLOCK_THREAD_CPUTIME_ID) - t);
	for (const struct uft_export *x = uft_exports; x->name; x++) {
		fake_rewind(st, times);
		t = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
		if (x->write(st, "/dev/null", NULL, &err))
			fprintf(stderr, "%s\n", err.text);
		snprintf(what, sizeof(what), "%s %s calls", name, x->name);
		row(what, calls, clock_seconds(CLOCK_THREAD_CPUTIME_ID) - t);
	}
	fclose(null);
	uft_stream_close(st);
}

int main(int argc, char **argv)
{
	uint64_t n = (argc > 1 ? strtoull(argv[1], NULL, 10) : 20) * 1000000;

	run("graph", UFT_TRACER_GRAPH, 1, 0, n);
	run("graph-2cpu", UFT_TRACER_GRAPH, 2, 0, n);
	run("graph-4cpu-mixed", UFT_TRACER_GRAPH, 4, 1, n);
	run("function", UFT_TRACER_FUNCTION, 2, 0, n);
	return 0;
}
