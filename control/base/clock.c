// SPDX-License-Identifier: MIT
/* clock.c - the time of this machine. Context: any thread. */
#include "control/base/base.h"

#include <time.h>

uint64_t session_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}
