/* SPDX-License-Identifier: MIT */
/*
 * ring.c - the private side of the rings: which task may write which ring
 *
 * The layout of rings and records is include/uft/abi.h's. There are two kinds of writer.
 *
 * Per-CPU rings are written only inside rseq critical sections (trace.S for the plain cases, ring.S for every case). So
 * no other task on the CPU ever interrupts a writer half way, and it needs no atomic instruction. A section commits by
 * its last store. If that store never comes, the stores before it must be harmless. These are: words beyond commit; PAD
 * (beyond commit as well); `oldest` (a sub-buffer given up early, recomputed to the same value); and the cached
 * context, whose ctx_pos is stored first and then is not below commit, which makes the context invalid.
 *
 * Where fast paths write rings of their threads (thread_rings.c), the rings of CPUs have the general writer only, and
 * no keys.
 *
 * The fast paths do not look at the context: they compare one word, ring_cpu.key, with their own key. (For tracepoints
 * it is event_key; all that follows holds for it, too.)
 * Invariants (tests/unit/ring, above all test_ring.c and test_abort.c):
 *  1. If key != 0, the ring's context is that thread's and both ctx_hi are its clock half: a writer of a context clears
 *     the key before, and a section of its own sets it again (ring.S, section 2) only while commit is still where the
 *     same call left it.
 *  2. sub_end <= the last word of the sub-buffer that commit lies in, and a multiple of 8; the general writer
 *     computes that end itself.
 *  3. A fork child's key is cleared by the kernel (MADV_WIPEONFORK). ring_forget() clears a key when a thread pointer
 *     does not name one task any more. No key fits after the generation has changed. All this holds for stack_key, too,
 *     which tells whose shadow stack it is and nothing of the ring: fast paths that write no record need it (depth
 *     limit, threshold). It is set by a section of its own (uft_asm_know_stack), at the end of slow events, and only
 *     while the thread's flags are 0.
 *
 * Without a clock (trace_clock's counter). A key with RING_KEY_COUNTS fits only fast paths that read no clock: each
 * takes ring_cpu.clock + 1 instead. The general writer reads the clock as ever, and sets `clock` with the key. So
 * numbers rise within a ring, and within a task:
 *  4. A thread has such a key on one CPU at most (uft_thread.counted names it), and none where it writes otherwise: the
 *     general writer refuses while the key is on another CPU (RING_COUNTS, count_end()), and clears its own CPU's
 *     before it commits. So a record that a task writes elsewhere comes behind all of its numbers, which are below the
 *     clock (it ticks more than once per record), and before the numbers that follow.
 *  5. Within a key no number has a carry: no such key is set when less than RING_COUNT_ROOM is left below the high
 *  half's end.
 * An interrupted writer may leave numbers out. A number read as a time is that of the last slow event, or a little
 * later.
 *
 * Where several tracers want calls, keys have RING_KEY_BESIDE, and fit no handler that knows one tracer only.
 *
 * Exchange rings are for all other writers: tasks without rseq, or with a thread pointer that two tasks share. The
 * writer has all signals blocked, so that a handler that jumps away cannot leave a ring taken. It takes the nearest
 * free ring by an atomic exchange of `owner`. A task that is killed inside leaves its tid there, and the ring is taken
 * from it when no other ring is free.
 *
 * In a fork child the table, the state and the lock words read 0. Nothing is written before a thread has adopted the
 * child (trace/hooks/fork_child.c).
 *
 * The kernel reserves, nests and commits in three steps instead, because its writers cannot be restarted.
 */
#include "runtime/platform/platform.h"
#include "runtime/ring/ring.h"
#include "runtime/runtime.h"

#define RING_RETRIES 10000	/* aborts in a row: each means that a signal or a switch came within 50 ns */

/* Lies behind the table. Both are wiped on fork. */
struct ring_private {
	uint32_t state;
	uint32_t locks[RING_NLOCKS];
	uint32_t pid;		/* of the process that the table is for */
	uint32_t pad[10];
};

