/* SPDX-License-Identifier: MIT */
/*
 * overwrite.c - flight recorder rings are saved while their target keeps writing
 *
 * A thread writes records that say of themselves what they must be: number n has clock T0 + 10 n, function
 * n % 64 and parent n. Meanwhile recordings of its ring are taken. Whatever the reader shows must be whole
 * records in order; which ones is luck, but some must have been overtaken, or the test shows nothing.
 */
#include <pthread.h>
#include <time.h>

#include "tests/unit/stream/check.h"

struct runner { struct check *c; uint64_t n; int stop; };

static void *run(void *arg)
{
	struct runner *r = arg;
	struct synth_at at = { 0, 0, 100, 100, 0 };

	while (!__atomic_load_n(&r->stop, __ATOMIC_RELAXED)) {
		uint64_t n = r->n;

		at.clock = T0 + 10 * n;
		synth_func(r->c->s, at, synth_text_id(r->c->img, n % 64), n);
		__atomic_store_n(&r->n, n + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Checks every event of the file; returns how many there are and adds the gaps between them. */
static uint64_t check_file(const char *path, uint64_t *gaps)
{
	uint64_t count = 0, expected = 0;
	struct uft_stream *st;
	struct uft_event ev;
	char name[32];

	assert_int_equal(uft_stream_open(path, NULL, &st, NULL), 0);
	while (uft_stream_next(st, &ev) == 1) {
		uint64_t n = (ev.ts_ns - T0) / 10;

		assert_int_equal(ev.kind, UFT_EV_FUNC);
		assert_true(n >= expected);
		*gaps += count && n != expected;
		expected = n + 1;
		snprintf(name, sizeof(name), "func_%u", (unsigned)(n % 64));
		assert_string_equal(ev.sym->name, name);
		assert_true(ev.parent->addr == n);
		count++;
	}
	assert_true(uft_stream_info(st)->events == count);
	assert_true(uft_stream_info(st)->damaged_bytes == 0);
	uft_stream_close(st);
	return count;
}

static void test_overwrite(void **state)
{
	struct synth_opts o = { .ring_bytes = 32768, .sub_bytes = 4096, .overwrite = 1 };
	uint64_t events = 0, gaps = 0, from, saved = 0;
	struct runner r = { 0 };
	struct timespec now, start;
	struct check c;
	pthread_t thread;

	(void)state;
	check_start(&c, &o, UFT_TRACER_FUNCTION);
	check_finish(&c);
	r.c = &c;
	assert_int_equal(pthread_create(&thread, NULL, run, &r), 0);
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		c.w = synth_writer(c.s, c.path, UFT_TRACER_FUNCTION, 0);
		assert_int_equal(uft_writer_slice(c.w, 0, 100, c.img), 0);
		from = __atomic_load_n(&r.n, __ATOMIC_ACQUIRE);
		assert_true(uft_writer_poll(c.w) >= 0);
		check_finish(&c);
		events += check_file(c.path, &gaps);
		saved++;
		assert_true(r.n >= from);
		clock_gettime(CLOCK_MONOTONIC, &now);
		/* Until enough has happened, whichever of the two threads was kept from running. */
	} while (now.tv_sec - start.tv_sec < 2 || saved <= 5 || events <= saved * 100);
	__atomic_store_n(&r.stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	/* at rest, the last ring_bytes of records are all there */
	c.w = synth_writer(c.s, c.path, UFT_TRACER_FUNCTION, 0);
	assert_int_equal(uft_writer_slice(c.w, 0, 100, c.img), 0);
	check_finish(&c);
	gaps = 0;
	assert_true(check_file(c.path, &gaps) > (32768 - 2 * 4096) / 16);
	assert_true(gaps == 0);
	printf("%llu recordings, %llu events\n", (unsigned long long)saved, (unsigned long long)events);
	check_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_overwrite) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
