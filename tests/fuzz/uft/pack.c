/* SPDX-License-Identifier: MIT */
/*
 * pack.c - packed ring data: what is packed is what it was, and hostile bytes are refused or unpacked, within their buffers
 *
 * usage: pack [seconds] [seed]
 *
 * Words of random calls or functions, damaged words, then packed; the packed bytes damaged in their head, their arrays, their length.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "stream/wire/pack.h"
#include "uft/abi.h"

#define WORDS		2000u
#define DAMAGES		50u

static uint64_t seed;

static uint32_t rnd(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return below ? (uint32_t)(seed >> 33) % below : 0;
}

static size_t make_calls(uint64_t *w)
{
	uint32_t n = 1 + rnd(WORDS), ids = 1 + rnd(rnd(4) ? 50 : 6000), step = 1 + rnd(rnd(4) ? 300 : UINT32_MAX),
		 clock = rnd(UINT32_MAX);
	uint32_t open[WORDS], depth = 0;

	for (uint32_t i = 0; i < n; i++) {
		clock += rnd(step);
		if (!rnd(50)) {
			w[i] = UFT_REC_WORD(rnd(16), rnd(ids), clock);
		} else if (depth && rnd(2)) {
			w[i] = UFT_REC_WORD(UFT_REC_EXIT, open[--depth], clock);
		} else if (rnd(3)) {
			open[depth] = rnd(ids);
			w[i] = UFT_REC_WORD(UFT_REC_ENTRY, open[depth++], clock);
		} else {
			w[i] = UFT_REC_WORD(UFT_REC_EXIT, rnd(ids), clock);
		}
	}
	return n;
}

static size_t make_funcs(uint64_t *w)
{
	uint32_t n = 0, end = 1 + rnd(WORDS - 1), pairs = 1 + rnd(rnd(4) ? 50 : 6000),
		 step = 1 + rnd(rnd(4) ? 300 : UINT32_MAX), clock = 0;

	while (n < end) {
		uint32_t pair = rnd(pairs);

		w[n++] = UFT_REC_WORD(rnd(50) ? UFT_REC_FUNC : rnd(16), pair / 3, clock += rnd(step));
		w[n++] = 0x555500000000ull + (uint64_t)pair * pair;
	}
	return n - rnd(2);
}

static void fail(const char *what)
{
	fprintf(stderr, "pack: %s, seed %llu\n", what, (unsigned long long)seed);
	exit(1);
}

/* Each buffer is as large as it must be, so that the sanitizer sees what is beyond. */
static void round_trip(struct pack *p)
{
	uint64_t word[WORDS];
	size_t n = 8 * (rnd(2) ? make_calls(word) : make_funcs(word)), size;
	uint8_t *again = malloc(n), *copy;
	const uint8_t *packed;

	size = pack_encode(p, (const uint8_t *)word, n, SIZE_MAX, &packed);
	copy = malloc(size + PACK_SLACK);
	if (!again || !copy || !size)
		fail("no memory");
	memcpy(copy, packed, size);
	memset(copy + size, 0, PACK_SLACK);
	if (pack_decode(p, copy, size, again, n) || memcmp(again, word, n))
		fail("unpacked it is another");
	for (uint32_t i = 0; i < DAMAGES; i++) {
		size_t cut = rnd(8) ? size : rnd((uint32_t)size + 1);
		uint8_t *bad = malloc(cut + PACK_SLACK);

		memcpy(bad, copy, cut);
		memset(bad + cut, (int)rnd(256), PACK_SLACK);
		for (uint32_t k = rnd(4); k && cut; k--)
			bad[rnd(rnd(2) && cut > 40 ? 40 : (uint32_t)cut)] = (uint8_t)rnd(256);
		pack_decode(p, bad, cut, again, n);
		free(bad);
	}
	free(again);
	free(copy);
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 3);
	struct pack *p = pack_new();
	uint64_t rounds = 0;

	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
	alarm(120);
	if (!p)
		fail("no memory");
	for (; time(NULL) < end; rounds++)
		round_trip(p);
	pack_free(p);
	printf("%llu blocks\n", (unsigned long long)rounds);
	return 0;
}
