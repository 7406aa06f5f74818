/* SPDX-License-Identifier: MIT */
/*
 * clock.h - from the rings' clock to CLOCK_MONOTONIC
 *
 * Rings carry the raw cycle counter. The recorder samples pairs of (counter, CLOCK_MONOTONIC) at its start, at its end
 * and while it runs. Between two pairs time is a straight line: ns0 + ((clock - clock0) * mult >> 32), with mult =
 * floor((ns1 - ns0) << 32 / (clock1 - clock0)). mult is rounded down, so a segment never ends above the start of the
 * next: the conversion is monotone over the whole range, exact at the pairs, and integer only. Before the first and
 * after the last pair the nearest segment goes on.
 *
 * A running session gives out times while it still measures. So its line (uft_clock_line) only becomes longer. Up to
 * the last clock that may have been shown as a time the line stays as it is; from there it leads to where the newest
 * reading predicts it to be soon. So an event has the same time whenever it is read. The difference of two readings,
 * less than a us, is spread over a tenth of a second. A difference larger than a reading's error, as after a suspend,
 * is corrected at once.
 */
#ifndef UFT_STREAM_CLOCK_H
#define UFT_STREAM_CLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct uft_clock_pair { uint64_t clock, ns; };

struct uft_clock_seg { uint64_t clock0, ns0, mult; };

struct uft_clock {
	struct uft_clock_seg cur;	/* the last used segment, valid in [cur.clock0, cur_end) */
	uint64_t cur_end;
	struct uft_clock_seg *seg;
	size_t nseg;
};

/* Samples a pair of this machine: of several attempts the least disturbed one. */
void uft_clock_sample(struct uft_clock_pair *out);
void uft_clock_sample_of(clockid_t id, struct uft_clock_pair *out);	/* with another clock than CLOCK_MONOTONIC */

/*
 * Makes the segments. @pairs come in any order, may be hostile, and are sorted here. Pairs closer than 100 ms are
 * thinned out, because their error would show in durations, but two always remain. 0 or -ENOMEM. Without two usable
 * pairs the clock counts ns.
 */
int uft_clock_build(struct uft_clock *c, struct uft_clock_pair *pairs, size_t n);
void uft_clock_free(struct uft_clock *c);

uint64_t uft_clock_find(struct uft_clock *c, uint64_t clock);	/* the slow path of uft_clock_ns() */

/* Begins as all zeroes. */
struct uft_clock_line {
	struct uft_clock_seg *seg;
	size_t nseg, cap_seg;
	struct uft_clock_pair from, last;	/* the first reading of the rate's measurement; the last used reading */
	int is_known, is_settled;		/* the rate: from two readings; from two that are far enough apart */
	uint64_t mult;
};

/*
 * Adds a reading. Clocks not later than @pinned keep their time. 0 or -ENOMEM: nothing has changed. Ignores a reading
 * that tells nothing new, or whose clock went back.
 */
int uft_clock_line_read(struct uft_clock_line *l, const struct uft_clock_pair *now, uint64_t pinned);
/* Returns 1 if the line is so far from a reading, in ns, that it must be read at once. */
int uft_clock_line_is_off(const struct uft_clock_line *l, const struct uft_clock_pair *now);
int uft_clock_line_copy(struct uft_clock_line *to, const struct uft_clock_line *from);	/* 0 or -ENOMEM */
void uft_clock_line_free(struct uft_clock_line *l);
/* Makes a clock of the line, later by @shift_ns (modulo 2^64). 0 or -ENOMEM. */
int uft_clock_build_line(struct uft_clock *c, const struct uft_clock_line *l, uint64_t shift_ns);

static inline uint64_t uft_clock_ns(struct uft_clock *c, uint64_t clock)
{
	if (__builtin_expect(clock >= c->cur.clock0 && clock < c->cur_end, 1))
		return c->cur.ns0 + (uint64_t)((unsigned __int128)(clock - c->cur.clock0) * c->cur.mult >> 32);
	return uft_clock_find(c, clock);
}

#endif