#define RING_OFFSET(type, member, n) _Static_assert(offsetof(type, member) == (n), "layout.h")
RING_OFFSET(struct ring_fast, rseq_offset, RF_RSEQ);
RING_OFFSET(struct ring_fast, ncpus, RF_NCPUS);
RING_OFFSET(struct ring_fast, usual, RF_USUAL);
RING_OFFSET(struct ring_fast, cpu, RF_CPU);
RING_OFFSET(struct ring_fast, generation, RF_GEN);
RING_OFFSET(struct ring_fast, ring_flags, RF_FLAGS);
RING_OFFSET(struct ring_fast, sub_mask, RF_SUB_MASK);
RING_OFFSET(struct ring_fast, on_cpus, RF_ON_CPUS);
RING_OFFSET(struct ring_fast, own, RF_OWN);
RING_OFFSET(struct ring_fast, profile_bytes, RF_PROFILE_BYTES);
RING_OFFSET(struct ring_fast, mask, RF_MASK);
RING_OFFSET(struct ring_fast, counts, RF_COUNTS);
RING_OFFSET(struct ring_fast, beside, RF_BESIDE);
RING_OFFSET(struct ring_own, again, RO_AGAIN);
RING_OFFSET(struct ring_own, at, RO_AT);
RING_OFFSET(struct ring_own, end, RO_END);
RING_OFFSET(struct ring_own, limit, RO_LIMIT);
RING_OFFSET(struct ring_own, thread, RO_THREAD);
RING_OFFSET(struct ring_own, ring, RO_RING);
RING_OFFSET(struct ring_own, bias, RO_BIAS);
RING_OFFSET(struct ring_own, save, RO_SAVE);
RING_OFFSET(struct ring_own_head, tid_offset, sizeof(struct ring_own_head) + RH_TID_OFFSET);
RING_OFFSET(struct ring_own_head, word, sizeof(struct ring_own_head) + RH_WORD);
RING_OFFSET(struct uft_slice, on_cpus, offsetof(struct uft_slice, generation) + 4);
RING_OFFSET(struct ring_tls, line, OT_LINE);
RING_OFFSET(struct ring_tls, word, OT_WORD);
RING_OFFSET(struct ring_tls, number, OT_NUMBER);
RING_OFFSET(struct uft_rt, tls_offset, RT_TLS);
RING_OFFSET(struct ring_own_table, key, offsetof(struct ring_own_table, line) + RO_KEY);
RING_OFFSET(struct ring_own_key, intent, RO_INTENT - RO_KEY);
RING_OFFSET(struct ring_own_key, key, 0);
RING_OFFSET(struct ring_own_table, key, UFT_PAGE);
_Static_assert(sizeof(struct ring_own) == 1 << RO_SHIFT && sizeof(struct ring_own_key) == 1 << RO_SHIFT, "layout.h");
RING_OFFSET(struct ring_cpu, key, RC_KEY);
RING_OFFSET(struct ring_cpu, ring, RC_RING);
RING_OFFSET(struct ring_cpu, thread, RC_THREAD);
RING_OFFSET(struct ring_cpu, clock, RC_CLOCK);
_Static_assert(RC_CTX_HI == RC_CLOCK + 4, "layout.h");
RING_OFFSET(struct ring_cpu, stack_key, RC_STACK_KEY);
RING_OFFSET(struct ring_cpu, stack_thread, RC_STACK_THREAD);
RING_OFFSET(struct ring_cpu, event_key, RC_EVENT_KEY);
RING_OFFSET(struct ring_cpu, profile, RC_PROFILE);
RING_OFFSET(struct uft_profile, hits, PR_HITS);
RING_OFFSET(struct uft_profile, total, PR_TOTAL);
RING_OFFSET(struct uft_profile, self, PR_SELF);
RING_OFFSET(struct uft_profile, squares, PR_SQUARES);
RING_OFFSET(struct uft_profile, min, PR_MIN);
RING_OFFSET(struct uft_profile, max, PR_MAX);
_Static_assert(UFT_PROFILE_SQ_SHIFT == UFT_ASM_PROFILE_SQ_SHIFT, "layout.h");
_Static_assert(sizeof(struct uft_profile) == 1 << PR_BYTES_SHIFT, "layout.h");
_Static_assert(sizeof(struct ring_cpu) == 1 << RC_SHIFT && RC_SHIFT == UFT_ON_CPUS_SHIFT, "layout.h");
RING_OFFSET(struct uft_ring, commit, R_COMMIT);
RING_OFFSET(struct uft_ring, ctx_tid, R_CTX_TID);
RING_OFFSET(struct uft_ring, ctx_hi, R_CTX_HI);
RING_OFFSET(struct uft_ring, ctx_pos, R_CTX_POS);
RING_OFFSET(struct uft_ring, sub_end, R_SUB_END);
RING_OFFSET(struct uft_ring, oldest, R_OLDEST);
RING_OFFSET(struct uft_ring, lost, R_LOST);
RING_OFFSET(struct uft_ring, lost_pending, R_LOST_PENDING);
RING_OFFSET(struct uft_ring, last, R_LAST);
RING_OFFSET(struct uft_ring, read, R_READ);
RING_OFFSET(struct uft_ring, backed, R_BACKED);
RING_OFFSET(struct uft_ring, turn, R_TURN);
RING_OFFSET(struct uft_ring_turn, gap, RT_GAP);
RING_OFFSET(struct uft_ring_turn, gap_to, RT_GAP_TO);
RING_OFFSET(struct uft_ring_turn, skip, RT_SKIP);
_Static_assert(sizeof(struct uft_ring_turn) == 1 << RT_SHIFT, "layout.h");
RING_OFFSET(struct uft_sub_header, position, SH_POSITION);
RING_OFFSET(struct uft_sub_header, lost, SH_LOST);
RING_OFFSET(struct uft_sub_header, clock, SH_CLOCK);
RING_OFFSET(struct uft_sub_header, pid, SH_TASK);
_Static_assert(sizeof(struct uft_sub_header) == SH_BYTES && UFT_PAGE == R_DATA, "layout.h");
RING_OFFSET(struct ring_op, word0, OP_WORD0);
RING_OFFSET(struct ring_op, word1, OP_WORD1);
RING_OFFSET(struct ring_op, bytes, OP_BYTES);
RING_OFFSET(struct ring_op, flags, OP_FLAGS);
RING_OFFSET(struct ring_op, pid, OP_TASK);
RING_OFFSET(struct ring_op, guard, OP_GUARD);
RING_OFFSET(struct ring_op, expect, OP_EXPECT);
RING_OFFSET(struct ring_op, receipt, OP_RECEIPT);
RING_OFFSET(struct ring_op, clock, OP_CLOCK);
RING_OFFSET(struct ring_receipt, where, RR_WHERE);
RING_OFFSET(struct ring_receipt, word, RR_WORD);
RING_OFFSET(struct ring_op, key, OP_KEY);
RING_OFFSET(struct ring_op, thread, OP_THREAD);
RING_OFFSET(struct ring_op, thread_flags, OP_THREAD_FLAGS);
RING_OFFSET(struct ring_op, more, OP_MORE);
RING_OFFSET(struct ring_op, ring, OP_RING);
RING_OFFSET(struct ring_op, need, OP_NEED);
RING_OFFSET(struct ring_op, gap, OP_GAP);
RING_OFFSET(struct ring_op, gap_to, OP_GAP_TO);
RING_OFFSET(struct ring_op, gap_ring, OP_GAP_RING);
RING_OFFSET(struct ring_op, counted, OP_COUNTED);
_Static_assert(UFT_RING_ON == RINGF_ON && UFT_RING_OVERWRITE == RINGF_OVERWRITE, "layout.h");
_Static_assert(UFT_REC_CONTEXT == UFT_ASM_REC_CONTEXT && UFT_REC_FUNC == UFT_ASM_REC_FUNC &&
	       UFT_REC_ENTRY == UFT_ASM_REC_ENTRY && UFT_REC_EXIT == UFT_ASM_REC_EXIT &&
	       UFT_REC_LOST == UFT_ASM_REC_LOST, "layout.h");

