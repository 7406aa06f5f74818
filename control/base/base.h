/* SPDX-License-Identifier: MIT */
/*
 * base.h - waits for a word of memory or a descriptor, and limits of waits for targets. Context: any thread;
 * patience.c: see there.
 */
#ifndef UFT_CONTROL_BASE_H
#define UFT_CONTROL_BASE_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "symbol/now.h"

/*
 * patience.c: patience_ns() returns how long to wait for a target, in a wait that has @ms as long as no time is used
 * up. patience_use() accounts for the wait that began at @since_ns. @is_vain: the target did not answer.
 */
#define SLOW_MS	500
uint64_t patience_ns(uint32_t ms);
void patience_use(uint64_t since_ns, int is_vain);

/*
 * await.c: waits until @fd can be read (a pidfd: its process has ended), at most @ms. A signal does not shorten the
 * wait: a Ctrl-C in the middle of an attach must not look like an agent that is late. 1: it can; 0: not in time.
 */
int fd_await(int fd, unsigned ms);

static inline long futex(uint32_t *word, int op, uint32_t val, const struct timespec *timeout)
{
	extern long syscall(long nr, ...);

	return syscall(202 /* SYS_futex */, word, op, val, timeout, NULL, 0);
}

#endif
