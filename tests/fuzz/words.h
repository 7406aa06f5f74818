/* SPDX-License-Identifier: MIT */
/* words.h - random numbers that a seed repeats, and words that are near the truth or at an edge */
#ifndef UFT_TESTS_FUZZ_WORDS_H
#define UFT_TESTS_FUZZ_WORDS_H

#include <stdint.h>

/* Below @below, if that is not 0. */
static inline uint64_t fuzz_random(uint64_t *state, uint64_t below)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return below ? (*state >> 20) % below : 0;
}

static inline uint64_t fuzz_word(uint64_t *state, uint64_t old)
{
	static const uint64_t odd[] = { 0, 1, 2, 8, 4096, 0x7fffffff, 0x80000000, 0xffffffff, 1ull << 40, 1ull << 63,
		~0ull, ~4095ull };

	switch (fuzz_random(state, 4)) {
	case 0:
		return odd[fuzz_random(state, sizeof(odd) / sizeof(odd[0]))];
	case 1:
		return old + odd[fuzz_random(state, 6)];
	case 2:
		return old * 2;
	}
	return old ^ 1ull << fuzz_random(state, 64);
}

#endif
