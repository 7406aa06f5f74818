/* SPDX-License-Identifier: MIT */
/*
 * clock.h - from the rings' clock to CLOCK_MONOTONIC
 *
 * Rings carry the raw cycle counter. The recorder samples pairs of (counter, CLOCK_MONOTONIC) at its start and end
 * and while it runs; between two pairs time is a straight line: ns0 + ((clock - clock0) * mult >> 32),
 * with mult = floor((ns1 - ns0) << 32 / (clock1 - clock0)). As mult is rounded down, a segment never
 * ends above the start of the next: the conversion is monotone over the whole range, exact at the pairs,
 * and integer only. Before the first and after the last pair the nearest segment goes on.
 *
 * A running session gives out times while it is still measuring. Its line (uft_clock_line) is only ever made
 * longer: up to the last clock that may have been shown as a time it stays as it is, and from there it goes to
 * where the newest reading says that it will be soon. So an event has the same time whenever it is read, and
 * what a reading differs from the one before, less than a us, is spread over a tenth of a second. What
 * differs by more than a reading can, as after a suspend, is made up for at once.
 */
#ifndef UFT_STREAM_CLOCK_H
#define UFT_STREAM_CLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct uft_clock_pair { uint64_t clock, ns; };

struct uft_clock_seg { uint64_t clock0, ns0, mult; };

struct uft_clock {
	struct uft_clock_seg cur;	/* the segment last used, valid in [cur.clock0, cur_end) */
	uint64_t cur_end;
	struct uft_clock_seg *seg;
	size_t nseg;
};

/* Samples the machine's pair: of several tries the one that was least disturbed. */
void uft_clock_sample(struct uft_clock_pair *out);
void uft_clock_sample_of(clockid_t id, struct uft_clock_pair *out);	/* with another clock than CLOCK_MONOTONIC */

/* Makes the segments; @pairs come in any order, may be hostile, and are sorted here. Pairs closer than
 * 100 ms are thinned out (their error would show in durations), except that two always remain.
 * 0 or -ENOMEM. Without two usable pairs the clock counts ns. */
int uft_clock_build(struct uft_clock *c, struct uft_clock_pair *pairs, size_t n);
void uft_clock_free(struct uft_clock *c);

uint64_t uft_clock_find(struct uft_clock *c, uint64_t clock);	/* the slow path of uft_clock_ns() */

/* All zero at first. */
struct uft_clock_line {
	struct uft_clock_seg *seg;
	size_t nseg, cap_seg;
	struct uft_clock_pair from, last;	/* where the rate is measured from; the last reading that counted */
	int is_known, is_settled;		/* the rate: by two readings; by two that are far enough apart */
	uint64_t mult;
};

/* One more reading. Clocks not later than @pinned keep their time. 0 or -ENOMEM: nothing has changed. A reading that
 * tells nothing new, or of a clock that went back, is passed over. */
int uft_clock_line_read(struct uft_clock_line *l, const struct uft_clock_pair *now, uint64_t pinned);
/* How far the line is from a reading, in ns, is so much that it is to be read at once. */
int uft_clock_line_is_off(const struct uft_clock_line *l, const struct uft_clock_pair *now);
int uft_clock_line_copy(struct uft_clock_line *to, const struct uft_clock_line *from);	/* 0 or -ENOMEM */
void uft_clock_line_free(struct uft_clock_line *l);
/* The line, later by @shift_ns (modulo 2^64), as a clock. 0 or -ENOMEM. */
int uft_clock_build_line(struct uft_clock *c, const struct uft_clock_line *l, uint64_t shift_ns);

static inline uint64_t uft_clock_ns(struct uft_clock *c, uint64_t clock)
{
	if (__builtin_expect(clock >= c->cur.clock0 && clock < c->cur_end, 1))
		return c->cur.ns0 + (uint64_t)((unsigned __int128)(clock - c->cur.clock0) * c->cur.mult >> 32);
	return uft_clock_find(c, clock);
}

#endif
