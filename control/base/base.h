/* SPDX-License-Identifier: MIT */
/* base.h - the clock, and waiting for a word of memory. Context: any thread. */
#ifndef UFT_CONTROL_BASE_H
#define UFT_CONTROL_BASE_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

uint64_t session_now_ns(void);		/* CLOCK_MONOTONIC */

static inline long futex(uint32_t *word, int op, uint32_t val, const struct timespec *timeout)
{
	extern long syscall(long nr, ...);

	return syscall(202 /* SYS_futex */, word, op, val, timeout, NULL, 0);
}

#endif
