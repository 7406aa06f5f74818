/* SPDX-License-Identifier: MIT */
/*
 * memory.c - make the memory of rings before it is written
 *
 * A ring lies in a sparse file. On a full file system the first store into a page that is not there ends the program by
 * SIGBUS, and other users can fill /dev/shm. So the writer's slow path makes the kernel allocate the pages
 * (MADV_POPULATE_WRITE); an error then is a loss, which is counted. Fast paths are not concerned: their sub-buffer ends
 * where memory ends.
 *
 * Memory comes in steps: one page at first, later as much again as there is, up to STEP_MAX. So a process that writes
 * little has little memory, and a large ring costs only addresses. The control page, too, gets memory only when the
 * ring is used (ring_open(), slice.used): with 64 CPUs a process has 70 rings and writes two.
 *
 * A page that is made twice, or made and not used, does no harm: its content stays. `backed` changes by
 * compare-and-swap, because a signal handler may run this code in the middle of the step that it interrupted.
 *
 * A ring that can grow (abi.h) begins its area again each time it has written the usual part. `made` is how much of the
 * area has memory from its beginning on, so that no page is asked for twice: `backed` then grows by STEP_MADE without a
 * system call. `made` is raised by a compare-and-swap, too, with the value from before the pages were made.
 *
 * Giving back (ring_tend(), the agent, once a second). A ring whose commit stands still for a second, and whose data
 * are all read, keeps the sub-buffer of its last record. The rest of its memory is freed. No thread writes into that
 * memory:
 *
 *	1. `made` becomes 0: nothing of the next turn has memory. (In a ring that cannot grow: where memory is counted
 *	from.)
 *	2. `backed` becomes the end of the memory that stays, with RING_GIVES: a writer that needs more waits in
 *	ring_back().
 *	3. rseq sections that read the old `backed` have ended or begin again (plat_restart_sections()); a writer of an
 *	   exchange ring has its owner word, which the agent takes here.
 *	4. the pages are freed, and RING_GIVES is cleared.
 *
 * Fast paths write below sub_end, which is within the sub-buffer that stays. Never given back: memory of rings that
 * keep their oldest events, of threads' rings (thread_rings.c), and of an emulator's rings.
 *
 * The profile's sums have no slow path of their own: each call adds to some page of its CPU's block. So a block is
 * opened before the first addition (ring_profile_open()), and then has memory for all functions of the objects that
 * were announced. An object that is announced later (ring_profile_want()) gets memory in the blocks that are open
 * before a site of it is armed. Opening a block sets its bit in `begun` before it reads `wanted`, and announcing sets
 * `wanted` before it reads `begun`: one of the two sees the other.
 */
#include "runtime/platform/platform.h"
#include "runtime/ring/ring.h"
#include "runtime/runtime.h"

#define STEP_MAX	(64u << 10)
#define STEP_MADE	(1u << 20)	/* step within memory that is made already */
#define PROFILE_PAGES	(1u << 14)	/* pages of a block, at most */
#define PROFILE_BLOCKS	4160u		/* blocks, at most: CPUs that platforms know, and one for atomics */
#define AGAIN_CLOCKS	(1ull << 22)	/* a millisecond or two: so long no memory is asked for again after a failure */

#define RING_GIVES	2ull		/* in `backed`; a position is a multiple of 8 */
#define GIVES_NAPS	20000		/* naps of a writer that waits for the agent, at most; each: */
#define GIVES_NAP_NS	20000
#define GIVES_LOOKS	64		/* how often it looks whether the agent was killed meanwhile */
#define GIVE_LEAST	(256u << 10)	/* bytes written since the last time that pay for giving back */

static uint64_t scarce_until;		/* until then no memory is asked for; 0: the last request succeeded */

static uint64_t page_down(uint64_t n)
{
	return n & -(uint64_t)UFT_PAGE;
}

/* An emulator makes no pages by advice, so no event takes the slow path for that. */
static uint64_t step_first(void)
{
	const uint64_t size = uft_rt.arena->ring_bytes;

	return !uft_rt.is_emulated ? UFT_PAGE : STEP_MAX < size ? STEP_MAX : size;
}

/* 0 or -ENOMEM, also without asking for a moment after a failure. */
static int reserve(uintptr_t lo, uint64_t bytes)
{
	uint64_t until = uft_load(&scarce_until);
	int ret;

	if (until && (int64_t)(until - arch_clock()) > 0)
		return -ENOMEM;
	ret = plat_reserve(lo, bytes);
	if (ret)
		uft_store(&scarce_until, arch_clock() + AGAIN_CLOCKS);
	else if (until)
		uft_store(&scarce_until, 0);
	return ret;
}

/* Makes memory for positions [from, to), which are less than a ring apart. */
static int reserve_data(struct uft_ring *r, uint64_t from, uint64_t to)
{
	const uint64_t size = uft_rt.arena->ring_bytes, at = from & (size - 1), n = to - from;
	const uintptr_t data = (uintptr_t)r + UFT_PAGE;

	if (at + n <= size)
		return reserve(data + at, n);
	return reserve(data + at, size - at) || reserve(data, at + n - size) ? -ENOMEM : 0;
}

