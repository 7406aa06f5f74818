/* SPDX-License-Identifier: MIT */
/*
 * histogram.h - log-linear histograms of durations, many of them in little memory
 *
 * Values 0..63 have a bucket each; above, every octave has 32 buckets of equal width. A value read back is the middle
 * of its bucket, so it is off by at most 1/64 (1.6 %). All histograms share a pool of blocks, and an octave gets its
 * block with the first value there, because the durations of a function usually fall into a few octaves. A bucket
 * counts to 2^32 - 1 and stays there: a rank is then still right to 1 in 2^32. No step branches on the value. Context:
 * control, one thread.
 */
#ifndef UFT_OUTPUT_HISTOGRAM_H
#define UFT_OUTPUT_HISTOGRAM_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/array.h"

#define HIST_SUB_BITS	5
#define HIST_SUB	(1u << HIST_SUB_BITS)
#define HIST_OCTAVES	(64 - HIST_SUB_BITS)	/* octave 0: 0..31, octave k: 32 << (k-1) and up to twice that */

struct histogram {
	uint32_t octave[HIST_OCTAVES + 1];	/* 1 + index of its block in the pool, 0 none */
};

struct hist_pool {
	uint32_t (*block)[HIST_SUB];
	size_t n, cap;
};

static inline unsigned hist_octave(uint64_t v)
{
	return (unsigned)(64 - HIST_SUB_BITS - __builtin_clzll(v | HIST_SUB / 2));
}

static inline unsigned hist_bucket(uint64_t v, unsigned octave)
{
	return (unsigned)(v >> (octave - (octave != 0))) & (HIST_SUB - 1);
}

/* The value of a bucket: its middle. */
static inline uint64_t hist_value(unsigned octave, unsigned bucket)
{
	uint64_t width = octave ? 1ull << (octave - 1) : 1;

	return octave ? (HIST_SUB + bucket) * width + width / 2 : bucket;
}

static inline int hist_take_block(struct hist_pool *pool, struct histogram *h, unsigned octave)
{
	if (array_reserve(pool->block, pool->cap, pool->n + 1))
		return -ENOMEM;
	memset(pool->block[pool->n], 0, sizeof(*pool->block));
	h->octave[octave] = (uint32_t)++pool->n;
	return 0;
}

#define HIST_NOWHERE	SIZE_MAX

/* The place in the pool that counts @v; HIST_NOWHERE: its octave has no block yet. */
static inline size_t hist_place(const struct histogram *h, uint64_t v)
{
	unsigned octave = hist_octave(v);
	size_t block = h->octave[octave];

	return block ? (block - 1) * HIST_SUB + hist_bucket(v, octave) : HIST_NOWHERE;
}

static inline void hist_count(struct hist_pool *pool, size_t place)
{
	uint32_t *n = &pool->block[0][0] + place;

	*n += *n != UINT32_MAX;
}

static inline int hist_add(struct hist_pool *pool, struct histogram *h, uint64_t v)
{
	size_t place = hist_place(h, v);

	if (__builtin_expect(place == HIST_NOWHERE, 0)) {
		if (hist_take_block(pool, h, hist_octave(v)) < 0)
			return -ENOMEM;
		place = hist_place(h, v);
	}
	hist_count(pool, place);
	return 0;
}

/* Adds the counts of @from, whose pool is another. 0 or -ENOMEM. */
static inline int hist_merge(struct hist_pool *pool, struct histogram *h, const struct hist_pool *from_pool,
			     const struct histogram *from)
{
	for (unsigned o = 0; o <= HIST_OCTAVES; o++) {
		if (!from->octave[o])
			continue;
		if (!h->octave[o] && hist_take_block(pool, h, o) < 0)
			return -ENOMEM;
		for (unsigned b = 0; b < HIST_SUB; b++) {
			uint32_t *n = &pool->block[h->octave[o] - 1][b],
				 more = from_pool->block[from->octave[o] - 1][b];

			*n = more > UINT32_MAX - *n ? UINT32_MAX : *n + more;
		}
	}
	return 0;
}

/* The value of rank @rank (from 1) among all added values; the last one if there are fewer. */
static inline uint64_t hist_rank(const struct hist_pool *pool, const struct histogram *h, uint64_t rank)
{
	uint64_t last = 0;

	for (unsigned o = 0; o <= HIST_OCTAVES; o++) {
		if (!h->octave[o])
			continue;
		for (unsigned b = 0; b < HIST_SUB; b++) {
			uint64_t n = pool->block[h->octave[o] - 1][b];

			if (!n)
				continue;
			last = hist_value(o, b);
			if (rank <= n)
				return last;
			rank -= n;
		}
	}
	return last;
}

#endif
