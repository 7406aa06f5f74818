/* SPDX-License-Identifier: MIT */
/*
 * choose_test.c - choices, and the stacks and events that a buffer shows although it shows none: how many it remembers, and which
 *
 * Markers stand for the records, since what is looked at are the clocks of chunks.
 */
#include <errno.h>

#include "tests/unit/stream/check.h"

#include "stream/live/live_internal.h"

#define SUB	4096u
#define HELD	(4 * SUB)		/* of each CPU */
#define ROUNDS	20000u

static struct uft_live *open_live(int overwrite)
{
	const struct uft_arena arena = {
		.magic = UFT_ABI_MAGIC, .version = UFT_ABI_VERSION, .ncpus = 2, .ring_bytes = HELD, .sub_bytes = SUB,
	};
	const struct uft_live_opts opts = { .cpu_bytes = HELD, .overwrite = overwrite };
	struct uft_live *l;

	assert_int_equal(uft_live_create(&arena, &opts, &l), 0);
	return l;
}

/* A record and its stack: as young as one that was taken with it may be. */
static uint64_t put(struct uft_live *l, uint32_t cpu)
{
	uint64_t clock;

	assert_int_equal(uft_live_mark(l, 1, 1, cpu, "x", 1, 0), 1);
	clock = l->ring[l->mark_index[cpu] - 1].until;
	uft_live_pull(l);		/* a session does it now and then: what is older than that is here */
	uft_live_show_one(l, clock);
	return clock;
}

static int is_remembered(const struct uft_live *l, uint64_t clock)
{
	size_t i = sel_single_from(l->single_at, l->nsingle_at, clock);

	return i < l->nsingle_at && l->single_at[i] == clock;
}

/*
 * A CPU that nothing runs on any more keeps its chunk, and its stack; those that the other CPU drove out are
 * forgotten.
 */
static void idle_cpu(void **state)
{
	struct uft_live *l = open_live(1);
	uint64_t idle = put(l, 1), last = 0;

	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++)
		last = put(l, 0);
	assert_true(l->cap_single_at <= 2 * (2 * HELD / 16) + 64);
	assert_true(is_remembered(l, idle));
	assert_true(is_remembered(l, last));
	uft_live_destroy(l);
}

/* One that has a record now and then covers all the time there was. */
static void slow_cpu(void **state)
{
	struct uft_live *l = open_live(1);
	uint64_t last = 0;

	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++)
		last = put(l, !(i % (ROUNDS / 32)));
	assert_true(l->cap_single_at <= 2 * (2 * HELD / 16) + 64);
	assert_true(is_remembered(l, last));
	uft_live_destroy(l);
}

/* What a full buffer did not take has no stack. */
static void full(void **state)
{
	struct uft_live *l = open_live(0);
	uint64_t first = put(l, 0), refused = 0;

	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++) {
		long ret = uft_live_mark(l, 1, 1, 0, "x", 1, 0);

		assert_true(ret == 1 || ret == -EBADF);
		refused += ret != 1;
		uft_live_pull(l);
		uft_live_show_one(l, uft_live_clock(l));
	}
	assert_true(refused > 0);
	assert_int_equal(l->cpu[0].dropped, refused);
	assert_int_equal(l->cpu[0].bytes, HELD);
	assert_true(l->cap_single_at <= 2 * (HELD / 16) + 64);
	assert_true(is_remembered(l, first));
	uft_live_destroy(l);
}

/* Events are named before they are in a ring: none of those is forgotten, however many there are. */
static void ahead(void **state)
{
	struct uft_live *l = open_live(1);
	uint64_t from;

	(void)state;
	put(l, 0);
	from = uft_live_clock(l);
	for (unsigned i = 0; i < 1000; i++)
		uft_live_show_one(l, from + i);
	for (unsigned i = 0; i < 1000; i++)
		assert_true(is_remembered(l, from + i));
	uft_live_destroy(l);
}

static uint32_t flags_at(const struct uft_live *l, uint64_t clock)
{
	const struct sel_choice *c = &l->choice[sel_choice_of(l->choice, l->nchoice, clock)];

	assert_true(c->from <= clock);
	return c->flags;
}