static int no_memory(struct uft_ring *r)
{
	r->lost_pending = 1;
	uft_add(&r->lost, 1);
	trace_count(UFT_CNT_NO_MEMORY, 1);
	return -ENOMEM;
}

/* Size of the next step from offset @at of the area, which has memory below @made. */
static uint64_t step_at(uint64_t at, uint64_t made)
{
	if (at < made)
		return made - at < STEP_MADE ? made - at : STEP_MADE;
	return at < step_first() ? step_first() : at < STEP_MAX ? at : STEP_MAX;
}

/* Memory is being given back. 1: look again; 0: it takes too long. */
static int await_giver(struct uft_ring *r, uint64_t was, uint32_t *naps)
{
	if (++*naps > GIVES_NAPS)
		return 0;
	if (!(*naps % GIVES_LOOKS) && plat_is_gone(uft_load(&uft_rt.slice->agent_tid)))
		uft_cas(&r->backed, was, was & ~RING_GIVES);
	else
		plat_nap(GIVES_NAP_NS);
	return 1;
}

int ring_back(struct uft_ring *r, uint64_t need)
{
	const uint64_t size = uft_rt.arena->ring_bytes, sub = uft_rt.arena->sub_bytes;
	const int can_grow = uft_rt.arena->ring_usual < size;
	uint32_t naps = 0;

	for (;;) {
		uint64_t made = can_grow ? uft_load_acquire(&r->made) : 0, was = uft_load_acquire(&r->backed);
		uint64_t turn = can_grow ? (need - 1) & -size : 0, from = page_down(was), to, most;

		if (need <= was)
			return 0;
		if (was & RING_GIVES) {
			if (await_giver(r, was, &naps))
				continue;
			return no_memory(r);
		}
		if (from < turn) {	/* the reader copies the rest of the last sub-buffer, too */
			if (from & (sub - 1) && reserve_data(r, from, (from | (sub - 1)) + 1))
				return no_memory(r);
			from = turn;
		}
		to = from + step_at(from - turn, made);
		to = to > need ? to : page_down(need + UFT_PAGE - 1);
		to = can_grow && to > turn + size ? turn + size : to;
		if (!can_grow && !(uft_load(&uft_rt.slice->ring_flags) & UFT_RING_OVERWRITE)) {
			most = page_down(uft_load_acquire(&r->read) + size);
			to = to < most ? to : most;
		}
		if (to < need || to - from > size) {
			r->lost_pending = 1;
			uft_add(&r->lost, 1);
			return -ENOBUFS;
		}
		if (to - turn > made && reserve_data(r, from - turn < made ? turn + made : from, to))
			return no_memory(r);
		if (!uft_cas(&r->backed, was, !can_grow && to - uft_load(&r->made) >= size ? UFT_RING_ALL : to))
			continue;
		/* Memory was given back meanwhile, and `backed` came back to its old value. */
		if (can_grow && uft_load(&r->made) < made)
			reserve_data(r, from, to);
		else if (from - turn <= made && to - turn > made)
			uft_cas(&r->made, made, to - turn);
	}
}

struct uft_ring *ring_open(uint32_t index)
{
	const struct uft_arena *a = uft_rt.arena;
	struct uft_ring *r = (struct uft_ring *)((char *)uft_rt.slice + a->ring_offset + index * a->ring_stride);

	if (uft_ring_is_used(uft_rt.slice, index))
		return r;
	if (reserve((uintptr_t)r, UFT_PAGE + step_first()))
		return NULL;
	uft_cas(&r->backed, 0, step_first());
	if (a->ring_usual < a->ring_bytes)
		uft_cas(&r->made, 0, step_first());
	uft_ring_set_used(uft_rt.slice, index);
	return r;
}

/* ---- Giving back ------------------------------------------------------------------------------ */

/* Frees all memory of the ring's data except for [from, to), which lies in one turn. */
static void give_all_but(struct uft_ring *r, uint64_t from, uint64_t to)
{
	const uint64_t size = uft_rt.arena->ring_bytes;
	const uintptr_t data = (uintptr_t)r + UFT_PAGE;
	uint64_t lo = page_down(from & (size - 1)), hi = page_down(((to - 1) & (size - 1)) + UFT_PAGE);

	if (lo)
		plat_give_back(data, lo);
	if (hi < size)
		plat_give_back(data + hi, size - hi);
}

/* Gives back a ring's memory. Its last record ends at @commit, and all records are read. 1: done. */
static int give_back(struct uft_ring *r, uint64_t commit)
{
	const uint64_t sub = uft_rt.arena->sub_bytes, stays = (commit - 1) & -sub;
	const uint64_t from = uft_rt.arena->ring_usual < uft_rt.arena->ring_bytes ? 0 : stays;
	uint64_t was = uft_load_acquire(&r->backed), made = uft_load(&r->made);
	uint64_t end = stays + sub < was ? stays + sub : was;
	int has_gone = 0;

	if (was & RING_GIVES || !uft_cas(&r->made, made, from))
		return 0;
	if (uft_cas(&r->backed, was, end | RING_GIVES)) {
		uint64_t now;

		has_gone = !plat_restart_sections();
		now = uft_load(&r->commit);
		/* else a writer went on with the old `backed` */
		has_gone = has_gone && now > stays && now <= end;
		if (has_gone)
			give_all_but(r, stays, end);
		uft_cas(&r->backed, end | RING_GIVES, end);
	}
	if (!has_gone)
		uft_cas(&r->made, from, made);
	return has_gone;
}

