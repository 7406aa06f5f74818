/* SPDX-License-Identifier: MIT */
/*
 * mlock.c - keep the runtime's memory unlocked when the program locks its own
 *
 * Theory: platform/linux/lock.c. Not locked are the arena and memory that is reserved for the worst case (shadow
 * stacks, the tables of threads and of set-aside entries). The little that remains is locked with the program's memory,
 * if no limit applies.
 *
 *	MCL_CURRENT | MCL_FUTURE	our mlock2() of the rest, the call with MCL_FUTURE alone
 *	MCL_CURRENT			our mlock2() of the rest, then a call that does nothing instead of this
 *					one, which would compare the limit with all of the address space, ours
 *					included
 *	MCL_FUTURE			as it is
 * Memory that the runtime maps after MCL_FUTURE is mapped without access, unlocked, and then made accessible
 * (plat_map_sparse()). Without /proc the current pages are locked on fault. A fork child has no locks.
 */
#include <asm/unistd.h>
#include <linux/mman.h>

#include "runtime/trace/hooks/hooks.h"

/* Moves [*lo, *hi) to the piece [from, from + bytes) if that is nearer. */
static int lock_nearer(uintptr_t at, uintptr_t from, uint64_t bytes, uintptr_t *lo, uintptr_t *hi)
{
	if (!from || from + bytes <= at || from >= *lo)
		return 0;
	*lo = from;
	*hi = from + bytes;
	return 1;
}

/* plat_ours_fn. Threads are added at the head of their list and never removed. */
static int lock_large(uintptr_t at, uintptr_t *lo, uintptr_t *hi)
{
	const struct uft_arena *a = uft_rt.arena;
	uint64_t bytes;
	uintptr_t from;
	int found;

	found = lock_nearer(at, (uintptr_t)uft_rt.mail,
			    a->slice_offset - UFT_BOARD_BYTES + a->slice_bytes * a->per_file, lo, hi);
	from = thread_reserve(&bytes);
	found |= lock_nearer(at, from, bytes, lo, hi);
	from = aside_reserve(&bytes);
	found |= lock_nearer(at, from, bytes, lo, hi);
	found |= spare_next(at, lo, hi);
	for (const struct uft_thread *th = thread_first(); th; th = th->next)
		found |= lock_nearer(at, (uintptr_t)th, th->bytes, lo, hi);
	return found;
}

uint32_t trace_hook_mlockall(uint64_t *regs)
{
	uint64_t flags = regs[0];
	int was_future, ret;

	if (flags & ~(uint64_t)(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) ||
	    plat_is_denied(UFT_DENIED_CHILDREN | UFT_DENIED_MEMORY))
		return __NR_mlockall;
	was_future = plat_expect_locks(!!(flags & MCL_FUTURE));
	if (!(flags & MCL_CURRENT))
		return __NR_mlockall;
	/* Memory that another thread maps between this and the call stays unlocked: the two raced. */
	ret = plat_lock_others(lock_large, !!(flags & MCL_ONFAULT), was_future);
	if (ret == -ENOMEM)
		return __NR_mlockall;		/* the call fails with or without the runtime */
	if (ret) {
		regs[0] = flags | MCL_ONFAULT;
		return __NR_mlockall;
	}
	if (flags & MCL_FUTURE) {
		regs[0] = flags & ~(uint64_t)MCL_CURRENT;
		return __NR_mlockall;
	}
	regs[0] = regs[1] = 0;
	return __NR_munlock;			/* of no bytes, so it changes nothing */
}
