/* SPDX-License-Identifier: MIT */
/*
 * thread_rings.c - exchange rings of one thread each: the fast paths write them without restartable sections
 *
 * Where an event cannot be restarted it must not be disturbed: the slow path blocks signals and takes a ring for every
 * record. The fast path does neither. Its thread has a ring to itself (the owner's tid is in the ring while the owner
 * lives) and a line that says so. The line is found by the number that libc keeps of a thread beside its thread pointer
 * (uft_slice.tid_offset).
 *
 *	function:	key fits -> key = 0 (inside) -> record -> commit -> key back
 *	graph:		key fits -> key = 0 (inside) -> record, shadow entry -> top -> commit -> key back
 *
 * The key is one word, the sum of that number, the thread pointer, the generation, and on_cpus, which says that
 * recording is on (own_key()). The number distinguishes the owner from a new thread in a dead one's memory, and from a
 * fork child. The thread pointer distinguishes it from a new thread with a dead one's number. On riscv64 the number is
 * loaded before the line is looked for: a child that a handler forks in between has its parent's number, and finds no
 * key with it. There is room for ten bits of the generation, so a new generation shuts the lines as well: without that,
 * a thread that sleeps through 1,024 generations would find its key fit again. A sum is never 0, because it has a
 * number in it. A child of vfork() or of clone() has its parent's number: in programs that import those functions the
 * session does not tell where the number is.
 *
 * Where the line is found. By the number, in the table; or, with ARCH_HAS_RING_TLS, in the thread's TLS (struct
 * ring_tls), where own_open() notes it. That is the library's own static TLS, which libc fills from an image before a
 * thread begins: with a line that has no owner. So a thread finds only a line that was its own, or its parent's if it
 * was forked, and the thread pointer need not be in the key. The number still is, for fork children where the keys are
 * not wiped, and for lines that went to another thread. The distance of the block from the thread pointer is the same
 * for all threads, and known when the library runs (uft_rt.tls_offset).
 *
 * Signals. A handler that interrupts a thread inside finds no key and takes the slow path. Because key is 0 and the
 * line is its thread's, it takes another ring: no thread writes to this one until the code inside goes on. If the
 * handler jumps away, that never happens: the thread stays on the slow path, and its ring stays as it is. A handler
 * that interrupts between the comparison of the key and the store of 0 writes to this ring, and leaves the line right
 * even if it shuts the line (own_open()).
 *
 * Record and shadow stack. Both change at one instruction, the store-exclusive of the thread's top. An interrupt since
 * the load-exclusive makes that store fail (both kernels see to that); then nothing has happened, and the slow path
 * does all of it. If the store succeeded, the record is as good as committed: a slow event that comes in between
 * commits it before it looks at the shadow stack (own_finish()), and the interrupted code then stores the same once
 * more. The key's `intent` tells whether the store succeeded: it is the top to be, written before the store. The first
 * event in between finds that top or never will, because its interrupt makes the store fail. (The record's content does
 * not tell: calls of one clock tick look alike.) A later event in between may find it by chance, if the first one came
 * before the intent and left another top: thread/fastpath_interrupt.c handles that.
 *
 * The order is intent, the line's `at` behind the record, top, commit, key. So `at` is ahead of the commit only between
 * its own intent and its commit. An intent that has come true is never taken back; it makes own_finish() commit a
 * record that is committed already. A failed writer puts `at` back.
 *
 * Invariants:
 *  1. key > RING_OWN_SHUT implies that the ring's context is tid's, and that at, end, limit and bias say
 *     where its commit is.
 *  2. A line changes hands only when its thread has ended, by a compare-and-swap of tp. A ring changes hands by a
 *  compare-and-swap of its owner.
 *  3. A writer that is inside goes on with the values that it has: a fork child's copy of the lines stays as it is,
 *     only the keys are wiped, and a child that is adopted gets a table of its own. Otherwise a child that a handler
 *     forks would return to code inside that has no line.
 *
 * A handler that switches contexts inside the graph's paths: trace/thread/fastpath_interrupt.c.
 *
 * Not held: such a child ends its write in its parent's ring: one record that the parent writes as well, behind it
 * where the parent begins again; and if the parent has gone further, its commit is set back. If a handler switches to
 * another context and the interrupted code goes on in another thread, it does the same to the first thread's ring, and
 * to one entry of its shadow stack.
 */
#include "runtime/platform/platform.h"
#include "runtime/ring/ring.h"
#include "runtime/runtime.h"

#if ARCH_HAS_OWN

