/* SPDX-License-Identifier: MIT */
/* clock.c - see clock.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stream/wire/clock.h"
#include "symbol/array.h"
#include "symbol/host.h"
#include "symbol/now.h"
#include "symbol/sorted.h"

#define CLOCK_THIN_NS	100000000ull
/*
 * least distance of two readings that tell the rate to a thousandth, for the time being, even if a reading is disturbed
 */
#define CLOCK_LEAST_NS	1000000ull
/* more than a reading can be wrong by, even of a clock that is read each second or each ten */
#define CLOCK_OFF_NS	1000000
/* A counter faster than 2^32 ns a tick or so slow that its product overflows is damage, not a clock. */
#define CLOCK_MAX_MULT	(1ull << 40)
#define CLOCK_MAX_NS	(1ull << 62)

void uft_clock_sample(struct uft_clock_pair *out)
{
	uft_clock_sample_of(CLOCK_MONOTONIC, out);
}

void uft_clock_sample_of(clockid_t id, struct uft_clock_pair *out)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 8; i++) {
		uint64_t before = host_clock();
		uint64_t ns = clock_ns(id);
		uint64_t width = host_clock() - before;

		if (width < best) {
			best = width;
			out->clock = before + width / 2;
			out->ns = ns;
		}
	}
}

/* Returns mult of the line from @a to @b; 0: that is no clock. */
static uint64_t clock_mult(const struct uft_clock_pair *a, const struct uft_clock_pair *b)
{
	unsigned __int128 mult;

	if (b->clock <= a->clock || b->ns <= a->ns || b->ns > CLOCK_MAX_NS)
		return 0;
	mult = ((unsigned __int128)(b->ns - a->ns) << 32) / (b->clock - a->clock);
	return mult > CLOCK_MAX_MULT ? 0 : (uint64_t)mult;
}

/*
 * Keeps, in place, a subsequence whose lines are all clocks and, where possible, long. Returns its length. The last
 * usable pair always stays, because the recording ends there.
 */
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
	SORT_BY(pairs, n, clock);
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
	/* Beyond CLOCK_MAX_NS, 146 years, the last segment stands still: later clocks are damage. */
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

/* ---- The line of a running session ----------------------------------------------------------------- */

static uint64_t line_ns(const struct uft_clock_line *l, uint64_t clock)
{
	const struct uft_clock_seg *s = &l->seg[l->nseg - 1];

	while (s > l->seg && s->clock0 > clock)
		s--;
	return clock < s->clock0 ? s->ns0 : s->ns0 + (uint64_t)((unsigned __int128)(clock - s->clock0) * s->mult >> 32);
}

int uft_clock_line_is_off(const struct uft_clock_line *l, const struct uft_clock_pair *now)
{
	int64_t off = l->is_known ? (int64_t)(now->ns - line_ns(l, now->clock)) : 0;

	return off > CLOCK_OFF_NS || off < -CLOCK_OFF_NS;
}

static void line_begin(struct uft_clock_line *l, const struct uft_clock_pair *now)
{
	if (!l->nseg)
		l->from = *now;
	else if (now->ns - l->from.ns >= CLOCK_LEAST_NS)
		l->mult = clock_mult(&l->from, now);
	l->is_known = l->mult != 0;
	l->last = *now;
	l->seg[0] = (struct uft_clock_seg){ l->from.clock, l->from.ns, l->is_known ? l->mult : 1ull << 32 };
	l->nseg = 1;
}

/* Until the rate was measured over CLOCK_THIN_NS, each reading improves it; then one reading each CLOCK_THIN_NS. */
static void line_rate(struct uft_clock_line *l, const struct uft_clock_pair *now)
{
	uint64_t mult = clock_mult(&l->from, now);
	int is_long = now->ns - l->from.ns >= CLOCK_THIN_NS;

	if (mult && (is_long || !l->is_settled))
		l->mult = mult;
	if (!is_long)
		return;
	l->is_settled = 1;
	l->from = *now;
}

int uft_clock_line_read(struct uft_clock_line *l, const struct uft_clock_pair *now, uint64_t pinned)
{
	struct uft_clock_pair begin, end = *now;
	int is_off = uft_clock_line_is_off(l, now);
	uint64_t mult;

	if (array_reserve(l->seg, l->cap_seg, l->nseg + 2))
		return -ENOMEM;
	if (!l->is_known) {
		line_begin(l, now);
		return 0;
	}
	if (now->clock <= l->last.clock || now->ns <= l->last.ns ||
	    (l->is_settled && !is_off && now->ns - l->last.ns < CLOCK_THIN_NS))
		return 0;
	begin.clock = pinned > l->last.clock ? pinned : l->last.clock;
	begin.ns = line_ns(l, begin.clock);
	if (is_off) {
		l->from = *now;		/* earlier readings tell nothing about the rate */
	} else {
		line_rate(l, now);
		end.clock += (CLOCK_THIN_NS << 32) / l->mult;
		end.ns += CLOCK_THIN_NS;
	}
	mult = clock_mult(&begin, &end);
	if (!mult)
		return 0;
	while (l->nseg > 1 && l->seg[l->nseg - 1].clock0 >= begin.clock)
		l->nseg--;
	l->seg[l->nseg++] = (struct uft_clock_seg){ begin.clock, begin.ns, mult };
	l->seg[l->nseg++] = (struct uft_clock_seg){ end.clock, end.ns, l->mult };
	l->last = *now;
	return 0;
}

int uft_clock_line_copy(struct uft_clock_line *to, const struct uft_clock_line *from)
{
	*to = *from;
	to->cap_seg = from->nseg;
	to->seg = malloc((from->nseg + 1) * sizeof(*to->seg));
	if (!to->seg) {
		memset(to, 0, sizeof(*to));
		return -ENOMEM;
	}
	memcpy(to->seg, from->seg, from->nseg * sizeof(*to->seg));
	return 0;
}

void uft_clock_line_free(struct uft_clock_line *l)
{
	free(l->seg);
	memset(l, 0, sizeof(*l));
}

int uft_clock_build_line(struct uft_clock *c, const struct uft_clock_line *l, uint64_t shift_ns)
{
	int ret = uft_clock_build(c, NULL, 0);
	struct uft_clock_seg *seg = ret || !l->nseg ? NULL : malloc(l->nseg * sizeof(*seg));

	if (ret || !l->nseg)
		return ret;
	if (!seg) {
		uft_clock_free(c);
		return -ENOMEM;
	}
	free(c->seg);
	c->seg = seg;
	c->nseg = l->nseg;
	for (size_t i = 0; i < l->nseg; i++) {
		seg[i] = l->seg[i];
		seg[i].ns0 += shift_ns;
	}
	uft_clock_find(c, seg[0].clock0);
	return 0;
}
