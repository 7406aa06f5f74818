/* SPDX-License-Identifier: MIT */
/*
 * mkdat.c - writes trace.dat files of known content for check.py and kshark-read
 *
 *	mkdat KIND FORMAT FILE	KIND: function, graph, thresh, images, mixed, big
 *
 * Prints what was written: `events N`, `cpu N COUNT`, `lost CPU COUNT` for each that applies.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_stream.h"
#include "output/output.h"

#define MAXCPU 16

static uint64_t count[MAXCPU], lost[MAXCPU];

static void note(uint32_t cpu, uint64_t n)
{
	count[cpu] += n;
}

/* 4 CPUs, 3 tasks, one event of each CPU after the other; the time between grows beyond a 27-bit delta. */
static void make_function(struct uft_stream *st)
{
	const struct uft_task *t[3] = { fake_task(st, 101, "main", NULL), fake_task(st, 102, "wor ker", NULL),
					fake_task(st, 4194303, "fifteen-letters", NULL) };
	const struct uft_sym *caller = fake_sym(st, "main", "prog", 0);
	uint64_t ts = 5000000000;
	char name[64];

	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), i % 7 ? "func_%d" : "ns::f%d(int, char const*)", i % 50);
		ts += i % 1000 ? 137 : 300000000;
		fake_func(st, (uint32_t)i % 4, ts, t[i % 3], fake_sym(st, name, "libx.so", 0), caller);
		note((uint32_t)i % 4, 1);
	}
}

static void call(struct uft_stream *st, uint32_t cpu, const struct uft_task *t, uint64_t *ts, uint32_t depth, int kind)
{
	static const char *const names[] = { "outer", "middle", "inner", "leaf" };
	const struct uft_sym *f = fake_sym(st, names[depth], "prog", 0);
	uint64_t start = *ts += 1000;

	fake_entry(st, cpu, start, t, f, depth);
	for (int i = 0; i < 2 && depth < 3; i++)
		call(st, cpu, t, ts, depth + 1, kind);
	*ts += 500;
	fake_exit(st, cpu, *ts, t, f, depth, *ts - start);
	note(cpu, 2);
}

/* 30 calls a tree; two CPUs, one after the other. */
static void make_graph(struct uft_stream *st)
{
	const struct uft_task *t[2] = { fake_task(st, 201, "main", NULL), fake_task(st, 202, "second", NULL) };
	uint64_t ts = 1000000;

	for (int i = 0; i < 400; i++)
		call(st, (uint32_t)i % 2, t[i % 2], &ts, 0, i);
}

static void make_thresh(struct uft_stream *st)
{
	const struct uft_task *t = fake_task(st, 301, "main", NULL);
	uint64_t ts = 1000000000;

	for (int i = 0; i < 100; i++) {
		struct uft_event *ev = fake_add(st, UFT_EV_EXIT, 1, ts += 500000, t, fake_sym(st, "slow", "prog", 0));

		ev->duration_ns = 250000;
		ev->flags = UFT_EVF_CALL;
		note(1, 1);
	}
}

/* Two programs whose functions lie at the same addresses, and one at the same place with the same names. */
static void make_images(struct uft_stream *st)
{
	const struct uft_image *a = fake_image(st, 0x401000, 0x402000), *b = fake_image(st, 0x401000, 0x403000);
	const struct uft_task *t = fake_task(st, 401, "one", a), *u = fake_task(st, 402, "two", b);
	uint64_t ts = 1000000000;
	char name[32];

	for (int i = 0; i < 64; i++) {
		snprintf(name, sizeof(name), "one_%d", i);
		fake_func(st, 0, ts += 100, t, fake_sym(st, name, "one", 0x401000 + (uint64_t)i * 16), NULL);
		snprintf(name, sizeof(name), "two_%d", i);
		fake_func(st, 0, ts += 100, u, fake_sym(st, name, "two", 0x401000 + (uint64_t)i * 16), NULL);
		note(0, 2);
	}
}

