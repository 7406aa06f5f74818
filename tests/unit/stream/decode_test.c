/* SPDX-License-Identifier: MIT */
/* decode_test.c - known records, exact events */
#include "tests/unit/stream/check.h"

static void test_nested(void **state)
{
	struct check c;

	(void)state;
	check_start(&c, NULL, UFT_TRACER_GRAPH);
	enter(&c, 0, 1);
	enter(&c, 10, 2);
	leave(&c, 30, 2);
	enter(&c, 5, 3);
	enter(&c, 1, 2);
	leave(&c, 2, 2);
	leave(&c, 3, 3);
	leave(&c, 100, 1);
	check_events(&c, NULL,
		     "0 0 100 ENTRY func_1 0\n"
		     "10 0 100 ENTRY func_2 1\n"
		     "40 0 100 EXIT func_2 1 30 30\n"
		     "45 0 100 ENTRY func_3 1\n"
		     "46 0 100 ENTRY func_2 2\n"
		     "48 0 100 EXIT func_2 2 2 2\n"
		     "51 0 100 EXIT func_3 1 6 4\n"
		     "151 0 100 EXIT func_1 0 151 115\n");
	check_end(&c);
}

static void test_function(void **state)
{
	struct check c;

	(void)state;
	check_start(&c, NULL, UFT_TRACER_FUNCTION);
	synth_func(c.s, c.at, synth_text_id(c.img, 5), synth_lib_addr(c.img, 7));
	c.at.clock += 20;
	synth_func(c.s, c.at, synth_text_id(c.img, 6), synth_addr(c.img, 5) + 12);
	c.at.clock += 20;
	synth_func(c.s, c.at, synth_text_id(c.img, 63), 0x1234);
	check_events(&c, NULL,
		     "0 0 100 FUNC func_5 < lib_7\n"
		     "20 0 100 FUNC func_6 < func_5\n"
		     "40 0 100 FUNC func_63 < 0x1234\n");
	check_end(&c);
}

static void test_clock_wrap(void **state)
{
	struct check c;
	char expected[256];

	(void)state;
	check_start(&c, NULL, UFT_TRACER_GRAPH);
	enter(&c, 0, 1);
	enter(&c, 0x100000000ull - 1, 2);	/* the low half is smaller than the one before, the high half grew */
	leave(&c, 2, 2);
	leave(&c, 5ull << 32, 1);
	snprintf(expected, sizeof(expected),
		 "0 0 100 ENTRY func_1 0\n%lld 0 100 ENTRY func_2 1\n%lld 0 100 EXIT func_2 1 2 2\n"
		 "%lld 0 100 EXIT func_1 0 %lld %lld\n",
		 0xffffffffll, 0x100000001ll, 0x100000001ll + (5ll << 32), 0x100000001ll + (5ll << 32),
		 0xffffffffll + (5ll << 32));
	check_events(&c, NULL, expected);
	check_end(&c);
}

static void test_migration(void **state)
{
	struct check c;

	(void)state;
	check_start(&c, NULL, UFT_TRACER_GRAPH);
	enter(&c, 0, 1);
	c.at.ring = 1;
	enter(&c, 10, 2);
	c.at.tid = 101;			/* another thread, on the CPU that the first one left */
	c.at.ring = 0;
	enter(&c, 1, 3);
	c.at.tid = 100;
	c.at.ring = 1;
	leave(&c, 1, 2);
	c.at.tid = 101;
	leave(&c, 2, 3);
	c.at.tid = 100;
	c.at.ring = 3;			/* an exchange ring */
	leave(&c, 3, 1);
	check_events(&c, NULL,
		     "0 0 100 ENTRY func_1 0\n"
		     "10 1 100 ENTRY func_2 1\n"
		     "11 0 101 ENTRY func_3 0\n"
		     "12 1 100 EXIT func_2 1 2 2\n"
		     "14 1 101 EXIT func_3 0 3 3\n"
		     "17 3 100 EXIT func_1 0 17 15\n");
	check_end(&c);
}

