/* SPDX-License-Identifier: MIT */
/* lod_test.c - levels of detail: bounded, nothing vanishes, and a finer index shows what the coarse one cannot */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "stream/file/reader.h"
#include "stream/wire/wire.h"
#include "view/levels_file.h"

#define ORIGIN		1000000u
#define CALLS		200000u
#define STEP		100u		/* ns from one short call to the next */
#define RARE_AT		(CALLS / 3 * STEP)
#define RARE_LEN	60000u
#define DURATION	((uint64_t)CALLS * STEP + RARE_LEN + 10)

static struct uft_sym leaf = { .index = 0, .name = "leaf" }, rare = { .index = 1, .name = "rare" },
	outer = { .index = 2, .name = "outer" };
static struct rows rows;	/* of the recording: new for each test */
static struct uft_task task = { .tid = 7, .pid = 7, .comm = "seven" };

static void add(struct lod *l, unsigned kind, const struct uft_sym *sym, uint64_t t, uint64_t duration, uint32_t depth,
		const struct view_filter *f)
{
	struct uft_event ev = {
		.ts_ns = ORIGIN + t, .kind = (uint16_t)kind, .sym = sym, .task = &task, .depth = depth
	};

	ev.duration_ns = duration;
	assert_true(lod_add(l, &ev, f) >= 0);
}

static int begin(void **state)
{
	(void)state;
	return rows_init(&rows);
}

static int end(void **state)
{
	(void)state;
	rows_free(&rows);
	return 0;
}

/* One call that lasts as long as the recording, short calls in it, and one long among these. */
static struct lod *load(struct names *names, size_t most, uint64_t below, const struct view_filter *f)
{
	struct lod *l = lod_new(names, &rows, ORIGIN, most, below);
	uint64_t t = 0;

	assert_non_null(l);
	add(l, UFT_EV_ENTRY, &outer, 0, 0, 0, f);
	for (uint32_t i = 0; i < CALLS; i++) {
		const struct uft_sym *sym = i == CALLS / 3 ? &rare : &leaf;
		uint64_t len = sym == &rare ? RARE_LEN : 20 + i % 40;

		add(l, UFT_EV_ENTRY, sym, t, 0, 1, f);
		add(l, UFT_EV_EXIT, sym, t + len, len, 1, f);
		t += sym == &rare ? RARE_LEN + 10 : STEP;
	}
	assert_int_equal(lod_finish(l, NULL), 0);
	return l;
}

struct seen { uint64_t spans[3], calls, rare, outer, longest_rare, last_end; uint32_t rare_name, outer_name; };

static void see(void *arg, uint32_t lane, const struct lod_span *s)
{
	struct seen *n = arg;

	assert_true(lane < 2);
	n->spans[lane]++;
	if (lane == 1) {
		assert_true(s->start >= n->last_end);		/* in order, nothing twice */
		n->last_end = s->start + s->len;
		n->calls += s->count;
	}
	if (s->name == n->rare_name) {
		n->rare++;
		n->longest_rare = s->len > n->longest_rare ? s->len : n->longest_rare;
	}
	n->outer += s->name == n->outer_name && s->len > DURATION / 2;
}

static struct seen query(struct names *names, const struct lod *l, const struct lod *fine, uint64_t from, uint64_t to,
			 uint64_t pixel)
{
	struct seen n = { .rare_name = names_get(names, "rare"), .outer_name = names_get(names, "outer") };

	lod_query(l, fine, &(struct lod_asked){ .behind_lane = LOD_LANES, .from = from, .to = to, .pixel = pixel }, see,
		  &n);
	return n;
}

static void test_zoom(void **state)
{
	static const size_t most[] = { 1u << 20, 20000, 500 };
	struct names names;

	(void)state;
	assert_int_equal(names_init(&names), 0);
	for (size_t i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
		struct lod *l = load(&names, most[i], 0, NULL);

		assert_true(lod_resolution(l) == 0 || i);
		for (uint64_t width = 10; width <= 2000; width *= 3) {
			struct seen n = query(&names, l, NULL, 0, DURATION, DURATION / width);

			assert_true(n.spans[1] <= 2 * width + 2);
			assert_int_equal(n.calls, CALLS);	/* every call is in a span */
			assert_int_equal(n.spans[0], 1);	/* it is open at the end: up to there */
			assert_int_equal(n.outer, 1);
			if (RARE_LEN > DURATION / width && RARE_LEN > lod_resolution(l))
				assert_true(n.rare == 1 && n.longest_rare == RARE_LEN);
		}
		lod_free(l);
	}
	names_free(&names);
}

