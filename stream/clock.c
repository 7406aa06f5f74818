/* SPDX-License-Identifier: MIT */
/* clock.c - see clock.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stream/clock.h"
#include "symbol/host.h"

#define CLOCK_THIN_NS	100000000ull
/* A counter faster than 2^32 ns a tick or so slow that its product overflows is damage, not a clock. */
#define CLOCK_MAX_MULT	(1ull << 40)
#define CLOCK_MAX_NS	(1ull << 62)

static uint64_t clock_monotonic(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void uft_clock_sample(struct uft_clock_pair *out)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 8; i++) {
		uint64_t before = host_clock();
		uint64_t ns = clock_monotonic();
		uint64_t width = host_clock() - before;

		if (width < best) {
			best = width;
			out->clock = before + width / 2;
			out->ns = ns;
		}
	}
}

static int clock_compare(const void *a, const void *b)
{
	const struct uft_clock_pair *x = a, *y = b;

	return x->clock < y->clock ? -1 : x->clock > y->clock;
}

/* mult of the line from @a to @b, 0 if that is no clock. */
static uint64_t clock_mult(const struct uft_clock_pair *a, const struct uft_clock_pair *b)
{
	unsigned __int128 mult;

	if (b->clock <= a->clock || b->ns <= a->ns || b->ns > CLOCK_MAX_NS)
		return 0;
	mult = ((unsigned __int128)(b->ns - a->ns) << 32) / (b->clock - a->clock);
	return mult > CLOCK_MAX_MULT ? 0 : (uint64_t)mult;
}

/* Keeps, in place, a subsequence along which every line is a clock and, where possible, long. Returns its
 * length. The last usable pair always stays: the recording ends there. */
static size_t clock_thin(struct uft_clock_pair *p, size_t n)
{
	struct uft_clock_pair tail = { 0, 0 };
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (!kept) {
			p[kept++] = p[i];
		} else if (clock_mult(&p[kept - 1], &p[i])) {
			tail = p[i];
			if (p[i].ns - p[kept - 1].ns >= CLOCK_THIN_NS)
				p[kept++] = p[i];
		}
	}
	if (kept && tail.clock > p[kept - 1].clock) {
		if (kept > 1 && clock_mult(&p[kept - 2], &tail))
			kept--;
		p[kept++] = tail;
	}
	return kept;
}

int uft_clock_build(struct uft_clock *c, struct uft_clock_pair *pairs, size_t n)
{
	memset(c, 0, sizeof(*c));
	if (n)
		qsort(pairs, n, sizeof(*pairs), clock_compare);
	n = clock_thin(pairs, n);
	c->nseg = n > 1 ? n - 1 : 1;
	c->seg = calloc(c->nseg, sizeof(*c->seg));
	if (!c->seg)
		return -ENOMEM;
	c->seg[0].mult = 1ull << 32;
	for (size_t i = 0; i + 1 < n; i++) {
		c->seg[i].clock0 = pairs[i].clock;
		c->seg[i].ns0 = pairs[i].ns;
		c->seg[i].mult = clock_mult(&pairs[i], &pairs[i + 1]);
	}
	uft_clock_find(c, c->seg[0].clock0);
	return 0;
}

void uft_clock_free(struct uft_clock *c)
{
	free(c->seg);
	memset(c, 0, sizeof(*c));
}

uint64_t uft_clock_find(struct uft_clock *c, uint64_t clock)
{
	const struct uft_clock_seg *s = c->seg;
	size_t lo = 0, hi = c->nseg;
	unsigned __int128 ns;

	if (clock < s->clock0) {
		ns = (unsigned __int128)(s->clock0 - clock) * s->mult >> 32;
		return ns < s->ns0 ? s->ns0 - (uint64_t)ns : 0;
	}
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (s[mid].clock0 <= clock)
			lo = mid;
		else
			hi = mid;
	}
	/* Beyond CLOCK_MAX_NS, 146 years, the last segment stands still: what comes later is damage. */
	c->cur = s[lo];
	c->cur_end = lo + 1 < c->nseg ? s[lo + 1].clock0 : UINT64_MAX;
	ns = (unsigned __int128)CLOCK_MAX_NS << 32;
	ns /= s[lo].mult;
	if (ns < c->cur_end - s[lo].clock0)
		c->cur_end = s[lo].clock0 + (uint64_t)ns;
	if (clock >= c->cur_end)
		clock = c->cur_end;
	return s[lo].ns0 + (uint64_t)((unsigned __int128)(clock - s[lo].clock0) * s[lo].mult >> 32);
}