static void test_equal_clocks(void **state)
{
	struct check c;

	(void)state;
	check_start(&c, NULL, UFT_TRACER_FUNCTION);
	for (uint32_t ring = 2; ring-- > 0;) {		/* the higher CPU writes first */
		c.at.ring = ring;
		c.at.tid = 100 + ring;
		c.at.clock = T0;
		for (int i = 0; i < 2; i++) {
			synth_func(c.s, c.at, synth_text_id(c.img, ring), 0);
			c.at.clock += 10;
		}
	}
	check_events(&c, &(struct uft_select){ .no_parents = 1 },
		     "0 0 100 FUNC func_0\n0 1 101 FUNC func_1\n10 0 100 FUNC func_0\n10 1 101 FUNC func_1\n");
	check_end(&c);
}

static void test_orphans(void **state)
{
	struct check c;

	(void)state;			/* a fork child returns through its parent's frames and goes on */
	check_start(&c, NULL, UFT_TRACER_GRAPH);
	leave(&c, 0, 4);
	enter(&c, 10, 5);
	leave(&c, 10, 5);
	leave(&c, 1, 3);
	check_events(&c, NULL,
		     "0 0 100 EXIT func_4 0 0 0 orphan\n"
		     "10 0 100 ENTRY func_5 0\n"
		     "20 0 100 EXIT func_5 0 10 10\n"
		     "21 0 100 EXIT func_3 0 0 0 orphan\n");
	check_end(&c);
}

static void test_missing_exits(void **state)
{
	struct check c;

	(void)state;			/* recording was off when 2 and 3 returned */
	check_start(&c, NULL, UFT_TRACER_GRAPH);
	enter(&c, 0, 1);
	enter(&c, 1, 2);
	enter(&c, 1, 3);
	leave(&c, 10, 9);		/* not on the stack: changes nothing */
	leave(&c, 10, 1);
	check_events(&c, NULL,
		     "0 0 100 ENTRY func_1 0\n"
		     "1 0 100 ENTRY func_2 1\n"
		     "2 0 100 ENTRY func_3 2\n"
		     "12 0 100 EXIT func_9 3 0 0 orphan\n"
		     "22 0 100 LEFT func_3 2\n"
		     "22 0 100 LEFT func_2 1\n"
		     "22 0 100 EXIT func_1 0 22 1\n");
	check_end(&c);
}

static void test_unwind(void **state)
{
	struct check c;

	(void)state;
	check_start(&c, NULL, UFT_TRACER_GRAPH);
	enter(&c, 0, 1);
	enter(&c, 1, 2);
	enter(&c, 1, 3);
	c.at.clock += 5;
	synth_unwind(c.s, c.at, 2);
	leave(&c, 1, 1);
	c.at.clock += 5;
	synth_unwind(c.s, c.at, 7);	/* more than there are */
	check_events(&c, NULL,
		     "0 0 100 ENTRY func_1 0\n"
		     "1 0 100 ENTRY func_2 1\n"
		     "2 0 100 ENTRY func_3 2\n"
		     "7 0 100 LEFT func_3 2\n"
		     "7 0 100 LEFT func_2 1\n"
		     "8 0 100 EXIT func_1 0 8 2\n");
	check_end(&c);
}

static void test_coroutine(void **state)
{
	struct check c;

	/* 1 resumes coroutine 10, which calls 11 and yields; 2 resumes it on another CPU */
	(void)state;
	check_start(&c, NULL, UFT_TRACER_GRAPH);
	enter(&c, 0, 1);
	enter(&c, 10, 10);		/* at T0 + 10 */
	enter(&c, 10, 11);
	leave(&c, 4, 11);
	c.at.clock += 6;
	synth_unwind(c.s, c.at, 1);	/* back on the stack of 1: 10 is set aside */
	leave(&c, 10, 1);
	c.at.ring = 1;
	enter(&c, 10, 2);
	c.at.clock += 50;
	synth_exit_left(c.s, c.at, synth_stub_id(c.img, 10), T0 + 10);
	leave(&c, 10, 2);
	check_events(&c, NULL,
		     "0 0 100 ENTRY func_1 0\n"
		     "10 0 100 ENTRY func_10 1\n"
		     "20 0 100 ENTRY func_11 2\n"
		     "24 0 100 EXIT func_11 2 4 4\n"
		     "30 0 100 LEFT func_10 1\n"
		     "40 0 100 EXIT func_1 0 40 20\n"
		     "50 1 100 ENTRY func_2 0\n"
		     "100 1 100 EXIT func_10 1 90 86\n"
		     "110 1 100 EXIT func_2 0 60 10\n");
	check_end(&c);
}

