/* SPDX-License-Identifier: MIT */
/* spoil.c - see spoil.h */
#include "tests/fuzz/uft/spoil.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static struct { struct synth *synth; pthread_t thread; uint64_t state; int is_over; } beside;

uint64_t spoil_random(uint64_t *state, uint64_t below)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return below ? (*state >> 20) % below : 0;
}

static uint64_t any_word(uint64_t *state)
{
	static const uint64_t odd[] = { 0, 1, 7, 8, 0x7fffffff, 0x80000000, 0xffffffff, 1ull << 62, 1ull << 63, ~0ull,
		~7ull, 4096, 16384 };
	uint64_t word = spoil_random(state, 0);

	word = *state;
	return spoil_random(state, 2) ? odd[spoil_random(state, sizeof(odd) / sizeof(odd[0]))] : word;
}

void spoil_one(struct synth *synth, uint64_t *state)
{
	const struct uft_arena *a = synth_arena(synth);
	struct uft_ring *ring = synth_ring(synth, 0, (uint32_t)spoil_random(state, a->ncpus + a->nexch));
	volatile uint64_t *at;

	switch (spoil_random(state, 5)) {
	case 0:
		at = (volatile uint64_t *)synth_slice(synth, 0) + spoil_random(state, sizeof(struct uft_slice) / 8);
		break;
	case 1:
		at = (volatile uint64_t *)synth_profile(synth, 0, (uint32_t)spoil_random(state, a->ncpus), 0) +
		     spoil_random(state, a->profile_ids * 8);
		break;
	case 2:
		at = (volatile uint64_t *)(void *)((uint8_t *)ring + UFT_PAGE) + spoil_random(state, a->ring_bytes / 8);
		break;
	default:
		at = (volatile uint64_t *)(void *)ring + spoil_random(state, sizeof(*ring) / 8);
	}
	/* Most lies are near the truth. */
	*at = spoil_random(state, 3) ? any_word(state) : *at + spoil_random(state, 64) * 8;
}

static void *spoiler(void *arg)
{
	while (!__atomic_load_n(&beside.is_over, __ATOMIC_RELAXED))
		spoil_one(beside.synth, &beside.state);
	return arg;
}

void spoil_begin(struct synth *synth, uint64_t seed)
{
	beside.synth = synth;
	beside.state = seed;
	__atomic_store_n(&beside.is_over, 0, __ATOMIC_RELAXED);
	if (pthread_create(&beside.thread, NULL, spoiler, NULL)) {
		fprintf(stderr, "spoil: no thread\n");
		exit(1);
	}
}

void spoil_end(void)
{
	__atomic_store_n(&beside.is_over, 1, __ATOMIC_RELAXED);
	pthread_join(beside.thread, NULL);
}
