/* SPDX-License-Identifier: MIT */
/*
 * rings.c - a target that overwrites its slice, while and before the recorder drains it
 *
 * usage: rings [seconds] [seed]
 *
 * Random words in the head of a slice, in the control pages of its rings, in their data and in the profile, by a thread
 * beside the drain every other time; then what was written is read as any recording is. Prints how many slices were
 * drained. A drain that takes too long is killed by SIGALRM. In a second slice a target that does nothing wrong writes
 * meanwhile: its calls must be in the file, all of them.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "stream/stream.h"
#include "tests/fuzz/uft/spoil.h"

#define NCALLS		200u
#define PID_HOSTILE	1000u
#define PID_GOOD	2000u

static uint64_t seed;
static struct synth *synth;

static void fail(const char *what)
{
	fprintf(stderr, "rings: %s, seed %llu\n", what, (unsigned long long)seed);
	exit(1);
}

/* Ends of calls of the target that did nothing wrong, in its own slice. */
static uint64_t calls_in(const char *path)
{
	struct uft_error err = { "" };
	struct uft_event e;
	struct uft_stream *st;
	uint64_t n = 0;

	if (uft_stream_open(path, NULL, &st, &err))
		fail(err.text);
	while (uft_stream_next(st, &e) > 0)
		n += e.kind == UFT_EV_EXIT && e.task->pid == PID_GOOD;
	uft_stream_close(st);
	return n;
}

static void run(const char *path, int is_beside)
{
	struct synth_opts opts = { .ring_bytes = 16384, .sub_bytes = 1024, .nslices = 2, .profile_ids = 256,
		.overwrite = (int)spoil_random(&seed, 4) == 0 };
	uint32_t tracer = spoil_random(&seed, 4) ? UFT_TRACER_GRAPH : UFT_TRACER_PROFILE;
	struct uft_image *img = synth_image(1, 16);
	struct uft_writer *w;
	struct uft_writer_stats stats;
	struct uft_error err = { "" };
	uint64_t clock = 1000;

	synth = synth_new(&opts);
	w = synth_writer(synth, path, tracer, spoil_random(&seed, 2) ? 1 : 0);
	synth_begin(synth, 0, PID_HOSTILE, 1);
	synth_begin(synth, 1, PID_GOOD, 1);
	if (!w || uft_writer_slice(w, 0, PID_HOSTILE, img) || uft_writer_slice(w, 1, PID_GOOD, img))
		fail("no writer");
	for (uint32_t i = 0; i < 50; i++)
		synth_entry(synth, (struct synth_at){ 0, i & 1, PID_HOSTILE, PID_HOSTILE, clock++ },
			    synth_stub_id(img, i % 16));
	if (is_beside)
		spoil_begin(synth, seed);
	for (uint32_t i = 0; i < NCALLS; i++) {
		if (!is_beside)
			spoil_one(synth, &seed);
		synth_entry(synth, (struct synth_at){ 1, 0, PID_GOOD, PID_GOOD, clock++ }, synth_stub_id(img, i % 16));
		synth_exit(synth, (struct synth_at){ 1, 0, PID_GOOD, PID_GOOD, clock++ }, synth_stub_id(img, i % 16));
		if (i % 20 == 0 && uft_writer_poll(w) < 0)
			fail("poll");
	}
	uft_writer_slice_end(w, spoil_random(&seed, 2) ? 0 : 1);
	if (is_beside)
		spoil_end();
	uft_writer_finish(w, &stats, &err);
	if (calls_in(path) != NCALLS)
		fail("calls of another target are missing");
	uft_image_free(img);
	synth_free(synth);
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 0) : 3, n = 0;
	char path[] = "/tmp/uft-rings-XXXXXX";
	time_t begin = time(NULL);
	int fd = mkstemp(path);

	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)begin;
	if (fd < 0)
		return 1;
	close(fd);
	for (; (uint64_t)(time(NULL) - begin) < seconds; n++) {
		alarm(60);
		run(path, n & 1);
	}
	unlink(path);
	printf("%llu slices drained\n", (unsigned long long)n);
	return n == 0;
}