static void test_calls(void **state)
{
	struct check c;

	(void)state;			/* tracing_thresh: only ends, callees before callers */
	check_start(&c, NULL, UFT_TRACER_GRAPH);
	c.at.clock = T0 + 200;
	synth_call(c.s, c.at, synth_stub_id(c.img, 2), 100);
	c.at.clock = T0 + 300;
	synth_call(c.s, c.at, synth_stub_id(c.img, 3), 50);
	c.at.clock = T0 + 310;
	synth_call(c.s, c.at, synth_stub_id(c.img, 1), 310);
	c.at.clock = T0 + 500;
	synth_call(c.s, c.at, synth_stub_id(c.img, 1), 150);
	check_events(&c, NULL,
		     "200 0 100 EXIT func_2 0 100 100 call\n"
		     "300 0 100 EXIT func_3 0 50 50 call\n"
		     "310 0 100 EXIT func_1 0 310 160 call\n"
		     "500 0 100 EXIT func_1 0 150 150 call\n");
	check_end(&c);
}

static void test_exec_is_another_task(void **state)
{
	struct uft_image *second = synth_image(2, 8);
	struct uft_stream *st;
	struct uft_event ev;
	const struct uft_task *first = NULL, *tasks;
	struct check c;
	uint32_t id = 5000;

	(void)state;			/* the same pid in a new slice: an empty stack, other symbols */
	check_start(&c, NULL, UFT_TRACER_GRAPH);
	enter(&c, 0, 1);
	synth_begin(c.s, 1, 100, 1);
	second->obj[0].first_stub_id = id;
	assert_int_equal(uft_writer_slice(c.w, 1, 100, second), 0);
	assert_int_equal(uft_writer_task(c.w, 100, 100, 1, 2, "execd"), 0);
	c.at.slice = 1;
	c.at.clock += 100;
	synth_exit(c.s, c.at, id + 7);
	check_finish(&c);
	assert_int_equal(uft_stream_open(c.path, NULL, &st, NULL), 0);
	assert_int_equal(uft_stream_next(st, &ev), 1);
	first = ev.task;
	assert_string_equal(ev.task->comm, "main");
	assert_int_equal(uft_stream_next(st, &ev), 1);
	assert_ptr_not_equal(ev.task, first);
	assert_string_equal(ev.task->comm, "execd");
	assert_string_equal(ev.sym->name, "func_7");
	assert_int_equal(ev.task->image->id, 2);
	assert_int_equal(ev.flags, UFT_EVF_ORPHAN);
	assert_int_equal(ev.depth, 0);
	assert_int_equal(uft_stream_next(st, &ev), 0);
	assert_int_equal(uft_stream_next(st, &ev), 0);
	assert_int_equal(uft_stream_tasks(st, &tasks), 2);
	assert_int_equal(tasks[1].index, 1);
	assert_int_equal(uft_stream_info(st)->ntasks, 1);	/* it is one task to the user */
	uft_stream_close(st);
	check_end(&c);
	uft_image_free(second);
}

