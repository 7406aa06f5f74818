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

#endif