/* With the finer one each call is itself again, and the long ones are there once. */
static void test_fine(void **state)
{
	struct lod *exact, *coarse, *fine;
	struct names names;
	struct seen a, b;

	(void)state;
	assert_int_equal(names_init(&names), 0);
	exact = load(&names, 1u << 20, 0, NULL);
	coarse = load(&names, 2000, 0, NULL);
	assert_true(lod_resolution(coarse) > 2000 && lod_resolution(coarse) < RARE_LEN);
	fine = load(&names, 1u << 20, lod_resolution(coarse), NULL);
	for (uint64_t from = RARE_AT - 5000; from < RARE_AT + RARE_LEN + 5000; from += 7777) {
		a = query(&names, exact, NULL, from, from + 9000, 1);
		b = query(&names, coarse, fine, from, from + 9000, 1);
		assert_int_equal(a.calls, b.calls);
		assert_int_equal(a.spans[1], b.spans[1]);
		assert_int_equal(a.rare, b.rare);
		assert_int_equal(b.spans[0], 1);
	}
	lod_free(exact);
	lod_free(coarse);
	lod_free(fine);
	names_free(&names);
}

/* What matches is drawn however far one zooms out, and nothing else is. */
static void test_filter(void **state)
{
	struct uft_filter_error err;
	struct view_filter *f;
	struct names names;
	struct seen n;
	struct lod *l;

	(void)state;
	assert_int_equal(names_init(&names), 0);
	assert_int_equal(view_filter_make("func == \"rare\" && duration >= 60000", &f, &err), 0);
	l = load(&names, 100, 0, f);
	n = query(&names, l, NULL, 0, DURATION, DURATION);
	assert_int_equal(n.rare, 1);
	assert_int_equal(n.calls, 1);
	assert_int_equal(n.spans[0], 0);
	lod_free(l);
	view_filter_free(f);
	assert_int_equal(view_filter_make("func =", &f, &err), -22);
	assert_int_equal(view_filter_make("  ", &f, &err), 0);
	assert_null(f);
	names_free(&names);
}

/* Out of order, deeper than there are lanes, longer than time: it is drawn somewhere. */
static void test_odd(void **state)
{
	struct lod *l;
	struct names names;
	struct seen n;

	(void)state;
	assert_int_equal(names_init(&names), 0);
	l = lod_new(&names, &rows, ORIGIN, 100, 0);
	add(l, UFT_EV_EXIT, &leaf, 1000, 10, 1, NULL);
	add(l, UFT_EV_EXIT, &rare, 1001, 900, 1, NULL);		/* began before the one before it */
	add(l, UFT_EV_EXIT, &rare, 1002, UINT64_MAX, 1, NULL);
	add(l, UFT_EV_EXIT, &leaf, 5, 0, 1, NULL);		/* time runs backwards */
	add(l, UFT_EV_EXIT, &leaf, 2000, 1, UINT32_MAX, NULL);
	assert_int_equal(lod_finish(l, NULL), 0);
	n = (struct seen){ 0 };
	lod_query(l, NULL, &(struct lod_asked){ .behind_lane = LOD_LANES, .to = 1500, .pixel = 1 }, see, &n);
	assert_int_equal(n.calls, 4);
	lod_query(l, NULL, &(struct lod_asked){ .row = 12345, .behind_lane = LOD_LANES, .to = 5000, .pixel = 1 }, see,
		  &n);
	assert_int_equal(n.calls, 4);
	lod_free(l);
	names_free(&names);
}

static int open_levels(const char *path, const struct rd_file *of, struct names *names, struct rows *to,
		       struct levels *out)
{
	int ret = levels_open(path, of, names, to, out);

	if (ret)
		assert_null(out->lod);
	return ret;
}

/* Makes a file of @rows equal tasks and nothing else, and reads it. */
static int open_crowd(int fd, const char *path, const struct rd_file *of, uint32_t rows)
{
	struct levels_head h = { .magic = LEVELS_MAGIC };
	struct wire w = { 0 };
	struct names names;
	struct rows its;
	struct levels v;
	int ret;

	sidecar_mark(of, &h.of);
	wire_put_u(&w, rows);
	for (uint64_t i = 0; i < 4ull * rows + 6; i++)		/* then no name, three times, no row, no track */
		wire_put_u(&w, 0);
	h.described = w.n;
	h.described_sum = wire_sum(w.p, w.n);
	h.sum = wire_sum(&h, offsetof(struct levels_head, sum));
	assert_int_equal(pwrite(fd, &h, sizeof(h), 0), sizeof(h));
	assert_int_equal(pwrite(fd, w.p, w.n, sizeof(h)), w.n);
	assert_int_equal(ftruncate(fd, (off_t)(sizeof(h) + w.n)), 0);
	assert_int_equal(names_init(&names), 0);
	assert_int_equal(rows_init(&its), 0);
	ret = open_levels(path, of, &names, &its, &v);
	if (!ret)
		lod_free(v.lod);
	names_free(&names);
	rows_free(&its);
	wire_free(&w);
	return ret;
}