/* Two processes with an open call each; the first has ended, on two CPUs, before the other goes on. */
static void test_process_ends(void **state)
{
	struct uft_select ends = { .ends = 1 };
	struct check c;

	(void)state;
	check_start(&c, NULL, UFT_TRACER_GRAPH);
	synth_begin(c.s, 1, 200, 1);
	assert_int_equal(uft_writer_slice(c.w, 1, 200, c.img), 0);
	enter(&c, 10, 1);
	enter(&c, 10, 2);
	c.at.tid = 101;
	enter(&c, 10, 3);
	c.at.ring = 1;			/* the same thread on another CPU */
	enter(&c, 10, 4);
	c.at = (struct synth_at){ 1, 0, 200, 200, c.at.clock };
	enter(&c, 10, 5);
	assert_int_equal(uft_writer_slice_end(c.w, 0), 0);
	leave(&c, 50, 5);
	enter(&c, 10, 6);
	check_events(&c, NULL,
		     "10 0 100 ENTRY func_1 0\n20 0 100 ENTRY func_2 1\n30 0 101 ENTRY func_3 0\n40 1 101 ENTRY func_4 1\n"
		     "50 0 200 ENTRY func_5 0\n100 0 200 EXIT func_5 0 50 50\n110 0 200 ENTRY func_6 0\n");
	check_events(&c, &ends,
		     "10 0 100 ENTRY func_1 0\n20 0 100 ENTRY func_2 1\n30 0 101 ENTRY func_3 0\n40 1 101 ENTRY func_4 1\n"
		     "40 1 101 LEFT func_4 1\n40 1 101 LEFT func_3 0\n40 1 100 LEFT func_2 1\n40 1 100 LEFT func_1 0\n"
		     "50 0 200 ENTRY func_5 0\n100 0 200 EXIT func_5 0 50 50\n110 0 200 ENTRY func_6 0\n");
	check_end(&c);
}

static void test_select(void **state)
{
	uint32_t tid = 101, cpu = 1;
	const char *pattern = "func_2";
	struct check c;

	(void)state;
	check_start(&c, NULL, UFT_TRACER_GRAPH);
	enter(&c, 0, 1);
	enter(&c, 10, 2);
	leave(&c, 10, 2);
	leave(&c, 10, 1);
	c.at.ring = 1;
	c.at.tid = 101;
	enter(&c, 10, 2);
	leave(&c, 10, 2);
	check_events(&c, &(struct uft_select){ .tids = &tid, .ntids = 1 },
		     "40 1 101 ENTRY func_2 0\n50 1 101 EXIT func_2 0 10 10\n");
	check_events(&c, &(struct uft_select){ .cpus = &cpu, .ncpus = 1 },
		     "40 1 101 ENTRY func_2 0\n50 1 101 EXIT func_2 0 10 10\n");
	check_events(&c, &(struct uft_select){ .from_ns = 20, .to_ns = 40 },
		     "20 0 100 EXIT func_2 1 10 10\n30 0 100 EXIT func_1 0 30 20\n40 1 101 ENTRY func_2 0\n");
	/* A number that is not before the first event may be a time stamp, to half a microsecond. */
	check_events(&c, &(struct uft_select){ .from_ns = T0 + 530, .is_from_stamp = 1 },
		     "30 0 100 EXIT func_1 0 30 20\n40 1 101 ENTRY func_2 0\n50 1 101 EXIT func_2 0 10 10\n");
	check_events(&c, &(struct uft_select){ .to_ns = T0 - 484, .is_to_stamp = 1 },
		     "0 0 100 ENTRY func_1 0\n10 0 100 ENTRY func_2 1\n");
	check_events(&c, &(struct uft_select){ .from_ns = 40, .to_ns = 45, .is_from_stamp = 1, .is_to_stamp = 1 },
		     "40 1 101 ENTRY func_2 0\n");
	check_events(&c, &(struct uft_select){ .from_ns = T0 + 530 }, "");
	tid = 100;			/* as a thread it is the first alone, as a process all */
	check_events(&c, &(struct uft_select){ .tids = &tid, .ntids = 1, .funcs = &pattern, .nfuncs = 1 },
		     "10 0 100 ENTRY func_2 1\n20 0 100 EXIT func_2 1 10 10\n");
	check_events(&c, &(struct uft_select){ .pids = &tid, .npids = 1, .funcs = &pattern, .nfuncs = 1 },
		     "10 0 100 ENTRY func_2 1\n20 0 100 EXIT func_2 1 10 10\n"
		     "40 1 101 ENTRY func_2 0\n50 1 101 EXIT func_2 0 10 10\n");
	check_end(&c);
}

