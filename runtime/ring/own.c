/* SPDX-License-Identifier: MIT */
/*
 * own.c - exchange rings that are one thread's: what the fast paths write without restartable sections
 *
 * Where an event cannot be restarted it must not be disturbed: the slow path blocks signals and takes a ring for every record.
 * The fast path does neither. Its thread has a ring to itself (the owner's tid stands in the ring while it lives) and a
 * line that says so, found by a hash of the thread pointer.
 *
 *	line:	key fits -> key = 0 (inside) -> record -> commit -> key back
 *
 * Signals. A handler that interrupts somebody inside finds no key, takes the slow path and, as key is 0 and the line its
 * thread's, another ring: nobody writes to this one until the one inside goes on. If the handler jumps away that is never:
 * the thread stays on the slow path, and its ring as it is.
 *
 * Who runs. The slow path asks the kernel; the fast one has the number that libc keeps of a thread beside its thread pointer
 * (uft_slice.tid_offset): a new thread in a dead one's memory has another one, and so has a child of fork(). A child of
 * vfork() or of clone() has not: in programs that import those the session does not say where the number is.
 *
 * Invariants:
 *  1. key > RING_OWN_SHUT implies that the ring's context is tid's.
 *  2. A line changes hands only when its thread has ended, by a compare-and-swap of tp. A ring: by one of its owner.
 *
 * Not held: a child that is forked by a handler and returns to somebody inside writes one record into its parent's ring.
 */
#include "runtime/base/sys.h"
#include "runtime/ring/ring.h"
#include "runtime/runtime.h"

#if !ARCH_HAS_RSEQ

#define OWN_TP_MASK	((1ull << 48) - 1)
#define OWN_CHANGING	1ull	/* tp: between two owners */

static struct ring_own *own_line(uint64_t tp)
{
	return &uft_ring_fast.own[tp * uft_ring_fast.own_hash >> (64 - RO_BITS)];
}

static int own_is_dead(uint32_t tid)
{
	return sys_call3(__NR_tkill, tid, 0, 0) == -ESRCH;
}

/* The second half of the exchange rings is for owners. Of those that are taken one is looked at: ours may have ended. */
static struct uft_ring *own_ring(uint32_t tid)
{
	const struct uft_arena *a = uft_rt.arena;
	uint32_t first = a->nexch / 2, n = a->nexch - first, look = (uint32_t)arch_clock() % n;

	for (uint32_t i = 0; i < n; i++) {
		struct uft_ring *r = (struct uft_ring *)((char *)uft_rt.slice + a->ring_offset +
							 (a->ncpus + first + i) * a->ring_stride);
		uint32_t owner = uft_load(&r->owner);

		if ((owner && (i != look || !own_is_dead(owner))) || !uft_cas(&r->owner, owner, tid))
			continue;
		if (owner)
			own_shut(0, r);
		return r;
	}
	return NULL;
}

static struct ring_own *own_take(struct ring_own *l, uint64_t tp, uint32_t tid)
{
	uint64_t before = uft_load_acquire(&l->tp);
	uint32_t dead = (uint32_t)uft_load(&l->tid);
	struct uft_ring *r = uft_load(&l->ring);

	if (before == OWN_CHANGING || (before && dead && before != tp && !own_is_dead(dead)) ||
	    !uft_cas(&l->tp, before, OWN_CHANGING))
		return NULL;
	if (!r || !dead || !uft_cas(&r->owner, dead, tid))
		r = own_ring(tid);
	l->key = RING_OWN_SHUT;
	l->ring = r;
	l->tid = r ? tid : 0;
	l->mask = uft_rt.arena->ring_bytes - 1;
	uft_store_release(&l->tp, r ? tp : 0);
	return r ? l : NULL;
}

struct ring_own *own_find(const struct ring_op *op)
{
	uint64_t tp = op->key & OWN_TP_MASK;
	struct ring_own *l;

	if (!op->key || !uft_load(&uft_rt.slice->tid_offset))
		return NULL;
	l = own_line(tp);
	if (uft_load_acquire(&l->tp) == tp && l->tid == op->tid)
		return uft_load(&l->key) ? l : NULL;
	return own_take(l, tp, op->tid);
}

void own_open(struct ring_own *l, const struct ring_op *op)
{
	l->tid_at = (const uint32_t *)(l->tp + (uint64_t)(int64_t)uft_load(&uft_rt.slice->tid_offset));
	if (*op->thread_flags || l->ring->ctx_tid != op->tid || l->ring->ctx_pos >= l->ring->commit || *l->tid_at != op->tid)
		uft_store(&l->key, RING_OWN_SHUT);
	else
		uft_store_release(&l->key, op->key);
}

void own_shut(uint64_t thread_pointer, const struct uft_ring *taken)
{
	for (unsigned i = 0; i < 1u << RO_BITS; i++) {
		struct ring_own *l = &uft_ring_fast.own[i];
		uint64_t key = uft_load(&l->key);

		if (taken ? l->ring == taken : uft_load(&l->tp) == thread_pointer) {
			if (key)
				uft_cas(&l->key, key, RING_OWN_SHUT);
			if (taken)
				uft_store(&l->tid, 0);
		}
	}
}

#endif