struct ring_fast uft_ring_fast;
static struct ring_private *ring_private;	/* set by ring_init(), never changed afterwards */

uint32_t *ring_lock_word(unsigned i)
{
	return &ring_private->locks[i];
}

static struct uft_ring *ring_at(uint32_t index)
{
	const struct uft_arena *a = uft_rt.arena;

	return (struct uft_ring *)((char *)uft_rt.slice + a->ring_offset + index * a->ring_stride);
}

static size_t table_bytes(void)
{
	return ARCH_HAS_RSEQ ? uft_rt.arena->ncpus * sizeof(struct ring_cpu) : 0;
}

int ring_init(void)
{
	const struct uft_arena *a = uft_rt.arena;
	size_t bytes = (table_bytes() + sizeof(*ring_private) + UFT_PAGE - 1) & -(size_t)UFT_PAGE;
	char *map = plat_map(bytes);
	int ret;

	if (!map)
		return -ENOMEM;
	ret = plat_wipe_on_fork((uintptr_t)map, bytes); /* GUARD(rings_wiped_on_fork, 0) */
	if (!ret && ARCH_HAS_OWN)
		ret = own_init();
	if (ret) {
		plat_unmap(map, bytes);
		return ret;
	}
	uft_ring_fast.cpu = (struct ring_cpu *)map;
	ring_private = (struct ring_private *)(map + table_bytes());
	uft_ring_fast.sub_mask = a->sub_bytes - 1;
	uft_ring_fast.usual = a->ring_usual;
	uft_ring_fast.mask = a->ring_bytes - 1;
	ring_attach();
	ring_private->pid = (uint32_t)plat_pid();
	uft_ring_fast.state = &ring_private->state;
	uft_store_release(&ring_private->state, RING_LIVE);
	return 0;
}