/* Fills a small ring in discard mode, drains it, goes on: losses stand where they happened, and add up. */
static void test_losses(void **state)
{
	struct synth_opts o = { .ring_bytes = 16384, .sub_bytes = 4096 };
	uint64_t written = 0, lost = 0, seen = 0, seen_lost = 0, at_lost = 0;
	uint64_t clock[4] = { 0 };
	struct uft_stream *st;
	struct uft_event ev;
	struct uft_info info;
	struct check c;

	(void)state;
	check_start(&c, &o, UFT_TRACER_FUNCTION);
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < 3000; i++) {
			c.at.clock += 10;
			if (synth_func(c.s, c.at, synth_text_id(c.img, i % 64), 0)) {
				written++;
			} else {
				lost++;
				clock[round] = c.at.clock;
			}
		}
		if (round < 3)
			assert_true(uft_writer_poll(c.w) > 0);
	}
	assert_true(lost > 6000);
	check_finish(&c);
	info = check_info(c.path);
	assert_true(info.lost == lost);
	assert_true(info.events == written && info.calls == written && info.complete && !info.damaged_bytes);
	assert_int_equal(uft_stream_open(c.path, NULL, &st, NULL), 0);
	while (uft_stream_next(st, &ev) == 1) {
		if (ev.kind != UFT_EV_LOST) {
			seen++;
			continue;
		}
		assert_true(at_lost < 4);
		/* the last one is only known by the ring's counter: at the last record */
		if (at_lost < 3)
			assert_true(ev.ts_ns > clock[at_lost]);
		seen_lost += ev.lost;
		at_lost++;
	}
	uft_stream_close(st);
	assert_true(seen == written && seen_lost == lost && at_lost == 4);
	check_end(&c);
}

static void test_info_and_names(void **state)
{
	const struct uft_image *const *images;
	const struct uft_info *info;
	struct uft_stream *st;
	struct check c;

	(void)state;
	check_start(&c, NULL, UFT_TRACER_FUNCTION);
	synth_slice(c.s, 0)->counter[UFT_CNT_RECURSION] = 7;
	enter(&c, 0, 1);
	leave(&c, 250, 1);
	check_finish(&c);
	assert_int_equal(uft_stream_open(c.path, NULL, &st, NULL), 0);
	info = uft_stream_info(st);
	assert_string_equal(info->format, "uft");
	assert_string_equal(info->cmdline, "synth --load");
	assert_true(strlen(info->hostname) && strlen(info->uname));
	assert_int_equal(info->events, 2);
	assert_int_equal(info->calls, 1);
	assert_int_equal(info->duration_ns, 250);
	assert_true(info->first_ns == T0);
	assert_int_equal(info->ncpus, 2);
	assert_int_equal(info->ntasks, 1);
	assert_int_equal(info->nobjects, 2);
	assert_int_equal(info->nfuncs, 64 + 16);
	assert_int_equal(info->tracer, UFT_TRACER_FUNCTION);
	assert_int_equal(info->counters[UFT_CNT_RECURSION], 7);
	assert_int_equal(uft_stream_images(st, &images), 1);
	assert_string_equal(images[0]->exe, "/synth/prog");
	assert_int_equal(images[0]->nobj, 2);
	assert_true(images[0]->obj[0].site_addr[63] == c.img->obj[0].site_addr[63]);
	assert_true(images[0]->obj[0].stub_addr[1] == c.img->obj[0].stub_addr[1]);
	assert_int_equal(images[0]->obj[0].nstubs, 64);
	assert_int_equal(images[0]->obj[1].obj->build_id[19], 0x22);
	assert_true(uft_stream_progress(st) <= 1.0);
	uft_stream_close(st);
	check_end(&c);
}