void ring_tend(void)
{
	static struct { uint64_t seen, given; } *look;	/* commits: at the last look; when memory was given back */
	const struct uft_arena *a = uft_rt.arena;
	const uint32_t n = a->ncpus + a->nexch;

	if (!look)
		look = plat_alloc(n * sizeof(*look));
	if (!look || ARCH_HAS_OWN || uft_rt.is_emulated || uft_load(&uft_rt.slice->ring_flags) & UFT_RING_OVERWRITE)
		return;
	for (uint32_t i = 0; i < n; i++) {
		struct uft_ring *r;
		uint64_t commit;

		if (!uft_ring_is_used(uft_rt.slice, i))
			continue;
		r = (struct uft_ring *)((char *)uft_rt.slice + a->ring_offset + i * a->ring_stride);
		if (i >= a->ncpus && (uft_load(&r->owner) || !uft_cas(&r->owner, 0, (uint32_t)plat_tid())))
			continue;
		commit = uft_load_acquire(&r->commit);
		if (commit == look[i].seen && commit - look[i].given >= GIVE_LEAST &&
		    commit == uft_load(&r->read) /* GUARD(give_back_read) */ && give_back(r, commit))
			look[i].given = commit;
		look[i].seen = commit;
		if (i >= a->ncpus)
			uft_store_release(&r->owner, 0);
	}
}

/* ---- Profile --------------------------------------------------------------------------------- */

static uint64_t wanted[PROFILE_PAGES / 64];	/* pages of a block; a fork child has its parent's */
static uint64_t begun[PROFILE_BLOCKS / 64], opened[PROFILE_BLOCKS / 64];

static int has_bit(const uint64_t *set, uint32_t i)
{
	return (int)(__atomic_load_n(&set[i / 64], __ATOMIC_SEQ_CST) >> i % 64 & 1);
}

static void set_bit(uint64_t *set, uint32_t i)
{
	__atomic_fetch_or(&set[i / 64], 1ull << i % 64, __ATOMIC_SEQ_CST);
}

static uintptr_t block_at(uint32_t block)
{
	const struct uft_arena *a = uft_rt.arena;

	return (uintptr_t)uft_rt.slice + a->profile_offset +
	       (uint64_t)block * a->profile_ids * sizeof(struct uft_profile);
}

/* Makes pages of a block. Two blocks may share a page, because blocks begin at any address. @is_probe: as reserve(). */
static int reserve_pages(uint32_t block, uint32_t first, uint32_t end, int is_probe)
{
	uintptr_t from = (block_at(block) + (uint64_t)first * UFT_PAGE) & -(uintptr_t)UFT_PAGE;
	uintptr_t to = (block_at(block) + (uint64_t)end * UFT_PAGE + UFT_PAGE - 1) & -(uintptr_t)UFT_PAGE;

	return is_probe ? reserve(from, to - from) : plat_reserve(from, to - from);
}

void ring_profile_attach(void)
{
	arch_fill(begun, 0, sizeof(begun));
	arch_fill(opened, 0, sizeof(opened));
}

int ring_profile_want(uint32_t first, uint32_t n)
{
	const uint64_t per_page = UFT_PAGE / sizeof(struct uft_profile), ids = uft_rt.arena->profile_ids;
	uint64_t end = (uint64_t)first + n < ids ? (uint64_t)first + n : ids;
	uint32_t from = (uint32_t)(first / per_page), to = (uint32_t)((end + per_page - 1) / per_page);
	int ret = 0;

	if (!n || first >= ids || to > PROFILE_PAGES)
		return 0;
	for (uint32_t i = from; i < to; i++)
		set_bit(wanted, i);
	for (uint32_t block = 0; block < UFT_PROFILE_BLOCKS(uft_rt.arena->ncpus) && block < PROFILE_BLOCKS && !ret;
	     block++)
		if (has_bit(begun, block))
			ret = reserve_pages(block, from, to, 0);
	return ret;
}

int ring_profile_open(uint32_t block)
{
	if (block >= PROFILE_BLOCKS)
		return 0;
	if (has_bit(opened, block))
		return 1;
	set_bit(begun, block);
	for (uint32_t i = 0, end; i < PROFILE_PAGES; i = end + 1) {
		for (end = i; end < PROFILE_PAGES && has_bit(wanted, end); end++)
			;
		if (end > i && reserve_pages(block, i, end, 1)) /* GUARD(profile_reserved) */
			return 0;
	}
	if (ARCH_HAS_RSEQ && block < uft_rt.arena->ncpus)
		uft_store_release(&uft_ring_fast.cpu[block].profile, (struct uft_profile *)block_at(block));
	set_bit(opened, block);
	return 1;
}
