/* SPDX-License-Identifier: MIT */
/*
 * squeeze_test.c - a full buffer lets go what it does not show; what it shows stays, also of functions that it
 * knows of late, with the depths that it had
 */
#include "tests/unit/stream/check.h"

#include "stream/live/live.h"

#define SUB	4096u
#define FUNCS	64u
#define KNOWN	32u		/* functions that the image tells from the start */
#define WANTED	40u		/* one that it tells later */
#define SELDOM	8u
#define BUSY	3000u		/* records of 16 bytes: three times what the buffer holds */

struct bench {
	struct synth *s;
	struct uft_image *img;
	struct uft_live *l;
	struct synth_at at;
};

static void tell(struct bench *b, uint32_t nfuncs)
{
	struct uft_mapped *m = &b->img->obj[0];

	m->ntext_ids = synth_text_id(b->img, nfuncs) - m->first_text_id;
	m->nstubs = nfuncs;
}

static void start(struct bench *b, uint32_t hidden)
{
	const struct uft_live_view view = { .filter = "func_40\n", .notrace = "", .roots = "" };
	const struct synth_opts opts = { .ring_bytes = 32 * SUB, .sub_bytes = SUB };
	const struct uft_live_opts live = { .cpu_bytes = 4 * SUB, .overwrite = 1 };

	b->s = synth_new(&opts);
	b->img = synth_image(1, FUNCS);
	tell(b, KNOWN);
	synth_begin(b->s, 0, 100, 1);
	assert_int_equal(uft_live_create(synth_arena(b->s), &live, &b->l), 0);
	assert_int_equal(uft_live_slice(b->l, 0, b->img), 0);
	assert_int_equal(uft_live_choose(b->l, uft_live_clock(b->l), hidden, &view), 0);
	b->at = (struct synth_at){ 0, 0, 100, 100, uft_live_clock(b->l) };
}

static void put(struct bench *b, int is_call, uint32_t func, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		b->at.clock++;
		assert_int_equal(is_call ? synth_call(b->s, b->at, synth_stub_id(b->img, func), 1) :
				 synth_func(b->s, b->at, synth_text_id(b->img, func), 0), 1);
	}
}

/* All records of the one function are shown, and none of them was lost. */
static void finish(struct bench *b)
{
	struct uft_live_stats stats;
	struct uft_stream *st;
	struct uft_event ev;
	unsigned n = 0;

	uft_live_stats(b->l, UFT_LIVE_ALL, &stats);
	assert_int_equal(stats.overrun + stats.dropped, 0);
	assert_int_equal(uft_live_snapshot(b->l, UFT_LIVE_ALL, &st), 0);
	for (; uft_stream_next(st, &ev) == 1; n++)
		assert_string_equal(ev.sym->name, "func_40");
	assert_int_equal(n, SELDOM);
	uft_stream_close(st);
	uft_live_destroy(b->l);
	uft_image_free(b->img);
	synth_free(b->s);
}

/* Its ids were told before it was armed, and after the last round. */
static void told_since(void **state)
{
	struct bench b;

	(void)state;
	start(&b, UFT_LIVE_NO_GRAPH);
	tell(&b, FUNCS);
	put(&b, 0, WANTED, SELDOM);
	put(&b, 0, 1, BUSY);
	assert_true(uft_live_pull(b.l) > 0);
	finish(&b);
}

/* A round that does not look at images (uft_live_clear()) comes before they are told. */
static void told_later(void **state)
{
	struct bench b;

	(void)state;
	start(&b, UFT_LIVE_NO_GRAPH);
	put(&b, 0, WANTED, SELDOM);
	put(&b, 0, 1, BUSY);
	assert_true(uft_live_pull(b.l) > 0);
	tell(&b, FUNCS);
	uft_live_pull(b.l);
	finish(&b);
}

/* With a threshold a call is one record. */
static void thresh(void **state)
{
	struct bench b;

	(void)state;
	start(&b, UFT_LIVE_NO_FUNCS);
	tell(&b, FUNCS);
	put(&b, 1, WANTED, SELDOM);
	put(&b, 1, 1, BUSY);
	uft_live_pull(b.l);
	finish(&b);
}

/* ---- A small buffer shows what a large one does ------------------------------------------------- */

#define MANY	600u		/* functions: more than are remembered at a time */
#define STEPS	60000u

static uint64_t seed;

static uint32_t roll(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % n;
}

struct thread { uint32_t tid, func[8], n; };

