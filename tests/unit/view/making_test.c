/* SPDX-License-Identifier: MIT */
/* making_test.c - what several threads make of a recording is what one makes: levels, and events by the index */
#include "tests/unit/stream/random_calls.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "stream/wire/wire.h"
#include "view/levels_file.h"
#include "view/making.h"

struct made {
	struct names names;
	struct rows rows;
	struct making m;
	struct uft_stream *st;
	uint8_t *levels;
	size_t bytes;
};

static int go_on(void *arg, const struct making *m, struct uft_stream *st, double progress)
{
	(void)arg, (void)m, (void)st, (void)progress;
	return 0;
}

static void make(struct made *a, const char *path, unsigned threads, size_t spans)
{
	struct uft_select all = {.no_parents = 1};
	char name[80];
	struct levels l;
	FILE *f;

	*a = (struct made){.bytes = 0};
	assert_int_equal(names_init(&a->names), 0);
	assert_int_equal(rows_init(&a->rows), 0);
	assert_int_equal(uft_stream_open(path, &all, &a->st, NULL), 0);
	a->m = (struct making){.names = &a->names, .rows = &a->rows, .spans = spans, .is_new_index = 1,
		.first_ns = UINT64_MAX,
			       .index = uft_index_new(a->st, 100)};
	assert_int_equal(making_run(&a->m, a->st, threads, &(struct making_watch){go_on, NULL}), 0);
	l = (struct levels){a->m.lod, a->m.matches, a->m.first_ns, a->m.last_ns};
	assert_int_equal(levels_save(path, uft_stream_recording(a->st), &l, &a->names, &a->rows), 0);
	snprintf(name, sizeof(name), "%s.levels", path);
	f = fopen(name, "r");
	a->levels = malloc(8 << 20);
	a->bytes = fread(a->levels, 1, 8 << 20, f);
	assert_true(a->bytes > sizeof(struct levels_head) && a->bytes < 8 << 20);
	fclose(f);
	unlink(name);
}

static void end(struct made *a)
{
	uft_stream_close(a->st);
	making_free(&a->m);
	names_free(&a->names);
	rows_free(&a->rows);
	free(a->levels);
}

/* The events behind @ns, up to @n, as the index finds them. */
static uint64_t digest(struct made *a, uint64_t ns, size_t n)
{
	struct uft_event ev;
	uint64_t sum = 0;

	assert_int_equal(uft_stream_seek(a->st, a->m.index, uft_index_find_ns(a->m.index, ns)), 0);
	while (n && uft_stream_next(a->st, &ev) > 0) {
		uint64_t v[] = {ev.ts_ns, ev.kind, ev.flags, ev.depth, ev.duration_ns, ev.self_ns,
				ev.task->tid, ev.task->index, ev.cpu, ev.lost};

		if (ev.ts_ns < ns)
			continue;
		sum = sum * 31 + wire_sum(v, sizeof(v));
		n--;
	}
	return sum;
}

static void compare(struct made *one, struct made *many)
{
	const struct uft_info *a = uft_stream_info(one->st), *b = uft_stream_info(many->st);
	uint64_t length = one->m.last_ns - one->m.first_ns;

	assert_true(one->m.events == many->m.events && one->m.matches == many->m.matches);
	assert_true(a->events == b->events && a->calls == b->calls && a->lost == b->lost && a->ntasks == b->ntasks);
	assert_int_equal(one->bytes, many->bytes);
	assert_memory_equal(one->levels, many->levels, one->bytes);
	assert_int_equal(uft_index_events(one->m.index), uft_index_events(many->m.index));
	for (uint64_t i = 0; i < 40; i++)
		assert_int_equal(digest(one, one->m.first_ns + length * i / 40, 50),
				 digest(many, one->m.first_ns + length * i / 40, 50));
}

static void test_parts(void **state)
{
	static const size_t spans[] = {300, 5000, 1u << 20};
	unsigned divided = 0;

	(void)state;
	for (unsigned round = 0; round < 24; round++) {
		struct made one, many;
		struct check c;

		seed = round + 300;
		random_calls(&c, 20000, round % 3, round & 1);
		make(&one, c.path, 1, spans[round / 3 % 3]);
		for (unsigned threads = 2; threads <= 8; threads += 2) {
			make(&many, c.path, threads, spans[round / 3 % 3]);
			compare(&one, &many);
			divided += many.m.parts > 1;
			end(&many);
		}
		end(&one);
		check_end(&c);
	}
	printf("%u of 96 by several threads\n", divided);
	assert_true(divided > 40);
}

/* @threads make of @c what one makes; by several threads, or not. */
static void check_threads(struct check *c, int is_divided)
{
	struct made one, many;

	check_finish(c);
	make(&one, c->path, 1, 1u << 20);
	for (unsigned threads = 2; threads <= 8; threads++) {
		make(&many, c->path, threads, 1u << 20);
		compare(&one, &many);
		assert_int_equal(many.m.parts > 1, is_divided);
		end(&many);
	}
	end(&one);
	check_end(c);
}

static void start(struct check *c)
{
	check_start(c, &(struct synth_opts){.ring_bytes = 16384, .sub_bytes = 4096}, UFT_TRACER_GRAPH);
}

/* Seldom an event: at the border a CPU's task may be gone, or not. */
static void test_idle(void **state)
{
	(void)state;
	for (uint64_t step = 999999; step < 1000003; step++) {
		struct check c;

		start(&c);
		for (uint32_t i = 0; i < 4000; i++) {
			enter(&c, step, i % 7);
			leave(&c, i % 3 ? 10 : step, i % 7);
			if (i % 64 == 0)
				assert_true(uft_writer_poll(c.w) >= 0);
		}
		check_threads(&c, 1);
	}
}

/* Of a call without an entry the lane is not known before all that was in it is: one thread makes all. */
static void test_dependent(void **state)
{
	struct check c;

	(void)state;
	start(&c);
	for (uint32_t i = 0; i < 4000; i++) {
		c.at.clock += 100;
		synth_call(c.s, c.at, synth_stub_id(c.img, i % 7), i % 500 == 499 ? 100 * i : 50);
		if (i % 64 == 0)
			assert_true(uft_writer_poll(c.w) >= 0);
	}
	check_threads(&c, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts), cmocka_unit_test(test_idle),
					   cmocka_unit_test(test_dependent)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