void ring_notice_fork(void)
{
	struct ring_private *p = ring_private;
	uint32_t pid = (uint32_t)plat_pid(), state = uft_load(&p->state);
	uint64_t mask;

	if (uft_load_acquire(&p->pid) == pid)
		return;
	plat_signals_block(&mask);
	if (state != RING_ADOPTING && uft_load(&p->pid) != pid && uft_cas(&p->state, state, RING_ADOPTING)) {
		arch_fill(p->locks, 0, sizeof(p->locks));
		arch_fill(uft_ring_fast.cpu, 0, table_bytes());
		if (ARCH_HAS_OWN)
			own_wipe();
		uft_store_release(&p->pid, pid);
		uft_store_release(&p->state, RING_FRESH);
	}
	plat_signals_restore(&mask);
}

static const uint32_t no_cpus;	/* stands in for the slice's on_cpus on the board */

void ring_close(void)
{
	uft_store_release(&uft_ring_fast.on_cpus, &no_cpus);
}

void ring_attach(void)
{
	const struct uft_arena *a = uft_rt.arena;

	for (uint32_t i = 0; ARCH_HAS_RSEQ && i < a->ncpus; i++) {
		struct ring_cpu *c = &uft_ring_fast.cpu[i];

		c->key = c->stack_key = c->event_key = 0;
		c->profile = NULL;	/* set by ring_profile_open() */
		/* NULL: ring_write() opens it */
		c->ring = uft_ring_is_used(uft_rt.slice, i) ? ring_at(i) : NULL;
	}
	ring_profile_attach();
	uft_ring_fast.profile_bytes = a->profile_ids * sizeof(struct uft_profile);
	uft_ring_fast.ring_flags = &uft_rt.slice->ring_flags;
	if (uft_ring_fast.on_cpus != &no_cpus)
		uft_ring_fast.on_cpus = uft_on_cpus(a, uft_rt.slice_index);
	if (ARCH_HAS_OWN)
		own_attach();
	uft_ring_fast.ncpus = uft_rt.rseq_offset ? a->ncpus : 0;
	uft_ring_fast.rseq_offset = uft_rt.rseq_offset;
}

void ring_forget(uint64_t thread_pointer)
{
	const uint64_t tp_mask = (1ull << 48) - 1 - RING_KEY_COUNTS - RING_KEY_BESIDE;

	if (ARCH_HAS_OWN)
		own_shut(thread_pointer, NULL);
	for (uint32_t i = 0; ARCH_HAS_RSEQ && i < uft_rt.arena->ncpus; i++) {
		struct ring_cpu *c = &uft_ring_fast.cpu[i];
		uint64_t key = uft_load(&c->key), stack_key = uft_load(&c->stack_key),
			 event_key = uft_load(&c->event_key);

		/* A compare-and-swap, because the CPU's present thread may be setting its own. */
		if (key && (key & tp_mask) == thread_pointer)
			uft_cas(&c->key, key, 0);
		if (stack_key && (stack_key & tp_mask) == thread_pointer)
			uft_cas(&c->stack_key, stack_key, 0); /* GUARD(stack_key_taken, (void)stack_key) */
		if (event_key && (event_key & tp_mask) == thread_pointer)
			uft_cas(&c->event_key, event_key, 0);
	}
}

