/* SPDX-License-Identifier: MIT */
/*
 * live_names_test.c - a session that sees millions of tasks keeps the names of those that records may tell of, and no
 * more memory than these take
 */
#include "tests/unit/stream/check.h"

#include "stream/live/live_internal.h"

#define SUB	4096u
#define NEVER	(1u << 23)	/* above all numbers that a task may have */
#define DECODED	(NEVER - 1)
#define MANY	(5 * UFT_LIVE_NAMES)

struct bench {
	struct synth *s;
	struct uft_image *img;
	struct uft_live *l;
};

struct names { uint32_t n, last; int has_own, has_decoded; };

static void start(struct bench *b)
{
	const struct synth_opts opts = { .ring_bytes = 32 * SUB, .sub_bytes = SUB };
	const struct uft_live_opts live = { .cpu_bytes = 4 * SUB };

	b->s = synth_new(&opts);
	b->img = synth_image(1, 4);
	synth_begin(b->s, 0, DECODED, 1);
	assert_int_equal(uft_live_create(synth_arena(b->s), &live, &b->l), 0);
	assert_int_equal(uft_live_slice(b->l, 0, b->img), 0);
}

static void finish(struct bench *b)
{
	uft_live_destroy(b->l);
	uft_image_free(b->img);
	synth_free(b->s);
}

static void count(void *arg, uint32_t pid, uint32_t tid, const char *comm)
{
	struct names *k = arg;

	assert_int_equal(pid, tid);
	k->n++;
	k->has_own |= pid == (uint32_t)getpid() && !strcmp(comm, "own");
	k->has_decoded |= pid == DECODED && !strcmp(comm, "decoded");
	/* of the others, by number as by time: none of the latest is missing */
	if (pid >= NEVER) {
		assert_true(!k->last || pid == k->last + 1);
		assert_string_equal(comm, "gone");
		k->last = pid;
	}
}

static struct names names_of(struct uft_live *l)
{
	struct names k = { 0 };

	assert_int_equal(uft_live_tasks(l, SIZE_MAX, count, &k), 0);
	return k;
}

/* The consumer's next event has this task's name. */
static void consume(struct bench *b, const char *comm)
{
	int has_come = 0;

	synth_func(b->s, (struct synth_at){ 0, 0, DECODED, DECODED, uft_live_clock(b->l) }, synth_text_id(b->img, 1),
		   0);
	while (!has_come) {		/* it is handed out when nothing older can come */
		struct uft_stream *st;
		struct uft_event ev;

		uft_live_pull(b->l);
		st = uft_live_begin(b->l, UFT_LIVE_ALL);
		while (!has_come && uft_stream_next(st, &ev) == 1)
			has_come = ev.kind == UFT_EV_FUNC;
		if (has_come)
			assert_string_equal(ev.task->comm, comm);
		uft_live_end(b->l);
	}
}

static void many(struct bench *b, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		assert_int_equal(uft_live_task(b->l, NEVER + i, NEVER + i, 0, "gone"), 0);
}

static void bounded(void **state)
{
	struct bench b;
	struct names k;

	(void)state;
	start(&b);
	assert_int_equal(uft_live_task(b.l, (uint32_t)getpid(), (uint32_t)getpid(), 0, "own"), 0);
	assert_int_equal(uft_live_task(b.l, DECODED, DECODED, 0, "decoded"), 0);
	consume(&b, "decoded");
	for (uint32_t i = 0; i < MANY; i += UFT_LIVE_NAMES / 4) {
		many(&b, i, i + UFT_LIVE_NAMES / 4);
		k = names_of(b.l);
		assert_true(k.n <= 2 * UFT_LIVE_NAMES + 4);
		assert_true(k.n >= UFT_LIVE_NAMES || k.n == i + UFT_LIVE_NAMES / 4 + 2);
		assert_int_equal(k.last, NEVER + i + UFT_LIVE_NAMES / 4 - 1);
		assert_true(k.has_own);
		assert_true(k.has_decoded);
	}
	consume(&b, "decoded");
	finish(&b);
}

/* As many as saved_cmdlines_size says, if that is more; also in a buffer that follows. */
static void as_many_as_the_size_says(void **state)
{
	const struct uft_live_opts opts = { .cpu_bytes = 4 * SUB };
	struct uft_live *follower;
	struct bench b;

	(void)state;
	start(&b);
	uft_live_keep_names(b.l, MANY);
	assert_int_equal(uft_live_follow(b.l, &opts, &follower), 0);
	many(&b, 0, MANY);
	assert_int_equal(names_of(b.l).n, MANY);
	assert_int_equal(names_of(follower).n, MANY);
	uft_live_keep_names(b.l, 1);
	many(&b, MANY, MANY + 1);
	assert_true(names_of(b.l).n <= UFT_LIVE_NAMES + 1);
	assert_true(names_of(follower).n <= UFT_LIVE_NAMES + 1);
	uft_live_destroy(follower);
	finish(&b);
}

