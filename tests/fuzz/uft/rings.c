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
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "stream/stream.h"
#include "tests/lib/synth.h"

#define NCALLS		200u
#define PID_HOSTILE	1000u
#define PID_GOOD	2000u

static uint64_t seed;
static struct synth *synth;
static int is_over;

static uint64_t rnd(uint64_t *state, uint64_t below)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return below ? (*state >> 20) % below : 0;
}

static uint64_t any_word(uint64_t *state)
{
	static const uint64_t odd[] = { 0, 1, 7, 8, 0x7fffffff, 0x80000000, 0xffffffff, 1ull << 62, 1ull << 63, ~0ull, ~7ull, 4096, 16384 };
	uint64_t word = rnd(state, 0);

	word = *state;
	return rnd(state, 2) ? odd[rnd(state, sizeof(odd) / sizeof(odd[0]))] : word;
}

static void spoil_one(uint64_t *state)
{
	const struct uft_arena *a = synth_arena(synth);
	struct uft_ring *ring = synth_ring(synth, 0, (uint32_t)rnd(state, a->ncpus + a->nexch));
	volatile uint64_t *at;

	switch (rnd(state, 5)) {
	case 0:
		at = (volatile uint64_t *)synth_slice(synth, 0) + rnd(state, sizeof(struct uft_slice) / 8);
		break;
	case 1:
		at = (volatile uint64_t *)synth_profile(synth, 0, (uint32_t)rnd(state, a->ncpus), 0) + rnd(state, a->profile_ids * 8);
		break;
	case 2:
		at = (volatile uint64_t *)(void *)((uint8_t *)ring + UFT_PAGE) + rnd(state, a->ring_bytes / 8);
		break;
	default:
		at = (volatile uint64_t *)(void *)ring + rnd(state, sizeof(*ring) / 8);
	}
	/* Most lies are near the truth. */
	*at = rnd(state, 3) ? any_word(state) : *at + rnd(state, 64) * 8;
}

static void *spoiler(void *arg)
{
	uint64_t state = *(uint64_t *)arg;

	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED))
		spoil_one(&state);
	return NULL;
}

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
	struct synth_opts opts = { .ring_bytes = 16384, .sub_bytes = 1024, .nslices = 2, .profile_ids = 256, .overwrite = (int)rnd(&seed, 4) == 0 };
	uint32_t tracer = rnd(&seed, 4) ? UFT_TRACER_GRAPH : UFT_TRACER_PROFILE;
	struct uft_image *img = synth_image(1, 16);
	struct uft_writer *w;
	struct uft_writer_stats stats;
	struct uft_error err = { "" };
	pthread_t thread;
	uint64_t clock = 1000, mine;

	synth = synth_new(&opts);
	w = synth_writer(synth, path, tracer, rnd(&seed, 2) ? 1 : 0);
	synth_begin(synth, 0, PID_HOSTILE, 1);
	synth_begin(synth, 1, PID_GOOD, 1);
	if (!w || uft_writer_slice(w, 0, img) || uft_writer_slice(w, 1, img))
		fail("no writer");
	for (uint32_t i = 0; i < 50; i++)
		synth_entry(synth, (struct synth_at){ 0, i & 1, PID_HOSTILE, PID_HOSTILE, clock++ }, synth_stub_id(img, i % 16));
	mine = seed;
	__atomic_store_n(&is_over, 0, __ATOMIC_RELAXED);
	if (is_beside && pthread_create(&thread, NULL, spoiler, &mine))
		fail("no thread");
	for (uint32_t i = 0; i < NCALLS; i++) {
		if (!is_beside)
			spoil_one(&seed);
		synth_entry(synth, (struct synth_at){ 1, 0, PID_GOOD, PID_GOOD, clock++ }, synth_stub_id(img, i % 16));
		synth_exit(synth, (struct synth_at){ 1, 0, PID_GOOD, PID_GOOD, clock++ }, synth_stub_id(img, i % 16));
		if (i % 20 == 0 && uft_writer_poll(w) < 0)
			fail("poll");
	}
	uft_writer_slice_end(w, rnd(&seed, 2) ? 0 : 1);
	__atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
	if (is_beside)
		pthread_join(thread, NULL);
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