/* Kept in a file and read again, with other numbers for names and rows: every picture is the same. */
static void test_kept(void **state)
{
	struct rd_file of = { .size = 1, .mtime_ns = 2, .head.head_sum = 3, .uid = 1 };
	char path[] = "/tmp/uft-lod-test.XXXXXX", name[64];
	static uint8_t good[8 << 20], bad[8 << 20];
	struct levels kept, again;
	struct names names, others;
	struct rows other_rows;
	struct row who;
	uint64_t seed = 1, refused = 0, passed = 0;
	struct levels_head *h = (void *)bad;
	ssize_t n;
	int fd;

	(void)state;
	close(mkstemp(path));
	snprintf(name, sizeof(name), "%s.levels", path);
	assert_int_equal(names_init(&names), 0);
	assert_int_equal(names_init(&others), 0);
	assert_int_equal(rows_init(&other_rows), 0);
	names_get(&others, "another");
	names_get(&others, "one more");
	names_get(&others, "rare");
	assert_int_equal(levels_open(path, &of, &names, &rows, &again), -ENOENT);
	kept = (struct levels){ load(&names, 20000, 0, NULL), 10, 20, 30 };
	assert_int_equal(levels_save(path, &of, &kept, &names, &rows), 0);
	assert_int_equal(open_levels(path, &of, &others, &other_rows, &again), 0);
	assert_true(again.matches == 10 && again.first_ns == 20 && again.last_ns == 30);
	assert_int_equal(lod_resolution(again.lod), lod_resolution(kept.lod));
	assert_int_equal(lod_spans(again.lod), lod_spans(kept.lod));
	for (uint64_t width = 10; width <= 2000; width *= 3) {
		struct seen a = query(&names, kept.lod, NULL, 0, DURATION, DURATION / width);
		struct seen b = query(&others, again.lod, NULL, 0, DURATION, DURATION / width);

		assert_true(a.rare_name != b.rare_name);
		a.rare_name = b.rare_name;
		a.outer_name = b.outer_name;
		assert_memory_equal(&a, &b, sizeof(a));
	}
	lod_free(again.lod);
	assert_true(rows_at(&other_rows, 0, &who) && who.tid == 7 && !strcmp(who.comm, "seven"));
	of.mtime_ns++;
	assert_int_equal(open_levels(path, &of, &others, &other_rows, &again), -ENOENT);	/* another recording */
	of.mtime_ns--;

	/* Damage anywhere is told; a description that was forged is refused, or it is one. */
	fd = open(name, O_RDWR);
	n = read(fd, good, sizeof(good));
	assert_true(n > 1000 && n < (ssize_t)sizeof(good));
	for (int round = 0; round < 600; round++) {
		size_t at;

		memcpy(bad, good, (size_t)n);
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		at = round % 3 ? sizeof(*h) + (seed >> 33) % h->described : (seed >> 33) % (size_t)n;
		bad[at] ^= (uint8_t)(1u << (seed >> 20 & 7));
		if (round % 3) {
			h->described_sum = wire_sum(bad + sizeof(*h), h->described);
			h->sum = wire_sum(h, offsetof(struct levels_head, sum));
		}
		assert_int_equal(pwrite(fd, bad, (size_t)n, 0), n);
		if (open_levels(path, &of, &others, &other_rows, &again)) {
			refused++;
			continue;
		}
		assert_true(round % 3);
		passed++;
		lod_free(again.lod);
	}
	assert_true(refused > 250 && passed > 10);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(open_crowd(fd, path, &of, ROWS_MAX), 0);
	assert_int_equal(open_crowd(fd, path, &of, ROWS_MAX + 1), -EBADMSG);
	assert_int_equal(pwrite(fd, good, (size_t)n, 0), n);
	assert_int_equal(ftruncate(fd, n / 2), 0);
	assert_true(open_levels(path, &of, &others, &other_rows, &again) < 0);
	close(fd);
	unlink(name);
	unlink(path);
	lod_free(kept.lod);
	names_free(&names);
	names_free(&others);
	rows_free(&other_rows);
}

struct drawn {
	size_t n;
	uint64_t end, count;
};

static void draw(void *arg, uint32_t lane, const struct lod_span *s)
{
	struct drawn *d = arg;

	assert_true(lane < 2);
	d->n++;
	d->count += s->count;
	d->end = s->start + s->len > d->end ? s->start + s->len : d->end;
}