static void note_pid(void *arg, uint32_t pid, uint32_t tid, const char *comm)
{
	uint32_t **at = arg;

	(void)tid, (void)comm;
	*(*at)++ = pid;
}

/* The tasks that were named last are listed, whatever their numbers, which begin anew at 1 here. */
static void latest_names_are_listed(void **state)
{
	static const uint32_t named[] = { 32766, 32767, 3, 1, 2, 32767 }, last[] = { 1, 2, 32767 };
	uint32_t pids[6] = { 0 }, *at = pids;
	struct bench b;

	(void)state;
	start(&b);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(uft_live_task(b.l, named[i], named[i], 0, "one"), 0);
	assert_int_equal(uft_live_tasks(b.l, 3, note_pid, &at), 0);
	assert_int_equal(at - pids, 3);
	assert_memory_equal(pids, last, sizeof(last));
	finish(&b);
}

/* ---- Numbers of another pid namespace -------------------------------------------------------- */

/* The next event of the task @tid is of the session's task @outer, called @comm. */
static void consume_of(struct bench *b, uint32_t tid, uint32_t outer, const char *comm)
{
	int has_come = 0;

	synth_func(b->s, (struct synth_at){ 0, 0, DECODED, tid, uft_live_clock(b->l) }, synth_text_id(b->img, 1), 0);
	while (!has_come) {
		struct uft_stream *st;
		struct uft_event ev;

		uft_live_pull(b->l);
		st = uft_live_begin(b->l, UFT_LIVE_ALL);
		while (!has_come && uft_stream_next(st, &ev) == 1)
			has_come = ev.kind == UFT_EV_FUNC && ev.task->own_tid == tid;
		if (has_come) {
			assert_int_equal(ev.task->tid, outer);
			assert_int_equal(ev.task->pid, NEVER + DECODED);
			assert_string_equal(ev.task->comm, comm);
		}
		uft_live_end(b->l);
	}
}

static int has_outer(const struct bench *b, uint32_t tid)
{
	const struct uft_stream *st = b->l->base;
	int has = 0;

	for (uint32_t i = 0; i < st->nouter; i++)
		has |= st->outer[i].tid == tid;
	return has;
}

/* Numbers of tasks that are decoded, that run, or that came last stay; changes of numbers and names are reported. */
static void needed_numbers_stay(void **state)
{
	struct bench b;

	(void)state;
	start(&b);
	assert_int_equal(uft_live_outer(b.l, 0, DECODED, NEVER + DECODED), 0);
	assert_int_equal(uft_live_outer(b.l, 0, 7, NEVER + 7), 0);
	assert_int_equal(uft_live_outer(b.l, 0, 8, (uint32_t)getpid()), 0);
	assert_int_equal(uft_live_task(b.l, NEVER + DECODED, NEVER + 7, 0, "seven"), 0);
	consume_of(&b, 7, NEVER + 7, "seven");
	assert_int_equal(uft_live_task(b.l, NEVER + DECODED, NEVER + 7, 0, "siete"), 0);
	consume_of(&b, 7, NEVER + 7, "siete");
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(uft_live_outer(b.l, 0, 1000 + i, NEVER + 1000 + i), 0);
	assert_true(b.l->base->nouter <= 2 * UFT_LIVE_NAMES + 4);
	assert_true(b.l->base->nouter >= UFT_LIVE_NAMES);
	assert_true(has_outer(&b, 7) && has_outer(&b, 8) && !has_outer(&b, 1000));
	consume_of(&b, 7, NEVER + 7, "siete");
	consume_of(&b, 8, (uint32_t)getpid(), "<...>");
	consume_of(&b, 1000 + MANY - 1, NEVER + 1000 + MANY - 1, "<...>");
	assert_int_equal(uft_live_outer(b.l, 0, 7, NEVER + 6), 0);
	consume_of(&b, 7, NEVER + 6, "<...>");
	finish(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(bounded), cmocka_unit_test(as_many_as_the_size_says), cmocka_unit_test(latest_names_are_listed),
		cmocka_unit_test(needed_numbers_stay) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