void ring_new_generation(void)
{
	uft_add(&uft_ring_fast.generation, 1ull << 48);
	uft_store(&uft_ring_fast.counts, uft_ring_fast.generation | RING_KEY_COUNTS);
	uft_store(&uft_ring_fast.beside, uft_ring_fast.generation | RING_KEY_BESIDE);
	if (ARCH_HAS_OWN)
		own_attach();
}

int ring_is_committed(const struct ring_receipt *r)
{
	const struct uft_arena *a = uft_rt.arena;
	uint64_t offset = r->where - (uint64_t)rt_slice(0);
	uint64_t in_ring;
	const struct uft_ring *ring;

	if (r->where <= 1)
		return 0;
	if (offset >= a->per_file * a->slice_bytes)	/* a scratch buffer */
		return *(const uint64_t *)r->where == r->word;
	in_ring = (offset % a->slice_bytes - a->ring_offset) % a->ring_stride;
	ring = (const struct uft_ring *)(r->where - in_ring);
	if (*(const uint64_t *)r->where != r->word)
		return 0;
	/* The record was written and not overwritten. It is not committed if the next record would be written there. */
	return (uft_load(&ring->commit) & (a->ring_bytes - 1)) != in_ring - UFT_PAGE;
}

/* ---- Exchange rings ----------------------------------------------------------------------- */

static struct uft_ring *exch_take(uint32_t tid)
{
	const struct uft_arena *a = uft_rt.arena;

	for (uint32_t i = 0; i < a->nexch; i++) {
		struct uft_ring *r = ring_open(a->ncpus + (tid + i) % a->nexch);

		if (r && !uft_load(&r->owner) && uft_cas(&r->owner, 0, tid))
			return r;
	}
	/* All rings are taken. A killed task (which a vfork child may be, alone) does not release its ring. */
	for (uint32_t i = 0; i < a->nexch; i++) {
		struct uft_ring *r = uft_ring_is_used(uft_rt.slice, a->ncpus + i) ? ring_at(a->ncpus + i) : NULL;
		uint32_t owner = r ? uft_load(&r->owner) : 0;

		if (owner && plat_is_gone(owner) /* GUARD(ring_owner_died, 0) */ && uft_cas(&r->owner, owner, tid)) {
			if (ARCH_HAS_OWN)
				own_shut(0, r);
			return r;
		}
	}
	return NULL;
}

/*
 * In the turn of @at: the position behind everything that the turn before has written, if that turn left out its rest;
 * else 0.
 */
static uint64_t left_out(const struct uft_ring *r, uint64_t at)
{
	const uint64_t size = uft_rt.arena->ring_bytes, begin = at & -size;
	const uint64_t skip = begin ? uft_load(&uft_ring_turn(r, begin - size, size)->skip) : 0;

	return skip && skip >= begin - size && skip < begin ? skip + size : 0;
}

uint64_t ring_gap(const struct uft_ring *r, uint64_t end)
{
	uint64_t to = left_out(r, end);

	return to > end &&
		to - (end & -(uint64_t)uft_rt.arena->ring_bytes) <= uft_rt.arena->ring_bytes - uft_rt.arena->sub_bytes ?
		to : 0;
}

int ring_is_free(const struct uft_ring *r, uint64_t at, uint64_t to)
{
	uint64_t from = left_out(r, at);

	return (int64_t)(to - uft_rt.arena->ring_bytes) <= (int64_t)uft_load_acquire(&r->read) ||
		(from && from <= at) /* GUARD(grown_gap) */;
}

/*
 * The begin of the sub-buffer behind position @end, and a note for the reader; 0 (no position): there is no room. As in
 * ring.S, but the ring is ours alone.
 */
