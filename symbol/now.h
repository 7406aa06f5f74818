/* SPDX-License-Identifier: MIT */
/* now.h - clocks of this machine, in nanoseconds. Context: any thread. */
#ifndef UFT_SYMBOL_NOW_H
#define UFT_SYMBOL_NOW_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* The moment in @ns, for waits that end at a time. */
static inline struct timespec clock_in(clockid_t id, uint64_t ns)
{
	ns += clock_ns(id);
	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u) };
}

#endif
