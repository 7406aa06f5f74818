/* SPDX-License-Identifier: MIT */
/*
 * views.c - every view of recordings that hold any record in any order: text, profile, statistics, exports
 *
 * usage: views [rounds] [seed]
 *
 * Each round writes one recording per tracer with random records: calls, stacks, and the events that belong to no function. It
 * reads each with every selection (functions, threads, CPUs, times) into the forms (each option of the text, each order of the profile,
 * each export): a quarter of them for a tracer, by turns. Passed: no crash and no sanitizer's report.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output/output.h"
#include "symbol/tracer.h"
#include "tests/lib/synth.h"

#define NRECORDS	400u
#define NFUNCS		40u

static uint64_t seed;

static uint32_t rnd(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % below;
}

static void die(const char *what, const char *why)
{
	fprintf(stderr, "views: %s: %s\n", what, why);
	exit(1);
}

/* One event of the words that its kind has, or of others. */
static void put_event(struct synth *s, struct synth_at at, const struct uft_image *img)
{
	static const uint64_t odd[] = { 0, 1, 0xffffffff, UINT64_MAX, 1ull << 63, 0x4142434445464748 };
	uint32_t id = rnd(20), n = rnd(4) ? 1 + rnd(5) : rnd(40);
	uint64_t word[40];

	for (uint32_t i = 0; i < n; i++)
		word[i] = rnd(3) ? synth_lib_addr(img, rnd(16)) : rnd(2) ? odd[rnd(6)] : rnd(100000);
	if (id == UFT_EVENT_STACK && n)
		word[0] = rnd(2) ? synth_text_id(img, rnd(NFUNCS)) : synth_addr(img, rnd(NFUNCS)) | UFT_STACK_ADDRESS;
	synth_put(s, at, UFT_REC_EVENT, UFT_EVENT_VALUE(id, n), word, n);
}

static void put_any(struct synth *s, struct synth_at at, const struct uft_image *img)
{
	uint32_t func = rnd(NFUNCS);

	switch (rnd(10)) {
	case 0: synth_func(s, at, synth_text_id(img, func), synth_lib_addr(img, func % 16)); break;
	case 1: synth_call(s, at, synth_stub_id(img, func), rnd(1000)); break;
	case 2: synth_unwind(s, at, rnd(4)); break;
	case 3: synth_exit_left(s, at, synth_stub_id(img, func), at.clock - rnd(1000)); break;
	case 4: case 5: synth_entry(s, at, synth_stub_id(img, func % 4)); break;
	case 6: synth_exit(s, at, synth_stub_id(img, func % 4)); break;
	default: put_event(s, at, img); break;
	}
}

static void write_recording(const char *path, uint32_t tracer)
{
	struct synth *s = synth_new(&(struct synth_opts){ .ring_bytes = 16384, .sub_bytes = 4096 });
	struct uft_image *img = synth_image(1, NFUNCS);
	struct uft_writer *w = synth_writer(s, path, tracer, 0);
	struct synth_at at = { 0, 0, 1000, 1001, 1000000 };

	if (!w)
		die(path, "no writer");
	synth_begin(s, 0, 1000, 1);
	uft_writer_slice(w, 0, 1000, img);
	uft_writer_task(w, 1000, 1001, 1, 1, "odd");
	for (uint32_t i = 0; i < NRECORDS; i++) {
		at.clock += 1 + rnd(2000);
		at.ring = rnd(4);
		at.tid = 1001 + rnd(3);
		put_any(s, at, img);
		if (i % 50 == 0)
			uft_writer_poll(w);
	}
	if (tracer == UFT_TRACER_PROFILE)
		*synth_profile(s, 0, 1, synth_stub_id(img, 3)) = (struct uft_profile){ .hits = 3, .total = 9,
			.max = 4 };
	uft_writer_drop(
		w, &(struct uft_writer_drop){
			   .image = 1, .stub_id = synth_stub_id(img, 1), .pid = 1000, .why = 1, .clock = at.clock });
	uft_writer_slice_end(w, 0);
	if (uft_writer_finish(w, NULL, NULL))
		die(path, "not finished");
	uft_image_free(img);
	synth_free(s);
}

/* ---- The views ------------------------------------------------------------------------------------------- */

struct view {
	int (*print)(struct uft_stream *st, FILE *out, uint64_t arg);
	uint64_t from, to;
};

