/* SPDX-License-Identifier: MIT */
/*
 * live_lost_test.c - what a target says that it lost, in the buffer of a running session: no more than there
 * was time for; and the end of a slice
 */
#include "tests/unit/stream/check.h"


#include "stream/live/live.h"

#define SUB	4096u

struct bench {
	struct synth *s;
	struct uft_image *img;
	struct uft_live *l;
};

static void start(struct bench *b)
{
	const struct synth_opts opts = { .ring_bytes = 32 * SUB, .sub_bytes = SUB };
	const struct uft_live_opts live = { .cpu_bytes = 4 * SUB };

	b->s = synth_new(&opts);
	b->img = synth_image(1, 4);
	synth_begin(b->s, 0, 100, 1);
	assert_int_equal(uft_live_create(synth_arena(b->s), &live, &b->l), 0);
	assert_int_equal(uft_live_slice(b->l, 0, b->img), 0);
}

static void finish(struct bench *b)
{
	uft_live_destroy(b->l);
	uft_image_free(b->img);
	synth_free(b->s);
}

/* How many are counted once the ring says that it has lost @n in all. */
static uint64_t dropped_if(struct bench *b, uint64_t n)
{
	struct uft_live_stats stats;

	synth_ring(b->s, 0, 0)->lost = n;
	uft_live_pull(b->l);
	uft_live_stats(b->l, UFT_LIVE_ALL, &stats);
	return stats.dropped;
}

static void counts(void **state)
{
	struct bench b;

	(void)state;
	start(&b);
	usleep(1000);
	assert_int_equal(dropped_if(&b, 10), 10);
	assert_int_equal(dropped_if(&b, 25), 25);
	finish(&b);
}

/* One stands for a number that nobody knows; and it says the same number again. */
static void false_counts_are_bounded(void **state)
{
	struct bench b;

	(void)state;
	start(&b);
	usleep(1000);
	assert_int_equal(dropped_if(&b, UINT64_MAX - 1), 1);
	for (int i = 0; i < 10; i++)
		dropped_if(&b, i & 1 ? 0 : UINT64_MAX - 1);
	assert_int_equal(dropped_if(&b, UINT64_MAX), 2);
	finish(&b);
	start(&b);
	usleep(1000);
	for (int i = 0; i < 10; i++)
		assert_int_equal(dropped_if(&b, i & 1 ? 0 : 900000), 900000);
	finish(&b);
}

/* The stream of what the buffer holds tells the same. */
static void stream_reports_the_same(void **state)
{
	struct uft_stream *st;
	struct uft_event ev;
	struct bench b;
	uint64_t lost = 0;

	(void)state;
	start(&b);
	synth_func(b.s, (struct synth_at){ 0, 0, 100, 100, uft_live_clock(b.l) }, synth_text_id(b.img, 1), 0);
	synth_ring(b.s, 0, 0)->lost = 1ull << 60;
	assert_int_equal(uft_live_slice_end(b.l, 0), 0);
	assert_int_equal(uft_live_snapshot(b.l, UFT_LIVE_ALL, &st), 0);
	while (uft_stream_next(st, &ev) == 1)
		lost += ev.kind == UFT_EV_LOST ? ev.lost : 0;
	uft_stream_close(st);
	assert_int_equal(lost, 1);
	finish(&b);
}

/* Another process gets no slice whose memory cannot become a hole: locked memory cannot. */
static void locked_slice_is_not_given(void **state)
{
	struct bench b;

	(void)state;
	start(&b);
	if (synth_lock(b.s, 0)) {
		finish(&b);
		skip();
	}
	assert_int_equal(uft_live_slice_end(b.l, 0), 0);
	assert_int_equal(synth_slice(b.s, 0)->state, UFT_SLICE_SPENT);
	finish(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(counts), cmocka_unit_test(false_counts_are_bounded), cmocka_unit_test(stream_reports_the_same),
		cmocka_unit_test(locked_slice_is_not_given) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