/* Losses at the start and in between, calls left, orphans. */
static void make_mixed(struct uft_stream *st)
{
	const struct uft_task *t = fake_task(st, 501, "main", NULL);
	const struct uft_sym *f = fake_sym(st, "f", "prog", 0), *g = fake_sym(st, "g", "prog", 0);
	uint64_t ts = 1000000000;
	struct uft_event *ev;

	fake_lost(st, 2, ts, 77);
	lost[2] += 77;
	for (int i = 0; i < 1000; i++) {
		if (i % 250 == 100) {
			fake_lost(st, 2, ts, 5);
			fake_lost(st, 2, ts, (uint64_t)i);
			lost[2] += 5 + (uint64_t)i;
		}
		ev = fake_add(st, UFT_EV_EXIT, 2, ts += 100, t, g);
		ev->flags = UFT_EVF_ORPHAN;
		ev->depth = 1;
		fake_entry(st, 2, ts += 100, t, f, 0);
		fake_entry(st, 2, ts += 100, t, g, 1);
		fake_add(st, UFT_EV_LEFT, 2, ts += 100, t, g)->depth = 1;
		fake_exit(st, 2, ts += 100, t, f, 0, 300);
		note(2, 5);
	}
}

/*
 * Marks in a call, beside calls, of numbers; a switch; losses of a CPU. What is in a mark means something in
 * some format.
 */
static void make_marks(struct uft_stream *st)
{
	static const char raw[] = "\x2a\0\0\0\x01\xff";
	const struct uft_task *t = fake_task(st, 501, "main", NULL);
	const struct uft_sym *f = fake_sym(st, "f", "prog", 0);
	struct uft_event *ev;
	uint64_t ts = 1000000000;

	for (int i = 0; i < 200; i++) {
		fake_entry(st, 0, ts += 100, t, f, 0);
		ev = fake_add(st, UFT_EV_MARK, 0, ts += 100, t, NULL);
		ev->text = "in <f> \"q\", \\ \x01\xff;\n";
		ev->text_bytes = strlen(ev->text);
		fake_exit(st, 0, ts += 100, t, f, 0, 200);
	}
	ev = fake_add(st, UFT_EV_MARK, 1, ts += 100, t, NULL);
	ev->text = raw;
	ev->text_bytes = 6;
	ev->flags = UFT_EVF_RAW;
	fake_lost(st, 1, ts += 100, 33);
	fake_entry(st, 0, ts += 100, t, f, 0);
	for (int i = 0; i < 300; i++) {
		ev = fake_add(st, UFT_EV_DATA, 1, ts += 10, t, NULL);
		ev->data = UFT_EVENT_SWITCH;
		ev->word[0] = i & 1 ? UFT_SWITCH_IN : UFT_SWITCH_PREEMPTED;
		ev->word[1] = ev->word[2] = ev->word[3] = 0;
	}
	fake_exit(st, 0, ts += 100, t, f, 0, 3100);
}

static void make_big(struct uft_stream *st)
{
	make_graph(st);
	fake_rewind(st, 20);
	for (int i = 0; i < MAXCPU; i++)
		count[i] *= 20;
}

static const struct {
	const char *name;
	enum uft_tracer tracer;
	uint32_t ncpus;
	void (*make)(struct uft_stream *st);
} kinds[] = {
	{ "function", UFT_TRACER_FUNCTION, 4, make_function },
	{ "graph", UFT_TRACER_GRAPH, 2, make_graph },
	{ "thresh", UFT_TRACER_GRAPH, 2, make_thresh },
	{ "images", UFT_TRACER_FUNCTION, 1, make_images },
	{ "mixed", UFT_TRACER_GRAPH, 4, make_mixed },
	{ "big", UFT_TRACER_GRAPH, 2, make_big },
	{ "marks", UFT_TRACER_GRAPH, 2, make_marks },
};

int main(int argc, char **argv)
{
	const struct uft_export *x = argc == 4 ? uft_export_find(argv[2]) : NULL;
	struct uft_error err = { "" };
	uint64_t total = 0;

	for (size_t k = 0; x && k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		struct uft_stream *st;

		if (strcmp(kinds[k].name, argv[1]))
			continue;
		st = fake_new(kinds[k].tracer, kinds[k].ncpus);
		kinds[k].make(st);
		if (x->write(st, argv[3], NULL, &err)) {
			fprintf(stderr, "mkdat: %s\n", err.text);
			return 1;
		}
		for (uint32_t i = 0; i < MAXCPU; i++) {
			total += count[i];
			if (count[i])
				printf("cpu %u %llu\n", i, (unsigned long long)count[i]);
			if (lost[i])
				printf("lost %u %llu\n", i, (unsigned long long)lost[i]);
		}
		printf("events %llu\n", (unsigned long long)total);
		uft_stream_close(st);
		return 0;
	}
	fprintf(stderr, "usage: mkdat KIND FORMAT FILE\n");
	return 2;
}