static int print_text(struct uft_stream *st, FILE *out, uint64_t arg)
{
	uint32_t flags = arg < 30 ? UFT_TEXT_REPORT ^ 1u << arg : rnd(UINT32_MAX);

	return uft_output_text(st, out, arg & 1, &(struct uft_text_opts){ .flags = flags });
}

static int print_profile(struct uft_stream *st, FILE *out, uint64_t arg)
{
	return uft_output_profile(st, out,
				  &(struct uft_report_opts){ .form = (enum uft_form)(arg % 3),
				  .sort = (enum uft_profile_sort)arg, .limit = arg ? 0 : 3 });
}

static int print_tree(struct uft_stream *st, FILE *out, uint64_t arg)
{
	const struct uft_report_opts o = { .form = (enum uft_form)(arg % 3), .by = (enum uft_by)(arg % 6), .func = "*",
		.min_share = (double)(arg & 1) / 100 };

	int ret = uft_output_tree(st, out, (enum uft_tree_view)(arg % 5), &o);

	return ret == -ENOENT ? 0 : ret;		/* no function */
}

static int print_diff(struct uft_stream *st, FILE *out, uint64_t arg)
{
	struct uft_diff *d = uft_diff_new();
	int ret = d ? uft_diff_add(d, (int)arg, st) : -ENOMEM;

	if (!ret)
		ret = uft_diff_print(d, out, &(struct uft_report_opts){ .form = (enum uft_form)arg });
	if (!ret)
		ret = uft_diff_check(d, "p99(*) > 1.1x", out);
	uft_diff_free(d);
	return ret == -ENOENT || ret > 0 ? 0 : ret;
}

static int print_drops(struct uft_stream *st, FILE *out, uint64_t arg)
{
	(void)arg;
	return uft_output_drops(st, out);
}

static int print_stat(struct uft_stream *st, FILE *out, uint64_t arg)
{
	(void)arg;
	return uft_output_stat(st, out, UFT_FORM_JSON);
}

static int print_export(struct uft_stream *st, FILE *out, uint64_t arg)
{
	struct uft_error err = { "" };
	char path[64];
	int ret;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(out));
	ret = uft_exports[arg].write(st, path, NULL, &err);
	/* hits and sums have no calls to draw; directories and databases are not written there */
	if (ret == -EINVAL || ret == -ENOTDIR || ret == -ESPIPE)
		ret = 0;
	return ret < 0 ? ret : 0;
}

static const struct view views[] = {
	{ print_text, 0, 34 }, { print_profile, 0, UFT_SORT_NAME + 1 }, { print_tree, 0, 30 }, { print_diff, 0, 2 },
	{ print_drops, 0, 1 }, { print_stat, 0, 1 }, { print_export, 0, 15 },
};

static void see(const char *path, const struct uft_select *sel, uint64_t turn)
{
	for (size_t v = 0; v < sizeof(views) / sizeof(views[0]); v++)
		for (uint64_t arg = views[v].from; arg < views[v].to; arg++) {
			struct uft_error err = { "" };
			struct uft_stream *st = NULL;
			FILE *out;

			if (turn++ % 4)
				continue;
			out = tmpfile();
			if (!out || uft_stream_open(path, sel, &st, &err))
				die(path, err.text);
			if (views[v].print(st, out, arg) < 0)
				die(path, "a view failed");
			uft_stream_close(st);
			fclose(out);
		}
}

int main(int argc, char **argv)
{
	static const char *const funcs[] = { "func_1*", "*:mod:libsynth*" };
	static const uint32_t tid = 1002, cpu = 1;
	const struct uft_select select[] = {
		{ 0 },
		{ .funcs = funcs, .nfuncs = 2 },
		{ .tids = &tid, .ntids = 1, .funcs = funcs, .nfuncs = 1, .no_parents = 1 },
		{ .cpus = &cpu, .ncpus = 1, .from_ns = 50000, .to_ns = 250000 },
	};
	uint32_t rounds = argc > 1 ? (uint32_t)atoi(argv[1]) : 1;
	char path[] = "/tmp/uft-views-XXXXXX";

	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	close(mkstemp(path));
	for (uint32_t i = 0; i < rounds; i++)
		for (uint32_t tracer = 0; tracer < UFT_NTRACERS; tracer++) {
			write_recording(path, tracer);
			for (size_t k = 0; k < sizeof(select) / sizeof(select[0]); k++)
				see(path, &select[k], tracer + k);
		}
	unlink(path);
	return 0;
}