#define OWN_TP_MASK	((1ull << 48) - 1)
#define OWN_CHANGING	1ull	/* tp: the line is between two owners */
#define OWN_CPUS_MAX	1023u	/* on_cpus lies below a number at RO_TID_SHIFT */

#if ARCH_HAS_RING_TLS
/* The line of a thread that has none: its key fits no thread. */
static const struct {
	struct ring_own line;
	char pad[RO_KEY - sizeof(struct ring_own)];
	struct ring_own_key key;
} nobodys = { .key.key = RING_OWN_SHUT };
static const uint64_t off;

/* Every thread begins with this: libc copies it before the thread runs. */
static __thread struct ring_tls own_tls __attribute__((tls_model("initial-exec"))) = {
	.line = (struct ring_own *)&nobodys.line,
	.word = (const uint32_t *)&off,
};

static void tls_init(void)
{
	uft_rt.tls_offset = (int64_t)((uint64_t)&own_tls - arch_thread_pointer());
}

static void tls_set(struct ring_own *l, const struct ring_own_head *head)
{
	uft_store(&own_tls.number, head->tid_offset);
	uft_store(&own_tls.word, head->word);
	uft_store(&own_tls.line, l);
}
#else
static void tls_init(void)
{
}

static void tls_set(struct ring_own *l, const struct ring_own_head *head)
{
	(void)l, (void)head;
}
#endif

static struct ring_own_table *own_table(void)
{
	return (struct ring_own_table *)((char *)uft_ring_fast.own - offsetof(struct ring_own_table, line));
}

static unsigned own_index(uint32_t tid)
{
	return tid & ((1u << RO_BITS) - 1);
}

static struct ring_own_key *own_key_of(const struct ring_own *l)
{
	return &own_table()->key[l - uft_ring_fast.own];
}

/*
 * Makes the key that fast paths compare: of the slice's generation and on_cpus, the thread's number and, where the line
 * is not found by the number alone, the thread pointer. In that case the number lies above on_cpus, else below the
 * generation. @key: of ring_key().
 */
static uint64_t own_key(uint64_t key, uint32_t tid)
{
	uint64_t word = (uint64_t)uft_rt.arena->ncpus << 32 | (uint32_t)(key >> 48 << RO_GENERATION);

	return ARCH_HAS_RING_TLS ? word + tid : word + ((uint64_t)tid << RO_TID_SHIFT) + (key & OWN_TP_MASK);
}

int own_init(void)
{
	size_t bytes = (sizeof(struct ring_own_table) + UFT_PAGE - 1) & -(size_t)UFT_PAGE;
	struct ring_own_table *t = plat_map(bytes);
	int ret;

	if (!t)
		return -ENOMEM;
	ret = plat_wipe_on_fork((uintptr_t)t->key, bytes - UFT_PAGE);
	if (ret) {
		plat_unmap(t, bytes);
		return ret;
	}
	tls_init();
	/* from here on other threads of a fork child read the slice's word through this pointer */
	t->head.word = &uft_rt.slice->generation;
	uft_store_release(&uft_ring_fast.own, t->line);
	return 0;
}

void own_wipe(void)
{
	/* GUARD(fork_child_keys, arch_fill(own_table(), 0, sizeof(*own_table()))) */
	arch_fill(own_table()->key, 0, sizeof(own_table()->key));
}

void own_attach(void)
{
	uint64_t generation = uft_load(&uft_ring_fast.generation) >> 48;

	uft_store(&uft_rt.slice->generation, (uint32_t)generation << RO_GENERATION);
	uft_store_release(&own_table()->head.word, &uft_rt.slice->generation);
	own_shut(0, NULL);
}

/*
 * Takes a ring for a thread: the second half of the exchange rings is for that. Among the taken ones it looks at one,
 * because its owner may have ended.
 */
static struct uft_ring *own_ring(uint32_t tid)
{
	const struct uft_arena *a = uft_rt.arena;
	uint32_t first = a->nexch / 2, n = a->nexch - first, look = (uint32_t)arch_clock() % n;

	for (uint32_t i = 0; i < n; i++) {
		struct uft_ring *r = ring_open(a->ncpus + first + i);
		uint32_t owner = r ? uft_load(&r->owner) : 0;

		if (!r || (owner && (i != look || !plat_is_gone(owner))) || !uft_cas(&r->owner, owner, tid))
			continue;
		if (owner)
			own_shut(0, r);
		return r;
	}
	return NULL;
}