/*
 * One view after the other and back, while a CPU is idle: each is made once, and choices of what is gone are
 * forgotten.
 */
static void choices(void **state)
{
	const struct uft_live_view view[2] = { { .filter = "a*\n", .notrace = "", .roots = "" },
		{ .filter = "b*\n", .notrace = "", .roots = "" } };
	const struct call_view *made[2] = { NULL, NULL };
	struct uft_live *l = open_live(1);
	uint64_t idle, last = 0;

	(void)state;
	uft_live_until(l, UINT64_MAX);
	assert_int_equal(uft_live_choose(l, uft_live_clock(l), UFT_LIVE_NO_FUNCS, &view[0]), 0);
	made[0] = l->choice[0].view;
	idle = put(l, 1);
	for (unsigned i = 0; i < ROUNDS; i++) {
		const struct call_view *v;

		uft_live_pull(l);
		assert_int_equal(uft_live_choose(l, uft_live_clock(l), UFT_LIVE_NO_GRAPH, &view[!(i % 2)]), 0);
		v = l->choice[l->nchoice - 1].view;
		assert_true(!made[!(i % 2)] || made[!(i % 2)] == v);
		made[!(i % 2)] = v;
		last = put(l, 0);
	}
	assert_true(l->cap_choice <= 2 * (2 * (HELD / 16 + 2) + 16));
	assert_int_equal(flags_at(l, idle), UFT_LIVE_NO_FUNCS);
	assert_int_equal(flags_at(l, last), UFT_LIVE_NO_GRAPH);
	uft_live_destroy(l);
}

/* A choice that is taken back to a clock never was; the choice before it counts on. */
static void choice_taken_back_never_was(void **state)
{
	struct uft_live *l = open_live(1);
	uint64_t before, since;

	(void)state;
	assert_int_equal(uft_live_choose(l, uft_live_clock(l), UFT_LIVE_NO_FUNCS, NULL), 0);
	before = put(l, 0);
	since = uft_live_clock(l);
	assert_int_equal(uft_live_choose(l, uft_live_clock(l), UFT_LIVE_NO_GRAPH, NULL), 0);
	put(l, 0);
	assert_int_equal(uft_live_choose(l, uft_live_clock(l), UFT_LIVE_NO_CALLS, NULL), 0);
	assert_int_equal(uft_live_choose(l, since, UFT_LIVE_NO_FUNCS, NULL), 0);
	assert_int_equal(l->nchoice, 1);
	assert_int_equal(flags_at(l, before), UFT_LIVE_NO_FUNCS);
	assert_int_equal(uft_live_choose(l, since, UFT_LIVE_NO_OWN, NULL), 0);
	assert_int_equal(flags_at(l, before), UFT_LIVE_NO_FUNCS);
	assert_int_equal(flags_at(l, since), UFT_LIVE_NO_OWN);
	uft_live_destroy(l);
}

static const struct sel_choice *choice_at(const struct uft_live *l, uint64_t clock)
{
	return &l->choice[sel_choice_of(l->choice, l->nchoice, clock)];
}

/*
 * Of what functions switch only single ones are shown; once nobody does, the rest of what was not looked at is
 * shown by what it was then.
 */
