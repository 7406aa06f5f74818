/* SPDX-License-Identifier: MIT */
/* segments_test.c - ranges at random, empty ones and the same ones among them, against a look at each */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "symbol/segments.h"

#define CHECK(c) do { if (!(c)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c); exit(1); } } while (0)

#define RANGES	40u
#define PLACES	64u	/* the last ones are those at the end of all addresses */

static uint64_t state = 1;

static uint32_t draw(uint32_t below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33) % below;
}

static uint64_t place(uint32_t n)
{
	return n < PLACES / 2 ? n : UINT64_MAX - (PLACES - 1 - n);
}

static uint32_t first_of(const struct segment_range *range, size_t n, uint64_t at)
{
	for (size_t i = 0; i < n; i++)
		if (at >= range[i].from && at < range[i].to)
			return range[i].owner;
	return SEGMENT_NONE;
}

int main(void)
{
	struct segment_range range[RANGES];
	struct segments s;

	for (unsigned round = 0; round < 20000; round++) {
		size_t n = draw(RANGES + 1);

		for (size_t i = 0; i < n; i++)
			range[i] = (struct segment_range){ place(draw(PLACES)), place(draw(PLACES)), draw(8) };
		CHECK(!segments_make(&s, range, n));
		for (uint32_t k = 0; k < PLACES; k++)
			CHECK(segments_find(&s, place(k)) == first_of(range, n, place(k)));
		segments_free(&s);
	}
	return 0;
}