static uint64_t next_sub(struct uft_ring *r, uint64_t end)
{
	const uint64_t size = uft_rt.arena->ring_bytes, sub = uft_rt.arena->sub_bytes, next = (end | (size - 1)) + 1;
	struct uft_ring_turn *t = uft_ring_turn(r, end, size);
	uint64_t gap_to;

	if (t->gap == end)
		return t->gap_to;
	if ((end & (size - 1)) >= uft_rt.arena->ring_usual && ring_is_free(r, next, next + sub)) {
		uft_store(&t->skip, end);
		return next;
	}
	if (ring_is_free(r, end, end + sub))
		return end;
	gap_to = ring_gap(r, end);
	if (gap_to) {
		uft_store(&t->skip, 0ull);
		uft_store(&t->gap_to, gap_to);
		uft_store_release(&t->gap, end);
	}
	return gap_to;
}

/* The same steps as in ring.S, but the ring is ours alone. */
static int exch_append(struct uft_ring *r, struct ring_op *op)
{
	const struct uft_arena *a = uft_rt.arena;
	const uint64_t mask = a->ring_bytes - 1, sub = a->sub_bytes;
	uint64_t commit = r->commit, end = (commit + sub - 1) & -sub, at, clock = arch_clock_after();
	uint32_t hi = (uint32_t)(clock >> 32);
	int context = r->ctx_tid != op->tid || r->ctx_hi != hi ||
		r->ctx_pos >= commit /* GUARD(context_is_committed) */;
	char *data = (char *)r + UFT_PAGE;
	uint64_t *w;

	if (commit + op->bytes + (context ? 24 : 0) <= end &&
	    commit + op->bytes + (context ? 24 : 0) > uft_load(&r->backed) &&
	    ring_back(r, commit + op->bytes + (context ? 24 : 0)))
		return RING_LOST;
	if (commit + op->bytes + (context ? 24 : 0) > end) {
		uint64_t lost = uft_load(&r->lost), since;
		struct uft_sub_header *h;
		int64_t over = (int64_t)(end + sub - a->ring_bytes);	/* everything below this is overwritten */

		if (!(uft_load(&uft_rt.slice->ring_flags) & UFT_RING_OVERWRITE)) {
			end = next_sub(r, end);
			if (!end && commit) {
				r->lost_pending = 1;
				uft_store(&r->lost, lost + 1);
				return RING_LOST;
			}
		}
		if (end + sizeof(*h) + 16 + op->bytes > uft_load(&r->backed) &&
		    ring_back(r, end + sizeof(*h) + 16 + op->bytes))
			return RING_LOST;
		if (uft_load(&uft_rt.slice->ring_flags) & UFT_RING_OVERWRITE && over > (int64_t)r->oldest) {
			uft_store(&r->oldest, (uint64_t)over);
			/* Orders `oldest` before the data; partner: the reader's re-read of it. */
			__atomic_thread_fence(__ATOMIC_RELEASE);
		}
		if (commit & (sub - 1))
			*(uint64_t *)(data + (commit & mask)) = 0;	/* PAD */
		h = (struct uft_sub_header *)(data + (end & mask));
		/* GUARD(exchange_lost_before, lost) */
		since = commit ? lost - ((struct uft_sub_header *)(data + ((commit - 1) & -sub & mask)))->lost : 0;
		h->position = end;
		h->lost = lost;
		h->clock = clock;
		h->pid = op->pid;
		h->tid = op->tid;
		r->ctx_pos = end;
		/* no context is valid from here to the commit: a task may be killed in between */
		uft_barrier();
		at = end + sizeof(*h);
		if (since) {
			w = (uint64_t *)(data + (at & mask));
			w[0] = UFT_REC_WORD(UFT_REC_LOST, 0, clock);
			w[1] = since;
			r->lost_pending = 0;
			at += 16;
		}
		r->sub_end = end + sub;
	} else if (context) {
		w = (uint64_t *)(data + (commit & mask));
		w[0] = UFT_REC_WORD(UFT_REC_CONTEXT, 0, clock);
		w[1] = clock;
		w[2] = op->pid | (uint64_t)op->tid << 32;
		r->ctx_pos = commit;
		uft_barrier();
		at = commit + 24;
	} else {
		at = commit;
	}
	r->ctx_tid = op->tid;
	r->ctx_hi = hi;
	w = (uint64_t *)(data + (at & mask));
	w[0] = op->word0 | (uint32_t)clock;
	if (op->bytes > 8)
		w[1] = op->flags & RING_OP_SINCE ? clock - op->word1 : op->word1;
	for (uint64_t i = 2; i < op->bytes / 8; i++)
		w[i] = op->more[i - 2];
	r->last = clock;
	*op->clock = clock;
	op->receipt->word = w[0];
	op->receipt->where = (uint64_t)w;
	uft_store_release(&r->commit, at + op->bytes);
	return RING_WRITTEN;
}