static void unchosen_functions_wait(void **state)
{
	uint64_t one = 1, six = 6, three = 3;
	const struct uft_event_set gone = { &six, 1 }, shown = { &three, 1 };
	const struct uft_live_events some = { .shown = { &one, 1 }, .waiting = { &six, 1 } },
		all = { .shown = { &three, 1 } };
	const struct uft_live_opts opts = { .cpu_bytes = HELD, .overwrite = 1 };
	struct uft_live *l = open_live(1), *tap;
	uint32_t id[3];
	uint64_t looked, later;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		id[i] = UFT_EVENT_FREE + (uint32_t)i;
	uft_live_until(l, UINT64_MAX);
	assert_int_equal(uft_live_choose_events(l, uft_live_clock(l), &some), 0);
	put(l, 0);
	while (l->watermark <= l->choice[0].from)	/* behind the clock by a moment */
		uft_live_pull(l);
	assert_int_equal(uft_live_follow(l, &opts, &tap), 0);
	uft_live_watched(l, tap);
	looked = l->looked;
	later = put(l, 0);
	assert_true(later > looked);
	for (size_t i = 0; i < 3; i++) {
		assert_true(event_view_show(choice_at(l, later), id[i]));
		assert_int_equal(event_view_wait(choice_at(l, later), id[i]), i > 0);
	}
	uft_live_settle(l, &gone, &shown);
	assert_true(event_view_wait(choice_at(l, looked), id[1]));
	assert_true(event_view_show(choice_at(l, later), id[1]) && !event_view_wait(choice_at(l, later), id[1]));
	assert_false(event_view_show(choice_at(l, later), id[2]));
	assert_int_equal(uft_live_choose_events(l, uft_live_clock(l), &all), 0);
	assert_int_equal(l->nchoice, 2);
	assert_true(event_view_is(l->choice[1].events, &all));
	uft_live_unfollow(tap);
	uft_live_destroy(tap);
	uft_live_destroy(l);
}

static struct uft_object *add_object(struct uft_image *img, const char *path, const char *func, uint64_t bias)
{
	struct uft_object *obj = uft_object_make(path, (const uint8_t *)path, 8);
	struct uft_mapped *m;

	assert_non_null(obj);
	assert_int_equal(uft_object_make_func(obj, 0x100, 0x10, func, 0), 0);
	m = uft_image_add(img, obj, bias);
	m->text_start = bias + 0x100;
	m->text_end = bias + 0x110;
	uft_object_put(obj);
	return obj;
}

/* Two libraries of one file name: each function is judged by its own. */
static void same_name(void **state)
{
	const struct uft_live_view view = { .filter = "beta:mod:lib\n", .notrace = "", .roots = "" };
	struct uft_image *img = uft_image_alloc(1, "/bin/prog");
	struct uft_stream st = { .resolver = uft_resolver_alloc(), .sel.image_of = dec_task_image };
	struct dec_image image = { .img = img };
	struct dec_task task = { .image = &image };
	struct call_view *v = call_view_make(&view);
	struct uft_event alpha = { .kind = UFT_EV_FUNC, .task = &task.pub }, beta = alpha;

	(void)state;
	add_object(img, "/bin/prog", "main", 0x10000);
	add_object(img, "/old/one/lib.so", "alpha", 0x20000);
	add_object(img, "/new/one/lib.so", "beta", 0x30000);
	alpha.sym = uft_resolve_addr(st.resolver, img, 0x20100);
	beta.sym = uft_resolve_addr(st.resolver, img, 0x30100);
	assert_string_equal(alpha.sym->name, "alpha");
	assert_string_equal(beta.sym->name, "beta");
	assert_true(call_view_wants(&st.sel, v, &beta));
	assert_false(call_view_wants(&st.sel, v, &alpha));
	assert_int_equal(uft_image_sym_addr(img, beta.sym), 0x30100);
	call_view_put(v);
	free(st.sel.view_match);
	uft_resolver_free(st.resolver);
	uft_image_free(img);
}

/* Of a tap and its leader: how often the tap was looked at, and whether it was locked then. */
struct looks { struct uft_live *leader, *tap; int n, locked; };

static void look(void *arg, const struct uft_event *e, uint64_t clock)
{
	struct looks *k = arg;

	(void)e;
	k->n++;
	if (pthread_mutex_trylock(&k->tap->lock))
		k->locked++;
	else
		pthread_mutex_unlock(&k->tap->lock);
	uft_live_show_one(k->leader, clock);
}

/*
 * The leader's lock comes first: a look at a tap, which takes it, holds none. The thread sanitizer compares
 * both orders.
 */
