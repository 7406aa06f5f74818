/* SPDX-License-Identifier: MIT */
/*
 * target.c - reads any bytes as a .uft file, the way reports do; for driver.c
 *
 * Whatever they are: no crash, no endless loop, time in order, sane events. libfuzzer.c has the same for libFuzzer.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stream/decode/seek.h"
#include "stream/stream.h"
#include "uft/abi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void fuzz_check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz: %s\n", what);
	abort();
}

static int has_no_func(const struct uft_event *ev)
{
	return ev->kind == UFT_EV_LOST || ev->kind == UFT_EV_MARK ||
	       (ev->kind == UFT_EV_DATA && UFT_EVENT_IS_OWN(ev->data) && ev->data != UFT_EVENT_STACK);
}

static void fuzz_read(const char *path, const struct uft_select *sel)
{
	const struct uft_profile_row *row;
	const struct uft_image *const *images;
	const struct uft_task *tasks;
	struct uft_drop_row drop;
	static struct uft_event ev[256];
	struct uft_stream *st;
	uint64_t last = 0;
	size_t n, ntasks;

	if (uft_stream_open(path, sel, &st, NULL))
		return;
	while ((n = uft_stream_batch(st, ev, 256))) {
		for (size_t i = 0; i < n; i++) {
			fuzz_check(ev[i].ts_ns >= last, "time runs backwards");
			fuzz_check(ev[i].task && ev[i].task->comm && ev[i].task->image, "an event without a task");
			fuzz_check(has_no_func(&ev[i]) || (ev[i].sym && ev[i].sym->name), "an event without a symbol");
			fuzz_check(ev[i].kind == UFT_EV_DATA || ev[i].self_ns <= ev[i].duration_ns,
				   "self is more than the whole");
			last = ev[i].ts_ns;
		}
	}
	fuzz_check(uft_stream_progress(st) >= 0, "progress");
	fuzz_check(uft_stream_info(st)->cmdline != NULL, "info");
	ntasks = uft_stream_tasks(st, &tasks);
	for (size_t i = 0; i < ntasks; i++)
		fuzz_check(tasks[i].comm && tasks[i].image, "a task without a name");
	fuzz_check(uft_stream_images(st, &images) < 1u << 24, "images");
	uft_stream_profile(st, &row, &n);
	for (n = 0; uft_stream_drop(st, n, &drop); n++)
		fuzz_check(drop.sym && drop.sym->name, "a dropped function without a symbol");
	uft_stream_close(st);
}

/* A sum of the events from @st on: the same events give the same number. */
static uint64_t fuzz_rest(struct uft_stream *st, uint64_t skip)
{
	static struct uft_event ev[61];
	uint64_t h = 1;
	size_t n;

	while ((n = uft_stream_batch(st, ev, 61)))
		for (size_t i = 0; i < n; i++) {
			if (skip) {
				skip--;
				continue;
			}
			h = (h ^ ev[i].ts_ns ^ (uint64_t)ev[i].kind << 56 ^ (uint64_t)ev[i].depth << 40) *
			    0x9e3779b97f4a7c15ull;
			h = (h ^ ev[i].duration_ns ^ (uint64_t)ev[i].task->tid << 20 ^ ev[i].cpu) *
				    0x9e3779b97f4a7c15ull +
			    ev[i].flags;
		}
	return h;
}

/* From a point of an index on, which @any chooses, as from the start. */
static void fuzz_seek(const char *path, size_t any)
{
	const struct uft_select all = { .no_parents = 1 };
	struct uft_event ev[61];
	struct uft_stream *st, *again;
	struct uft_index *ix;
	size_t n;
	int ret;

	if (uft_stream_open(path, &all, &st, NULL))
		return;
	ix = uft_index_new(st, 61);
	ret = ix ? 0 : -1;
	while (!ret && (n = uft_stream_batch(st, ev, 61)))
		ret = uft_index_add(ix, st, ev, n);
	if (!ret && !uft_index_finish(ix, st) && uft_index_points(ix)) {
		size_t i = any % uft_index_points(ix);
		uint64_t seen;

		if (uft_stream_open(path, &all, &again, NULL))
			abort();
		seen = fuzz_rest(again, uft_index_point_event(ix, i));
		uft_stream_close(again);
		fuzz_check(!uft_stream_seek(st, ix, i), "no way to a point of its own index");
		fuzz_check(fuzz_rest(st, 0) == seen, "other events from a point on");
	}
	uft_index_close(ix);
	uft_stream_close(st);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char *pattern = "f*1";
	static const uint32_t tid = 1001;
	const struct uft_select sel = {
		.from_ns = 100, .to_ns = 100000, .tids = &tid, .ntids = 1, .funcs = &pattern, .nfuncs = 1,
	};
	char path[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, n) != (ssize_t)n)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fuzz_read(path, NULL);
	fuzz_read(path, &sel);
	fuzz_seek(path, n ? n + data[n / 2] : 0);
	close(fd);
	return 0;
}
