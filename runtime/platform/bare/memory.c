/* SPDX-License-Identifier: MIT */
/*
 * memory.c - hand out the memory that the holder gave
 *
 * A table of free pieces, in whole pages, first fit; free memory reads 0. A piece that comes back merges with its
 * neighbours, so the table has as many entries as there are holes. If the table is full, a piece that comes back is
 * lost and counted (bare_lost_bytes()).
 *
 * Any thread may ask, and so may an interrupt handler. So interrupts are blocked while the lock is held: a handler on
 * the holder's CPU would wait for ever. The lock is held for a walk through the table and never while its holder
 * sleeps, so waiting for it is spinning. Memory is cleared outside of the lock.
 */
#include "runtime/arch/arch.h"
#include "runtime/platform/bare/bare.h"

#define PIECES	256u
#define REACH	ARCH_REACH

struct piece {
	uintptr_t lo, hi;	/* lo 0: unused */
};

/* All fields under the lock. */
static struct {
	uint32_t lock;
	uint32_t n;
	struct piece piece[PIECES];
	uint64_t lost_bytes;
} pool;

static void pool_lock(uint64_t *mask)
{
	plat_signals_block(mask);
	while (!uft_cas(&pool.lock, 0, 1))
		arch_cpu_relax();
}

static void pool_unlock(const uint64_t *mask)
{
	uft_store_release(&pool.lock, 0);
	plat_signals_restore(mask);
}

/* Makes [lo, hi) free. -ENOSPC: no room in the table. */
static int pool_put(uintptr_t lo, uintptr_t hi)
{
	struct piece *low = NULL, *high = NULL;

	for (uint32_t i = 0; i < pool.n; i++) {
		if (pool.piece[i].hi == lo)
			low = &pool.piece[i];
		if (pool.piece[i].lo == hi)
			high = &pool.piece[i];
	}
	if (low && high) { /* GUARD(pool_put_low) */
		low->hi = high->hi;
		*high = pool.piece[--pool.n];
	} else if (low) {
		low->hi = hi;
	} else if (high) {
		high->lo = lo;
	} else if (pool.n < PIECES) {
		pool.piece[pool.n++] = (struct piece){ lo, hi };
	} else {
		return -ENOSPC;
	}
	return 0;
}

/* Takes [lo, hi) out of piece @i, which contains it. -ENOSPC: two pieces would be left, and there is no room. */
static int pool_cut(uint32_t i, uintptr_t lo, uintptr_t hi)
{
	struct piece *p = &pool.piece[i];

	if (p->lo < lo && hi < p->hi) {
		if (pool.n == PIECES) /* GUARD(pool_cut) */
			return -ENOSPC;
		pool.piece[pool.n++] = (struct piece){ hi, p->hi };
		p->hi = lo;
	} else if (p->lo < lo) {
		p->hi = lo;
	} else if (hi < p->hi) {
		p->lo = hi;
	} else {
		*p = pool.piece[--pool.n];
	}
	return 0;
}

/* Takes @bytes that begin in [from, to]; 0: none are free. */
static uintptr_t pool_take(uintptr_t from, uintptr_t to, size_t bytes)
{
	uintptr_t at = 0;
	uint64_t mask;

	pool_lock(&mask);
	for (uint32_t i = 0; i < pool.n && !at; i++) {
		const struct piece *p = &pool.piece[i];
		uintptr_t lo = p->lo > from ? p->lo : from;

		if (lo <= to && lo < p->hi && p->hi - lo >= bytes /* GUARD(pool_room) */ &&
		    !pool_cut(i, lo, lo + bytes))
			at = lo;
	}
	pool_unlock(&mask);
	return at;
}

/* Reads before it writes, so that no page is made that was never written. */
static void clear(uintptr_t at, size_t bytes)
{
	for (uint64_t *w = (uint64_t *)at, *end = (uint64_t *)(at + bytes); w < end; w++)
		if (*w)
			*w = 0;
}