/* A first picture has all calls so far, merged, and the open one; what it is made of goes on as if nothing was. */
static void test_preview(void **state)
{
	struct names names;
	struct lod *l, *p;
	struct drawn d = {0, 0, 0};
	uint64_t t = 0, so_far;

	(void)state;
	assert_int_equal(names_init(&names), 0);
	l = lod_new(&names, &rows, ORIGIN, CALLS, 0);
	assert_non_null(l);
	add(l, UFT_EV_ENTRY, &outer, 0, 0, 0, NULL);
	for (uint32_t i = 0; i < CALLS; i++) {
		add(l, UFT_EV_ENTRY, &leaf, t, 0, 1, NULL);
		add(l, UFT_EV_EXIT, &leaf, t + 20, 20, 1, NULL);
		t += STEP;
		if (i != CALLS / 2)
			continue;
		so_far = t - STEP + 20;
		p = lod_preview(l);
		assert_non_null(p);
		lod_query(p, NULL,
			  &(struct lod_asked){.row = 0, .behind_lane = 2, .to = so_far + 1, .pixel = so_far / 1000},
			  draw, &d);
		assert_int_equal(d.count, CALLS / 2 + 2);
		assert_int_equal(d.end, so_far);
		assert_true(d.n > 500 && d.n < 3000);
		assert_true(lod_bytes(p) < 10000 * sizeof(struct lod_span));
		lod_free(p);
	}
	add(l, UFT_EV_EXIT, &outer, t, t, 0, NULL);
	assert_int_equal(lod_finish(l, NULL), 0);
	d = (struct drawn){0, 0, 0};
	lod_query(l, NULL, &(struct lod_asked){.row = 0, .behind_lane = 2, .to = t + 1, .pixel = t / 1000}, draw, &d);
	assert_int_equal(d.count, CALLS + 1);
	assert_int_equal(d.end, t);
	lod_free(l);
	names_free(&names);
}

static void add_switch(struct lod *l, const struct uft_task *who, uint32_t cpu, uint64_t t, uint64_t how)
{
	struct uft_event ev = {
		.ts_ns = ORIGIN + t, .kind = UFT_EV_DATA, .data = UFT_EVENT_SWITCH, .task = who, .cpu = cpu
	};

	ev.word[0] = how;
	assert_true(lod_add(l, &ev, NULL) >= 0);
}

struct kinds { uint32_t calls, states; uint64_t state_end; };

static void count_kinds(void *arg, uint32_t lane, const struct lod_span *s)
{
	struct kinds *n = arg;

	n->calls += lane < LOD_LANES;
	n->states += lane == LANE_STATES;
	n->state_end = lane == LANE_STATES ? s->start + s->len : n->state_end;
}

/*
 * Switches are of a task with another number, which ends no calls; a thread whose end nobody saw does not run
 * for ever.
 */
static void test_states(void **state)
{
	struct uft_task seven = { .tid = 7, .pid = 7, .comm = "seven", .index = 1 },
		eight = { .tid = 8, .pid = 8, .comm = "eight", .index = 2 };
	struct lod *l;
	struct names names;
	struct kinds n = {0, 0, 0};

	(void)state;
	assert_int_equal(names_init(&names), 0);
	l = lod_new(&names, &rows, ORIGIN, 100, 0);
	add(l, UFT_EV_ENTRY, &outer, 5, 0, 0, NULL);
	add_switch(l, &seven, 0, 10, UFT_SWITCH_IN);
	add(l, UFT_EV_ENTRY, &leaf, 20, 0, 1, NULL);
	add_switch(l, &eight, 1, 30, UFT_SWITCH_IN);
	add_switch(l, &eight, 0, 50, UFT_SWITCH_IN);
	add(l, UFT_EV_EXIT, &leaf, 1000, 980, 1, NULL);
	assert_int_equal(lod_finish(l, NULL), 0);
	lod_query(l, NULL, &(struct lod_asked){ .behind_lane = LOD_LANES, .to = 2000, .pixel = 1 }, count_kinds, &n);
	assert_int_equal(n.calls, 2);
	assert_int_equal(n.states, 1);
	assert_int_equal(n.state_end, 50);
	lod_free(l);
	names_free(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_zoom, begin, end),
		cmocka_unit_test_setup_teardown(test_fine, begin, end),
		cmocka_unit_test_setup_teardown(test_filter, begin, end),
		cmocka_unit_test_setup_teardown(test_kept, begin, end),
		cmocka_unit_test_setup_teardown(test_odd, begin, end),
		cmocka_unit_test_setup_teardown(test_preview, begin, end),
		cmocka_unit_test_setup_teardown(test_states, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
