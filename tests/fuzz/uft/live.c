/* SPDX-License-Identifier: MIT */
/*
 * live.c - a target that overwrites its slice, while and before the buffer of a running session takes it
 *
 * usage: live [seconds] [seed]
 *
 * Words of the slice are overwritten as in rings.c. The buffer is pulled, consumed, read by snapshots, made smaller,
 * cleared and taken meanwhile. In a second slice a target that does nothing wrong writes: while nothing is thrown away,
 * its calls must all come out, once each. A run that takes too long is killed by SIGALRM.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "stream/live/live.h"
#include "stream/stream.h"
#include "tests/fuzz/uft/spoil.h"

#define NCALLS		200u
#define PID_HOSTILE	1000u
#define PID_GOOD	2000u
#define ROOM		(64u << 20)	/* more than both can write */

static uint64_t seed;

static void fail(const char *what)
{
	fprintf(stderr, "live: %s, seed %llu\n", what, (unsigned long long)seed);
	exit(1);
}

/* Ends of calls of the target that did nothing wrong. */
static uint64_t drain(struct uft_stream *st)
{
	struct uft_event e;
	uint64_t n = 0;

	while (uft_stream_next(st, &e) > 0)
		n += e.kind == UFT_EV_EXIT && e.task->pid == PID_GOOD;
	return n;
}

static uint64_t consume(struct uft_live *l, uint32_t cpu)
{
	uint64_t n = drain(uft_live_begin(l, cpu));

	uft_live_end(l);
	return n;
}

static uint64_t snapshot(struct uft_live *l, uint32_t cpu)
{
	struct uft_stream *st;
	uint64_t n;

	if (uft_live_snapshot(l, cpu, &st))
		fail("no snapshot");
	n = drain(st);
	uft_stream_close(st);
	return n;
}

/* A reader, or a user who changes the buffer. Returns how many calls are consumed. */
static uint64_t use(struct uft_live *l, int may_lose)
{
	struct uft_live_stats stats;
	struct uft_live *taken;

	switch (spoil_random(&seed, may_lose ? 7 : 3)) {
	case 0:
		return consume(l, UFT_LIVE_ALL);
	case 1:
		snapshot(l, UFT_LIVE_ALL);
		break;
	case 2:
		uft_live_stats(l, UFT_LIVE_ALL, &stats);
		break;
	case 3:
		snapshot(l, (uint32_t)spoil_random(&seed, 2));
		break;
	case 4:
		uft_live_clear(l, (uint32_t)spoil_random(&seed, 2));
		break;
	case 5:
		uft_live_limit(l, spoil_random(&seed, 2) ? 16384 : ROOM, (int)spoil_random(&seed, 2));
		break;
	default:
		if (uft_live_take(l, UFT_LIVE_ALL, UFT_LIVE_NOW, &taken))
			fail("nothing could be taken");
		snapshot(taken, UFT_LIVE_ALL);
		uft_live_destroy(taken);
	}
	return 0;
}

static void run(int is_beside, int may_lose)
{
	struct synth_opts opts = { .ring_bytes = 32768, .sub_bytes = 4096, .nslices = 2, .profile_ids = 256 };
	struct uft_live_opts lo = { .cpu_bytes = ROOM, .events = uft_event_table_new(), .overwrite = 1 };
	struct synth *synth = synth_new(&opts);
	struct uft_image *img = synth_image(1, 16);
	uint64_t clock = 1000, n = 0;
	struct uft_live *l;

	if (!lo.events || uft_live_create(synth_arena(synth), &lo, &l))
		fail("no buffer");
	synth_begin(synth, 0, PID_HOSTILE, 1);
	synth_begin(synth, 1, PID_GOOD, 1);
	if (uft_live_slice(l, 0, img) || uft_live_slice(l, 1, img))
		fail("no slice");
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
		if (i % 10 == 0)
			uft_live_pull(l);
		if (i % 20 == 0)
			n += use(l, may_lose);
	}
	uft_live_slice_end(l, 0);
	uft_live_slice_end(l, 1);
	if (is_beside)
		spoil_end();
	uft_live_pull(l);
	n += snapshot(l, UFT_LIVE_ALL);
	if (may_lose ? n > NCALLS : n != NCALLS)
		fail("calls of another target are missing, or come twice");
	uft_live_destroy(l);
	uft_event_table_put(lo.events);
	uft_image_free(img);
	synth_free(synth);
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 0) : 3, n = 0;
	time_t begin = time(NULL);

	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)begin;
	for (; (uint64_t)(time(NULL) - begin) < seconds; n++) {
		alarm(60);
		run(n & 1, n & 2 ? 1 : 0);
	}
	printf("%llu buffers filled\n", (unsigned long long)n);
	return n == 0;
}
