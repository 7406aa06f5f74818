/* SPDX-License-Identifier: MIT */
/*
 * event_ring_test.c - the rings that the session writes itself, read back: order, losses, and what an
 * overwritten ring has left
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/events/sources.h"
#include "stream/live/live.h"
#include "stream/file/writer.h"

#define RING	(64u << 10)
#define MANY	20000u		/* records of 64 bytes: many times the ring */

static struct event_ring *begin(int overwrite, struct uft_session **s)
{
	struct uft_session_opts opts = {
		.ring_bytes = RING, .sub_bytes = 4096, .no_children = 1, .overwrite = overwrite
	};
	struct uft_ops op = { .tracer = UFT_TRACER_HWLAT };
	struct uft_trace_spec spec = { .ops = &op, .nops = 1 };
	struct uft_error err = { "" };
	struct event_ring *o;

	assert_int_equal(uft_session_create(&opts, NULL, s, &err), 0);
	o = event_ring_open(*s, 7, 0, NULL);
	assert_non_null(o);
	assert_int_equal(event_ring_write(o, 0, 1, 7, UFT_EVENT_HWLAT, (uint64_t[1]){ 1 }, 1), -EAGAIN);
	assert_int_equal(uft_session_trace(*s, &spec, &err), 0);	/* nobody polls: no thread of the tracer runs */
	return o;
}

static int put(struct event_ring *o, uint64_t i)
{
	uint64_t w[4] = { i, 0, 0, i }, task = 7 | (7 + i % 3) << 32;

	return event_ring_write(o, 0, 1000 * (i + 1), task, UFT_EVENT_HWLAT, w, 4);
}

/* What the file has: @first to @last in order, but for what is lost. */
static void expect(const char *path, uint64_t last, uint64_t lost, int is_whole)
{
	struct uft_error err = { "" };
	struct uft_stream *st;
	struct uft_event ev;
	uint64_t next = 0, n = 0, skipped = 0;
	int has_begun = 0;

	assert_int_equal(uft_stream_open(path, NULL, &st, &err), 0);
	assert_int_equal(uft_stream_info(st)->lost, lost);
	while (uft_stream_next(st, &ev) == 1) {
		if (ev.kind == UFT_EV_LOST)
			continue;
		assert_int_equal(ev.kind, UFT_EV_DATA);
		assert_int_equal(ev.data, UFT_EVENT_HWLAT);
		assert_int_equal(ev.word[0], ev.word[3]);
		assert_int_equal(ev.task->tid, 7 + ev.word[0] % 3);
		skipped += has_begun ? ev.word[0] - next : 0;
		assert_true(ev.word[0] >= next);
		if (!has_begun && is_whole)
			assert_int_equal(ev.word[0], 0);
		has_begun = 1;
		next = ev.word[0] + 1;
		n++;
	}
	assert_int_equal(skipped, 0);
	assert_int_equal(next, last + 1);
	assert_int_equal(uft_stream_info(st)->events, n);
	assert_true(n > RING / 64 / 2);
	uft_stream_close(st);
}

static struct uft_writer *writer(struct uft_session *s, const struct event_ring *o, const char *path)
{
	struct uft_writer_opts opts = { .tracer = UFT_TRACER_HWLAT, .cmdline = "event_ring_test" };
	struct uft_error err = { "" };
	struct uft_writer *w;

	assert_int_equal(uft_writer_create(path, uft_session_arena(s), &opts, &w, &err), 0);
	assert_int_equal(uft_writer_slice(w, o->slice, (uint32_t)o->pid, o->img), 0);
	return w;
}

/* Read while it is written: all of it. */
static void test_read(void **state)
{
	struct uft_session *s;
	struct event_ring *o = begin(0, &s);
	struct uft_writer *w = writer(s, o, *state);

	for (uint64_t i = 0; i < MANY; i++) {
		assert_int_equal(put(o, i), 0);
		if (!(i % 256))
			assert_true(uft_writer_poll(w) >= 0);
	}
	assert_int_equal(uft_writer_finish(w, NULL, NULL), 0);
	expect(*state, MANY - 1, 0, 1);
	uft_session_destroy(s);
}

/* Without a reader the first stay, the others are counted. */
static void test_full(void **state)
{
	struct uft_session *s;
	struct event_ring *o = begin(0, &s);
	struct uft_writer *w = writer(s, o, *state);
	uint64_t taken = 0, lost = 0;

	for (uint64_t i = 0; i < MANY; i++) {
		int ret = put(o, i);

		assert_true(ret == 0 || (ret == -ENOBUFS && i >= taken));
		taken += !ret;
		lost += ret != 0;
	}
	assert_int_equal(taken + lost, MANY);
	assert_int_equal(uft_writer_finish(w, NULL, NULL), 0);
	expect(*state, taken - 1, lost, 1);
	uft_session_destroy(s);
}

/* A flight recorder: the last stay. */
static void test_overwrite(void **state)
{
	struct uft_session *s;
	struct event_ring *o = begin(1, &s);
	struct uft_writer *w = writer(s, o, *state);

	for (uint64_t i = 0; i < MANY; i++)
		assert_int_equal(put(o, i), 0);
	assert_int_equal(uft_writer_finish(w, NULL, NULL), 0);
	expect(*state, MANY - 1, 0, 0);
	uft_session_destroy(s);
}

/* Slices of ours end, and are given out again; targets get none of them. */
static void test_slices(void **state)
{
	struct uft_session *s;
	struct event_ring *o = begin(0, &s), *more[64];
	const struct uft_arena *a = uft_session_arena(s);
	uint32_t n = 0;

	(void)state;
	assert_true(o->slice >= a->nslices);
	while (n < 64 && (more[n] = event_ring_open(s, 7, 0, NULL)))
		n++;
	assert_int_equal(n, a->nown - 1);
	event_ring_close(o);
	o = event_ring_open(s, 7, 0, NULL);
	assert_non_null(o);
	assert_int_equal(put(o, 0), 0);
	for (uint32_t i = s->arena.nspares; i < s->arena.nfamilies; i++) {
		uint32_t slice = arena_claim(&s->arena, 8, 7, 0);

		assert_true(slice < a->nslices && slice % a->per_file == 0);
	}
	assert_int_equal(arena_claim(&s->arena, 8, 7, 0), UFT_NO_SLICE);
	for (uint32_t i = 0; i < a->nslices; i++)
		if (arena_slice(&s->arena, i)->state)
			arena_release(&s->arena, i);
	event_ring_close(o);
	while (n--)
		event_ring_close(more[n]);
	uft_session_destroy(s);
}

int main(void)
{
	char path[] = "/tmp/uft-own-test.XXXXXX";
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(test_read, path), cmocka_unit_test_prestate(test_full, path),
		cmocka_unit_test_prestate(test_overwrite, path), cmocka_unit_test(test_slices),
	};
	int fd = mkstemp(path), ret;

	if (fd < 0)
		return 1;
	close(fd);
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return ret;
}
