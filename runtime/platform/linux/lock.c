/* SPDX-License-Identifier: MIT */
/*
 * lock.c - mlockall() of a process of which not all is its own
 *
 * mlockall(MCL_CURRENT) makes every page of every mapping. Ours are sparse: an arena of many gigabytes, shadow stacks
 * and tables for the worst case. So what the program has is locked piece by piece, which makes the same pages, and
 * the call itself is left with what remains: MCL_FUTURE, or the current mappings on fault.
 *
 * Errors are the call's: a page that cannot be had does not make mlockall() fail either. Its one check, of the limit
 * against all mappings, is made here for the program's alone.
 */
#include "runtime/base/sys.h"
#include "runtime/platform/linux/maps.h"
#include "runtime/platform/platform.h"

#define RLIMIT_MEMLOCK_	8
#define CAP_IPC_LOCK_	14
#define CAP_VERSION_3	0x20080522u

struct lock {
	plat_ours_fn *ours;
	int flags;		/* of mlock2(); < 0: only count */
	uint64_t bytes;
};

static int lock_piece(struct lock *l, uintptr_t lo, uintptr_t hi)
{
	l->bytes += hi - lo;
	if (l->flags >= 0)
		sys_call3(__NR_mlock2, lo, hi - lo, l->flags);
	return 0;
}

/* Neighbouring mappings merge: one may hold several of ours. */
static int lock_map(void *arg, const struct linux_map *m)
{
	struct lock *l = arg;
	uintptr_t at = m->lo;

	while (at < m->hi) {
		uintptr_t lo = m->hi, hi = m->hi;

		if (!l->ours(at, &lo, &hi) || lo > m->hi)
			lo = hi = m->hi;
		if (lo > at)
			lock_piece(l, at, lo);
		at = hi;
	}
	return 0;
}

static int may_lock_all(void)
{
	struct { uint32_t version; int pid; } header = { CAP_VERSION_3, 0 };
	struct { uint32_t effective, permitted, inheritable; } cap[2] = { { 0, 0, 0 } };

	return !sys_call3(__NR_capget, &header, cap, 0) && cap[0].effective & 1u << CAP_IPC_LOCK_;
}

int plat_lock_others(plat_ours_fn *ours, int on_fault)
{
	struct { uint64_t now, max; } limit = { 0, 0 };
	struct lock l = { ours, -1, 0 };
	int ret = linux_maps_walk(lock_map, &l);

	if (ret)
		return ret;
	sys_call4(__NR_prlimit64, 0, RLIMIT_MEMLOCK_, NULL, &limit);
	if (l.bytes > limit.now && !may_lock_all())
		return -ENOMEM;
	l.flags = on_fault ? 1 /* MLOCK_ONFAULT */ : 0;
	return linux_maps_walk(lock_map, &l);
}
