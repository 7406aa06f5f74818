/* SPDX-License-Identifier: MIT */
/*
 * lock.c - mlockall() of a process that also has memory of the runtime
 *
 * mlockall(MCL_CURRENT) makes every page of every mapping. The runtime's mappings are sparse: an arena of many
 * gigabytes, shadow stacks and tables for the worst case. So the program's mappings are locked one by one, which makes
 * the same pages, and the call itself only has to do the rest: MCL_FUTURE, or the current mappings on fault.
 *
 * Errors are those of the call: a page that cannot be made does not make mlockall() fail either. Its one check compares
 * the limit with the size of all mappings; it is made here for the program's mappings alone. Whether the limit applies
 * to this process, the kernel tells: mlockall() of everything, on fault, makes no page.
 */
#include "runtime/base/sys.h"
#include "runtime/platform/linux/maps.h"
#include "runtime/platform/linux/own.h"
#include "runtime/platform/platform.h"

#define RLIMIT_MEMLOCK_	8
#define MCL_CURRENT_	1
#define MCL_ONFAULT_	4
#define VSYSCALL	0xffffffffff600000ull	/* listed, but no mapping */

enum lock_mode { LOCK_COUNT = -2, LOCK_LEAVE = -1 /* unlocks ours */, LOCK_NOW, LOCK_ON_FAULT /* flags of mlock2() */ };

static uint32_t lock_future;	/* 1: new mappings may come locked; never cleared; costs two calls per mapping then */

struct lock {
	plat_ours_fn *ours;
	enum lock_mode mode;
	uint64_t bytes;
};

static void lock_piece(struct lock *l, uintptr_t lo, uintptr_t hi)
{
	l->bytes += hi - lo;
	if (l->mode >= LOCK_NOW)
		sys_call3(__NR_mlock2, lo, hi - lo, l->mode);
}

/* Neighbouring mappings merge, so one line may hold several of the runtime's. */
static int lock_map(void *arg, const struct linux_map *m)
{
	struct lock *l = arg;
	uintptr_t at = m->lo;

	while (at < m->hi && at < VSYSCALL) {
		uintptr_t lo = m->hi, hi = m->hi;

		if (!l->ours(at, &lo, &hi) || lo > m->hi)
			lo = hi = m->hi;
		if (lo > at)
			lock_piece(l, at, lo);
		at = hi > m->hi ? m->hi : hi;
		if (l->mode == LOCK_LEAVE && at > lo)
			sys_call3(__NR_munlock, lo, at - lo, 0);
	}
	return 0;
}

static int lock_walk(plat_ours_fn *ours, enum lock_mode mode, uint64_t *bytes)
{
	struct lock l = { ours, mode, 0 };
	int ret = linux_maps_walk(lock_map, &l);

	*bytes = l.bytes;
	return ret;
}

int plat_expect_locks(int from_now)
{
	int before = (int)uft_load(&lock_future);

	if (from_now)
		uft_store(&lock_future, 1);
	return before;
}

int plat_lock_others(plat_ours_fn *large, int on_fault, int is_future)
{
	struct { uint64_t now, max; } limit = { 0, 0 };
	uint64_t bytes;
	int ret = lock_walk(mem_next_owned /* GUARD(lock_leaves_owned, large) */, LOCK_COUNT, &bytes), is_free = 0;

	if (ret)
		return ret;
	sys_call4(__NR_prlimit64, 0, RLIMIT_MEMLOCK_, NULL, &limit);
	if (bytes > limit.now || is_future)
		is_free = !sys_call3(__NR_mlockall, MCL_CURRENT_ | MCL_ONFAULT_, 0, 0);
	if (bytes > limit.now && !is_free)
		return -ENOMEM;
	/* Later mappings are not locked any more, unless the call asks for it: that is set after this. */
	if (is_future && !is_free) /* GUARD(plat_lock_others_is_future) */
		sys_call3(__NR_munlockall, 0, 0, 0);
	if (is_free)
		lock_walk(large, LOCK_LEAVE, &bytes);
	/* If there is a limit, each locked page of the runtime would be one less for the program. */
	return lock_walk(is_free || limit.now == ~0ull ? large : mem_next_owned /* GUARD(lock_leaves_owned, large) */,
			 on_fault ? LOCK_ON_FAULT : LOCK_NOW,
			 &bytes);
}