static void lock_order(void **state)
{
	const struct uft_live_opts opts = { .cpu_bytes = HELD, .overwrite = 1 };
	struct looks k = { .leader = open_live(1) };

	(void)state;
	assert_int_equal(uft_live_follow(k.leader, &opts, &k.tap), 0);
	uft_live_until(k.leader, UINT64_MAX);
	assert_int_equal(uft_live_mark(k.tap, 1, 1, 0, "x", 1, 0), 1);
	while (uft_live_certain(k.tap) <= k.tap->ring[0].until)	/* all locks, the leader's first */
		uft_live_pull(k.leader);
	uft_live_watch(k.tap, k.leader, look, &k);
	assert_int_equal(k.n, 1);
	assert_int_equal(k.locked, 0);
	uft_live_pull(k.leader);
	uft_live_unfollow(k.tap);
	uft_live_destroy(k.tap);
	uft_live_destroy(k.leader);
}

static void count_look(void *arg, const struct uft_event *e, uint64_t clock)
{
	(void)e;
	(void)clock;
	++*(unsigned *)arg;
}

/* A tap loses nothing of a burst beyond its limit, and is within the limit after a look. */
static void tap_grows(void **state)
{
	const struct uft_live_opts opts = { .cpu_bytes = HELD, .overwrite = 1, .is_tap = 1 };
	struct uft_live *l = open_live(1), *tap;
	unsigned seen = 0;

	(void)state;
	assert_int_equal(uft_live_follow(l, &opts, &tap), 0);
	uft_live_until(l, UINT64_MAX);
	for (unsigned i = 0; i < ROUNDS; i++)
		assert_int_equal(uft_live_mark(tap, 1, 1, 0, "x", 1, 0), 1);
	assert_true(tap->cpu[0].bytes > HELD);
	while (uft_live_certain(tap) <= tap->ring[0].until)
		uft_live_pull(l);
	uft_live_watch(tap, l, count_look, &seen);
	assert_int_equal(seen, ROUNDS);
	uft_live_until(l, uft_live_clock(l));
	for (unsigned i = 0; i < ROUNDS; i++)		/* too young for the next look */
		assert_int_equal(uft_live_mark(tap, 1, 1, 0, "x", 1, 0), 1);
	uft_live_pull(l);
	uft_live_watch(tap, l, count_look, &seen);
	assert_int_equal(seen, ROUNDS);
	assert_true(tap->cpu[0].bytes <= HELD);
	uft_live_unfollow(tap);
	uft_live_destroy(tap);
	uft_live_destroy(l);
}

static void look_at_mark(void *arg, const struct uft_event *e, uint64_t clock)
{
	uint64_t *seen = arg;

	assert_int_equal(e->kind, UFT_EV_MARK);
	assert_string_equal(e->text, "x");
	seen[0]++;
	seen[1] = clock;
}

/* What the session writes into a buffer comes to its tap, with the same clock; and no more once the tap is gone. */
static void own_records(void **state)
{
	const struct uft_live_opts opts = { .cpu_bytes = HELD, .overwrite = 1 };
	struct uft_live *l = open_live(1), *tap;
	uint64_t seen[2] = { 0, 0 }, clock;

	(void)state;
	uft_live_until(l, UINT64_MAX);
	put(l, 0);		/* before it is watched */
	assert_int_equal(uft_live_follow(l, &opts, &tap), 0);
	uft_live_watched(l, tap);
	clock = put(l, 1);
	while (uft_live_certain(tap) <= clock)
		uft_live_pull(l);
	uft_live_watch(tap, l, look_at_mark, seen);
	assert_int_equal(seen[0], 1);
	assert_true(seen[1] <= clock);
	uft_live_show_one(l, seen[1]);
	assert_true(is_remembered(l, seen[1]));
	uft_live_watched(l, NULL);
	clock = put(l, 1);
	while (uft_live_certain(tap) <= clock)
		uft_live_pull(l);
	uft_live_watch(tap, l, look_at_mark, seen);
	assert_int_equal(seen[0], 1);
	uft_live_unfollow(tap);
	uft_live_destroy(tap);
	uft_live_destroy(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_cpu),
		cmocka_unit_test(slow_cpu),
		cmocka_unit_test(full), cmocka_unit_test(ahead),
		cmocka_unit_test(choices),
		cmocka_unit_test(choice_taken_back_never_was),
		cmocka_unit_test(unchosen_functions_wait),
		cmocka_unit_test(same_name),
		cmocka_unit_test(lock_order),
		cmocka_unit_test(tap_grows),
		cmocka_unit_test(own_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