static struct ring_own *own_take(struct ring_own *l, uint64_t tp, uint32_t tid)
{
	struct ring_own_key *k = own_key_of(l);
	uint64_t before = uft_load_acquire(&k->tp);
	uint32_t dead = (uint32_t)uft_load(&k->tid);
	struct uft_ring *r = uft_load(&l->ring);

	if (before == OWN_CHANGING || (before && dead && dead != tid && before != tp && !plat_is_gone(dead)) ||
	    !uft_cas(&k->tp, before, OWN_CHANGING))
		return NULL;
	if (!r || !dead || !uft_cas(&r->owner, dead, tid))
		r = own_ring(tid);
	k->key = l->again = RING_OWN_SHUT;
	k->intent = 0;
	l->ring = r;
	k->tid = r ? tid : 0;
	uft_store_release(&k->tp, r ? tp : 0);
	return r ? l : NULL;
}

struct ring_own *own_find(const struct ring_op *op)
{
	uint64_t tp = op->key & OWN_TP_MASK;
	const struct ring_own_key *k;
	struct ring_own *l;

	if (!op->key || !uft_load(&uft_rt.slice->tid_offset) || uft_rt.arena->ncpus > OWN_CPUS_MAX)
		return NULL;
	l = &uft_ring_fast.own[own_index(op->tid)];
	k = own_key_of(l);
	if (uft_load_acquire(&k->tp) == tp && k->tid == op->tid)
		return uft_load(&k->key) ? l : NULL; /* GUARD(ring_key_is_set, l) */
	return own_take(l, tp, op->tid);
}

void own_open(struct ring_own *l, const struct ring_op *op)
{
	struct ring_own_head *head = &own_table()->head;
	const struct uft_arena *a = uft_rt.arena;
	struct ring_own_key *k = own_key_of(l);
	struct uft_ring *r = l->ring;
	uint64_t commit = r->commit, left = -commit & (a->sub_bytes - 1), backed = uft_load(&r->backed) - commit;

	/*
	 * Also if the line is shut: the interrupted code may have compared the key already, and goes inside afterwards.
	 */
	l->at = (char *)r + UFT_PAGE + (commit & (a->ring_bytes - 1));
	l->end = l->at + (left < backed ? left : backed & -8ull) - 8;
	l->bias = (uint64_t)l->at - commit;
	l->limit = ((uint64_t)r->ctx_hi + 1) << 32;
	l->thread = op->thread;
	k->intent = 0;
	uft_store(&head->tid_offset, (int64_t)uft_load(&uft_rt.slice->tid_offset));
	if (*op->thread_flags || r->ctx_tid != op->tid || r->ctx_pos >= commit ||
	    *(const uint32_t *)(k->tp + (uint64_t)head->tid_offset) != op->tid) {
		uft_store(&k->key, RING_OWN_SHUT);
		return;
	}
	tls_set(l, head);
	l->again = own_key(op->key, op->tid);
	uft_store_release(&k->key, l->again);
}

int own_has(uint32_t tid)
{
	return own_key_of(&uft_ring_fast.own[own_index(tid)])->tid == tid;
}

const void *own_at(uint32_t tid, int *is_inside)
{
	const struct ring_own *l = &uft_ring_fast.own[own_index(tid)];
	const struct ring_own_key *k = own_key_of(l);

	*is_inside = k->tid == tid && !uft_load(&k->key);
	return k->tid == tid ? (const char *)l->bias + uft_load(&l->ring->commit) : NULL;
}

void own_finish(uint32_t tid, const void *top)
{
	struct ring_own *l = &uft_ring_fast.own[own_index(tid)];
	struct ring_own_key *k = own_key_of(l);
	uint64_t intent;
	int is_inside;

	own_at(tid, &is_inside);
	if (!is_inside)
		return;
	intent = uft_load(&k->intent);
	uft_store(&k->intent, 0ull);
	if (intent && intent == (uint64_t)top)
		uft_store_release(&l->ring->commit, (uint64_t)l->at - l->bias);
}

void own_shut(uint64_t thread_pointer, const struct uft_ring *taken)
{
	for (unsigned i = 0; i < 1u << RO_BITS; i++) {
		struct ring_own *l = &uft_ring_fast.own[i];
		struct ring_own_key *k = own_key_of(l);
		uint64_t key = uft_load(&k->key);

		if (taken ? l->ring == taken : !thread_pointer || uft_load(&k->tp) == thread_pointer) {
			uft_store(&l->again, RING_OWN_SHUT);
			if (key)
				uft_cas(&k->key, key, RING_OWN_SHUT);
			if (taken)
				uft_store(&k->tid, 0);
		}
	}
}

#endif