static void test_profile(void **state)
{
	const struct uft_profile_row *row;
	struct uft_stream *st;
	struct check c;
	size_t n;

	(void)state;
	check_start(&c, NULL, UFT_TRACER_PROFILE);
	for (uint32_t cpu = 0; cpu < 2; cpu++)
		*synth_profile(c.s, 0, cpu, synth_stub_id(c.img, 9)) = (struct uft_profile){
			.hits = 2, .total = 100, .self = 60, .squares = 2, .min = ~(20ull + cpu), .max = 70 + cpu,
		};
	/* A call that began elsewhere. */
	*synth_profile(c.s, 0, synth_arena(c.s)->ncpus, synth_stub_id(c.img, 9)) = (struct uft_profile){
		.total = 10, .self = 10, .min = ~10ull, .max = 10,
	};
	check_finish(&c);
	assert_int_equal(uft_stream_open(c.path, NULL, &st, NULL), 0);
	assert_int_equal(uft_stream_info(st)->calls, 4);
	assert_int_equal(uft_stream_profile(st, &row, &n), 0);
	assert_int_equal(n, 1);
	assert_string_equal(row->sym->name, "func_9");
	assert_int_equal(row->hits, 4);
	assert_int_equal(row->total_ns, 210);
	assert_int_equal(row->self_ns, 130);
	assert_int_equal(row->min_ns, 10);
	assert_int_equal(row->max_ns, 71);
	assert_true(row->squares_ns2 > 4 * 4095.0 && row->squares_ns2 < 4 * 4097.0);
	uft_stream_close(st);
	check_end(&c);
}

/* A target that makes up half a million threads: those of another one are told apart all the same. */
static void test_garbage_of_others(void **state)
{
	struct synth_opts opts = { .ring_bytes = 32u << 20, .sub_bytes = 64 << 10, .nslices = 2 };
	struct synth *sy = synth_new(&opts);
	struct uft_image *img = synth_image(1, 4);
	char path[] = "/tmp/uft-stream-XXXXXX";
	struct uft_writer *w;
	struct uft_writer_stats stats;
	struct uft_error err = { "" };
	uint8_t *seen = calloc(2u << 19, 1);
	uint64_t clock = 1000;
	uint32_t distinct = 0;
	struct uft_stream *st;
	struct uft_event e;

	(void)state;
	close(mkstemp(path));
	w = synth_writer(sy, path, UFT_TRACER_GRAPH, 0);
	assert_non_null(w);
	assert_non_null(seen);
	synth_begin(sy, 0, 100, 1);
	synth_begin(sy, 1, 200, 1);
	assert_int_equal(uft_writer_slice(w, 0, 100, img), 0);
	assert_int_equal(uft_writer_slice(w, 1, 200, img), 0);
	for (uint32_t i = 0; i < 530000; i++)
		assert_int_equal(synth_entry(sy, (struct synth_at){ 0, 0, 100, 1000 + i, clock++ },
			synth_stub_id(img, 0)), 1);
	for (uint32_t i = 0; i < 500; i++) {
		synth_entry(sy, (struct synth_at){ 1, 0, 200, 200 + i, clock++ }, synth_stub_id(img, 1));
		synth_exit(sy, (struct synth_at){ 1, 0, 200, 200 + i, clock++ }, synth_stub_id(img, 1));
	}
	assert_int_equal(uft_writer_slice_end(w, 0), 0);
	assert_int_equal(uft_writer_slice_end(w, 1), 0);
	assert_int_equal(uft_writer_finish(w, &stats, &err), 0);
	assert_int_equal(uft_stream_open(path, NULL, &st, &err), 0);
	while (uft_stream_next(st, &e) > 0)
		if (e.kind == UFT_EV_EXIT && e.task->pid == 200 && e.task->index < 2u << 19 && !seen[e.task->index]++)
			distinct++;
	uft_stream_close(st);
	assert_int_equal(distinct, 500);
	free(seen);
	unlink(path);
	uft_image_free(img);
	synth_free(sy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nested), cmocka_unit_test(test_function), cmocka_unit_test(test_clock_wrap),
		cmocka_unit_test(test_migration), cmocka_unit_test(test_equal_clocks), cmocka_unit_test(test_orphans),
		cmocka_unit_test(test_missing_exits), cmocka_unit_test(test_unwind), cmocka_unit_test(test_coroutine),
		cmocka_unit_test(test_calls), cmocka_unit_test(test_exec_is_another_task),
		cmocka_unit_test(test_process_ends),
		cmocka_unit_test(test_select), cmocka_unit_test(test_losses), cmocka_unit_test(test_info_and_names),
		cmocka_unit_test(test_profile), cmocka_unit_test(test_garbage_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