static int exch_write(struct ring_op *op)
{
	struct ring_own *own;
	struct uft_ring *r;
	int ret;

	if (*op->guard != op->expect)
		return RING_GUARD;
	own = ARCH_HAS_OWN ? own_find(op) : NULL;
	if (own) {
		ret = exch_append(own->ring, op);
		own_open(own, op);
		return ret;
	}
	r = exch_take(op->tid);
	if (!r)
		return RING_NONE;
	ret = exch_append(r, op);
	uft_store_release(&r->owner, 0);
	return ret;
}

/*
 * Opens this CPU's ring. With all signals blocked, and only after a look at the state: a handler that came before may
 * have forked, and the child's table must stay empty until the child is adopted. 1: try again.
 */
static int cpu_open(void)
{
	uint32_t cpu = arch_rseq_cpu(uft_ring_fast.rseq_offset);
	struct uft_ring *r = NULL;
	uint64_t mask;

	if (cpu >= uft_ring_fast.ncpus || uft_load(&uft_ring_fast.cpu[cpu].ring) || uft_load(ring_state()) != RING_LIVE)
		return 0;
	plat_signals_block(&mask);
	if (uft_load(ring_state()) == RING_LIVE) {
		r = ring_open(cpu);
		uft_store_release(&uft_ring_fast.cpu[cpu].ring, r);
	}
	plat_signals_restore(&mask);
	return r != NULL;
}

/* Ends the thread's counting elsewhere. Its key there may be another thread's by now, which then has one slow event. */
static void count_end(const struct ring_op *op)
{
	struct ring_cpu *c = uft_load(op->counted);
	uint64_t key = c ? uft_load(&c->key) : 0;

	if (key & RING_KEY_COUNTS)
		uft_cas(&c->key, key, 0); /* GUARD(count_key_taken, (void)key) */
	if (c)		/* a signal handler may have counted elsewhere meanwhile */
		arch_local_cas(op->counted, (uint64_t)c, 0);
}

int ring_write(struct ring_op *op, int rseq)
{
	int ret = RING_NONE;

	if (!op->guard) {
		op->guard = &op->word0;
		op->expect = op->word0;
	}
	if (!op->receipt)
		op->receipt = &op->own_receipt;
	if (!op->clock)
		op->clock = &op->own_clock;
	if (!op->counted)
		op->counted = &op->own_counted;
	if (!ARCH_HAS_RSEQ || !rseq) {
		if (ARCH_HAS_COUNTS)
			count_end(op);
		return exch_write(op);
	}
	for (int i = 0; i < RING_RETRIES; i++) {
		ret = uft_asm_ring_write(op);
		if (ret == RING_COUNTS) {
			count_end(op);
			continue;
		}
		if (ret == RING_UNBACKED && ring_back(op->ring, op->need))
			return RING_LOST;
		if (ret == RING_LOST) {
			op->gap_ring = op->ring;	/* the next attempt may be on another CPU */
			op->gap = op->need;
			op->gap_to = ring_gap(op->ring, op->need);
			if (op->gap_to)
				continue;
			/* An atomic add, because a task that migrated meanwhile counts here, too. */
			op->ring->lost_pending = 1;
			uft_add(&op->ring->lost, 1);
			return RING_LOST;
		}
		if (ret != RING_RETRY && ret != RING_UNBACKED && (ret != RING_NONE || !cpu_open()))
			return ret;
	}
	return RING_NONE;
}