/* Calls that nest, of which few are shown; function's records among them. */
static void step(struct bench *b, struct thread *t)
{
	uint32_t func = roll(400) ? roll(MANY) : WANTED, what = roll(10);

	b->at.tid = t->tid;
	b->at.clock++;
	if (what < 3)
		assert_int_equal(synth_func(b->s, b->at, synth_text_id(b->img, func), 0), 1);
	else if (t->n == 8 || (t->n && what < 6))
		assert_int_equal(synth_exit(b->s, b->at, synth_stub_id(b->img, t->func[--t->n])), 1);
	else
		assert_int_equal(synth_entry(b->s, b->at, synth_stub_id(b->img, t->func[t->n++] = func)), 1);
}

static void random_stream(struct bench *b, struct uft_live *small, uint32_t hidden, const struct uft_live_view *view)
{
	struct thread t[2] = { { .tid = 100 }, { .tid = 101 } };

	for (unsigned i = 0; i < STEPS; i++) {
		step(b, &t[i / 50 % 2]);
		if (i % 500 == 0)
			uft_live_pull(b->l);
		if (i == STEPS / 2) {	/* from now on all of function's are shown, or none is */
			assert_int_equal(uft_live_choose(b->l, b->at.clock, hidden ^ UFT_LIVE_NO_FUNCS, view), 0);
			assert_int_equal(uft_live_choose(small, b->at.clock, hidden ^ UFT_LIVE_NO_FUNCS, view), 0);
		}
	}
	uft_live_pull(b->l);
}

/* Returns how many events there are. */
static unsigned compare(struct uft_live *large, struct uft_live *small)
{
	struct uft_stream *st[2];
	struct uft_event ev[2];
	unsigned n = 0;
	int more;

	assert_int_equal(uft_live_snapshot(large, UFT_LIVE_ALL, &st[0]), 0);
	assert_int_equal(uft_live_snapshot(small, UFT_LIVE_ALL, &st[1]), 0);
	while ((more = uft_stream_next(st[0], &ev[0])) == uft_stream_next(st[1], &ev[1]) && more == 1) {
		assert_int_equal(ev[0].clock, ev[1].clock);
		assert_int_equal(ev[0].kind, ev[1].kind);
		assert_int_equal(ev[0].depth, ev[1].depth);
		assert_int_equal(ev[0].task->tid, ev[1].task->tid);
		assert_string_equal(ev[0].sym->name, ev[1].sym->name);
		n++;
	}
	assert_int_equal(more, 0);
	uft_stream_close(st[0]);
	uft_stream_close(st[1]);
	return n;
}

static void same_as_large(void **state)
{
	const struct uft_live_view view = { .filter = "func_40\n", .notrace = "", .roots = "" };
	const struct synth_opts opts = { .ring_bytes = 32 * SUB, .sub_bytes = SUB };
	const struct uft_live_opts all = { .cpu_bytes = 4096 * SUB, .overwrite = 1 };
	struct uft_live_opts some = { .cpu_bytes = 64 * SUB, .overwrite = 1 };

	(void)state;
	for (seed = 1; seed <= 4; seed++) {
		uint32_t hidden = seed & 1 ? UFT_LIVE_NO_FUNCS : 0;
		struct uft_live_stats stats;
		struct uft_live *small;
		uint64_t first = seed;
		struct bench b;

		b.s = synth_new(&opts);
		b.img = synth_image(1, MANY);
		synth_begin(b.s, 0, 100, 1);
		assert_int_equal(uft_live_create(synth_arena(b.s), &all, &b.l), 0);
		assert_int_equal(uft_live_follow(b.l, &some, &small), 0);
		assert_int_equal(uft_live_slice(b.l, 0, b.img), 0);
		b.at = (struct synth_at){ 0, 0, 100, 100, uft_live_clock(b.l) };
		assert_int_equal(uft_live_choose(b.l, b.at.clock, hidden, &view), 0);
		assert_int_equal(uft_live_choose(small, b.at.clock, hidden, &view), 0);
		random_stream(&b, small, hidden, &view);
		uft_live_stats(small, UFT_LIVE_ALL, &stats);
		assert_int_equal(stats.overrun + stats.dropped, 0);
		assert_true(stats.bytes <= some.cpu_bytes);
		assert_true(compare(b.l, small) > 100);
		uft_live_stats(b.l, UFT_LIVE_ALL, &stats);
		assert_true(stats.bytes > 2 * some.cpu_bytes);
		uft_live_unfollow(small);
		uft_live_destroy(b.l);
		uft_image_free(b.img);
		synth_free(b.s);
		seed = first;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(told_since),
		cmocka_unit_test(told_later),
		cmocka_unit_test(thresh),
		cmocka_unit_test(same_as_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
