/* SPDX-License-Identifier: MIT */
/* base.h - waiting for a word of memory, and for targets. Context: any thread, but for patience.c. */
#ifndef UFT_CONTROL_BASE_H
#define UFT_CONTROL_BASE_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "symbol/now.h"

/*
 * patience.c: how long the session waits for a target where the first one has @ms; and what the wait that began at
 * @since_ns took.
 */
#define SLOW_MS	500
uint64_t patience_ns(uint32_t ms);
void patience_use(uint64_t since_ns, int is_vain);

static inline long futex(uint32_t *word, int op, uint32_t val, const struct timespec *timeout)
{
	extern long syscall(long nr, ...);

	return syscall(202 /* SYS_futex */, word, op, val, timeout, NULL, 0);
}

#endif