int bare_give(uintptr_t at, size_t bytes)
{
	uintptr_t lo = PLAT_PAGE_UP(at), hi = PLAT_PAGE_DOWN(at + bytes);
	uint64_t mask;
	int ret;

	if (lo >= hi)
		return 0;
	pool_lock(&mask);
	ret = pool_put(lo, hi);
	pool_unlock(&mask);
	return ret;
}

uint64_t bare_lost_bytes(void)
{
	return uft_load_acquire(&pool.lost_bytes);
}

void *plat_map(size_t bytes)
{
	return (void *)pool_take(PLAT_PAGE, ~0ul, PLAT_PAGE_UP(bytes));
}

void *plat_map_sparse(size_t bytes)
{
	return plat_map(bytes);
}

void plat_unmap(void *at, size_t bytes)
{
	uint64_t mask;

	bytes = PLAT_PAGE_UP(bytes);
	clear((uintptr_t)at, bytes); /* GUARD(plat_unmap_clear) */
	pool_lock(&mask);
	if (pool_put((uintptr_t)at, (uintptr_t)at + bytes))
		uft_store_release(&pool.lost_bytes, pool.lost_bytes + bytes);
	pool_unlock(&mask);
}

void plat_discard(uintptr_t at, size_t bytes)
{
	clear(at, bytes);
}

/* The memory belongs to the holder, not to the runtime. */
uint32_t plat_list_owned(struct uft_owned *to, uint32_t max)
{
	(void)to, (void)max;
	return 0;
}

/* A host has no limits. */
int plat_limit_call(const struct plat_limit_call *c, long *result)
{
	(void)c, (void)result;
	return 0;
}

void plat_limit_exec(int has_failed)
{
	(void)has_failed;
}

void plat_limit_end(void)
{
}

void plat_populate(uintptr_t lo, uintptr_t hi)
{
	(void)lo, (void)hi;
}

void plat_give_back(uintptr_t lo, size_t bytes)
{
	(void)lo, (void)bytes;
}

int plat_restart_sections(void)
{
	return -ENOSYS;
}

int plat_reserve(uintptr_t lo, size_t bytes)
{
	(void)lo, (void)bytes;
	return 0;
}

int plat_map_near(uintptr_t lo, uintptr_t hi, size_t bytes, int prot, uintptr_t *out)
{
	/* a kernel's text may be at the end of all addresses */
	uintptr_t to = lo < ~0ul - REACH ? lo + REACH : ~0ul;

	(void)prot;
	bytes = PLAT_PAGE_UP(bytes);
	if (hi <= lo || hi - lo > REACH / 2 || bytes > REACH / 2)
		return -ENOMEM;
	*out = pool_take(hi > REACH ? PLAT_PAGE_UP(hi - REACH) : PLAT_PAGE, PLAT_PAGE_DOWN(to - bytes), bytes);
	return *out ? 0 : -ENOMEM;
}

int plat_map_at(uintptr_t at, size_t bytes, int prot)
{
	(void)prot;
	return pool_take(at, at, PLAT_PAGE_UP(bytes)) ? 0 : -EEXIST;
}

int plat_growth(uintptr_t code, struct plat_growing r[PLAT_NGROWTH])
{
	(void)code;
	for (unsigned i = 0; i < PLAT_NGROWTH; i++)
		r[i] = (struct plat_growing){ 0, 0 };
	return 0;
}

int plat_protect(uintptr_t at, size_t bytes, int prot)
{
	(void)at, (void)bytes, (void)prot;
	return 0;
}

/* There is no fork and no locking of memory. */

int plat_wipe_on_fork(uintptr_t at, size_t bytes)
{
	(void)at, (void)bytes;
	return 0;
}

int plat_expect_locks(int from_now)
{
	(void)from_now;
	return 0;
}

int plat_lock_others(plat_ours_fn *large, int on_fault, int is_future)
{
	(void)large, (void)on_fault, (void)is_future;
	return -ENOSYS;
}
