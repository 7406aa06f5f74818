/* SPDX-License-Identifier: MIT */
/*
 * thread.c - identify the running task: thread state without TLS, the lock, and the frame of every slow event
 *
 * Objects. One struct uft_thread per thread pointer (%fs:0), found in an open-addressed hash table; it holds the
 * shadow stack. The fast paths do not search: the ring's private table names the thread whose context the ring has
 * (ring/ring.c). The table is changed under the lock only; a reader may run at the same time: an entry's thread is
 * stored before its key.
 *
 * A thread pointer is no identity. libc gives the memory of a dead thread to the next one, a vfork child runs on
 * its parent's, and so does a CLONE_VM child without CLONE_SETTLS. The system calls that do this are hooked (hook.c):
 *   new thread		thread_reset() on the new pointer: state as new, tid unknown (UFT_NO_TID)
 *   vfork		TH_VFORK, tid unknown. Each event finds out its task by gettid(); a task that is not the owner
 *			is a guest: exchange rings, entries marked FG_GUEST. The owner is suspended meanwhile; its own
 *			events drop the guest's entries. It is healed by an event of its own that cannot come from a
 *			signal handler which ran before the vfork (see thread_heal).
 *   other CLONE_VM	TH_SHARED, tid unknown. The owner keeps its state; every other task gets one under a key made of
 *			its tid, which no thread pointer equals, with `host` the owner's. All of them use the
 *			exchange rings: the keys of fast paths, and the rseq area, belong to the pointer and not
 *			to the task. The owner is healed when every task that was to come has had an event
 *			(`shares`) and has ended (tkill). One that never has an event, or a clone that failed,
 *			keeps the owner slow, not wrong. So does one that executes another program, until that
 *			ends, and one in another pid namespace. A task without memory for a state of its own
 *			passes its graph calls through, counted (UFT_CNT_SHARED_TP); so does one that returns
 *			through another's frame, once.
 *
 * Where no system call is hooked (ARCH_HAS_HOOKS) every event finds out its task, with signals blocked; rseq_check.c
 * has the exception.
 *
 * The lock is one word in wipe-on-fork memory: the tid of its holder. It is taken with all signals blocked, so a
 * handler can neither find it taken by its own thread nor jump out of it. It is free in a fork child, and each thing
 * that it protects is right at every instant. A holder that died (a vfork child killed inside) is detected by
 * tkill(tid, 0). Waiters sleep, so that a real-time thread cannot starve the holder.
 *
 * Nesting. A signal handler may interrupt a slow event anywhere outside blocked sections and have slow events of its
 * own, as deep as signals nest. Nothing counts that, because a handler that jumps away would leave the count wrong for
 * ever. No code of the runtime is traced, so there is no other recursion, and UFT_CNT_RECURSION stays 0.
 */
#include "runtime/trace/thread/thread.h"

#define TABLE_SIZE	(1u << THREAD_TABLE_BITS)
#define TOMBSTONE	1ull

#define STACK_BYTES_MAX	(8u << 20) /* GUARD(shadow_bytes, (1u << 20)) */
#define STACK_BYTES_MIN	(16u << 10)
#define SCRATCH_PART	8	/* part of the bytes, for keep_slow.c: 1 MiB at most */
#define LOCK_SPINS	100
#define LOCK_NAP_NS	1000000		/* then sleep, until woken; doubled each time, up to */
#define LOCK_NAP_MAX_NS	500000000
#define SIGNAL_FRAME_MIN 512		/* no signal frame is smaller: red zone, ucontext and FP state */
#define SHARED_KEY(tid)	(1ull << 63 | (tid))	/* in place of a thread pointer; user addresses end below */
#define HEAL_CLOCKS	(1u << 22)	/* about a millisecond, between two looks */

#define TRACE_OFFSET(type, member, n) _Static_assert(offsetof(type, member) == (n), "layout.h")
TRACE_OFFSET(struct uft_thread, top, TH_TOP);
TRACE_OFFSET(struct uft_thread, limit, TH_LIMIT);
TRACE_OFFSET(struct uft_thread, base, TH_BASE);
TRACE_OFFSET(struct uft_thread, flags, TH_FLAGS);
TRACE_OFFSET(struct graph_limits, depth, GL_DEPTH);
TRACE_OFFSET(struct graph_limits, thresh, GL_THRESH);
TRACE_OFFSET(struct fg_entry, slot, E_SLOT);
TRACE_OFFSET(struct fg_entry, child, E_CHILD);
TRACE_OFFSET(struct fg_entry, parent, E_PARENT);
TRACE_OFFSET(struct fg_entry, ret, E_RET);
TRACE_OFFSET(struct fg_entry, clock, E_CLOCK);
TRACE_OFFSET(struct fg_entry, receipt.word, E_WORD);
TRACE_OFFSET(struct fg_entry, receipt.where, E_WHERE);
TRACE_OFFSET(struct fg_entry, flags, E_FLAGS);
_Static_assert(sizeof(struct fg_entry) == E_BYTES, "layout.h");
_Static_assert(STUB_ACTION == UFT_STUB_BYTES - 1 && ACT_FUNC == UFT_ACT_FUNC && ACT_PROFILE == UFT_ACT_PROFILE,
	       "layout.h");
_Static_assert(sizeof(struct uft_thread) + sizeof(struct fg_entry) <= UFT_PAGE, "one page");

struct thread_slot *thread_slot;
static struct {
	struct uft_thread *all;		/* every struct ever made; those with tp == 0 wait to be used again */
	uint32_t used;			/* slots that are not empty */
	uint32_t living, sweep_at;	/* at sweep_at living threads, look for dead ones */
	uint32_t pooled;		/* structs with tp == 0 */
} threads;

int thread_init(void)
{
	thread_slot = plat_map_sparse(TABLE_SIZE * sizeof(*thread_slot));
	if (!thread_slot)
		return -ENOMEM;
	threads.sweep_at = 64;
	return 0;
}

uint64_t thread_reserve(uint64_t *bytes)
{
	*bytes = TABLE_SIZE * sizeof(*thread_slot);
	return (uint64_t)thread_slot;
}

/* ---- The lock ----------------------------------------------------------------------------- */

void task_block(struct trace_task *t)
{
	plat_signals_block(&t->mask);
	t->blocked = 1;
}

void task_unblock(struct trace_task *t)
{
	t->blocked = 0;
	plat_signals_restore(&t->mask);
}

static uint32_t lock_waiters;	/* a fork child's copy may be too high: then it wakes in vain, each time */

void task_lock(struct trace_task *t)
{
	uint32_t *word = ring_lock_word(0), holder, spins = 0;
	uint32_t self = t->tid;
	uint64_t nap_ns = LOCK_NAP_NS;

	if (!t->blocked) {
		task_block(t);
		t->locked = 2;		/* unblock signals at the end */
	} else {
		t->locked = 1;
	}
	for (;;) {
		holder = uft_load(word);
		if (!holder && uft_cas(word, 0, self))
			return;
		if (++spins < LOCK_SPINS) {
			arch_cpu_relax();
			continue;
		}
		if (holder && plat_is_gone(holder) /* GUARD(lock_holder_died, 0) */ && uft_cas(word, holder, self))
			return;
		__atomic_add_fetch(&lock_waiters, 1, __ATOMIC_SEQ_CST);
		if (plat_wait(word, holder, nap_ns) == -ETIMEDOUT && nap_ns < LOCK_NAP_MAX_NS)
			nap_ns *= 2;	/* the holder may have died: hundreds of frequent lookers leave it no CPU */
		__atomic_sub_fetch(&lock_waiters, 1, __ATOMIC_SEQ_CST);
	}
}

void task_unlock(struct trace_task *t)
{
	uint8_t how = t->locked;

	t->locked = 0;
	__atomic_store_n(ring_lock_word(0), 0, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&lock_waiters, __ATOMIC_SEQ_CST))
		plat_wake(ring_lock_word(0), 1);
	if (how == 2)
		task_unblock(t);
}

/* ---- Table -------------------------------------------------------------------------------- */

struct uft_thread *thread_find(uint64_t tp)
{
	for (uint32_t n = 0, i = thread_home(tp); n < TABLE_SIZE; n++, i = (i + 1) % TABLE_SIZE) {
		uint64_t key = uft_load_acquire(&thread_slot[i].tp);

		if (key == tp)
			return thread_slot[i].th;
		if (!key)
			break;
	}
	return NULL;
}

struct uft_thread *thread_first(void)
{
	return threads.all;
}

struct uft_thread **thread_first_address(void)
{
	return &threads.all;
}

/* Marks the place behind the last entry, because fast paths do not check the limit. */
static void thread_guard(struct uft_thread *th)
{
	if (ARCH_HAS_OWN)
		th->limit->receipt.where = FG_NOT_WRITTEN;
}

static struct uft_thread *thread_map(void)
{
	if (plat_is_denied(UFT_DENIED_MEMORY))
		return NULL;
	for (uint32_t bytes = STACK_BYTES_MAX; bytes >= STACK_BYTES_MIN; bytes /= 8) {
		uint32_t parts = bytes + bytes / SCRATCH_PART + bytes / sizeof(struct fg_entry) * 8;
		struct uft_thread *th = plat_map_sparse(UFT_PAGE + parts);

		if (!th)
			continue;
		th->bytes = UFT_PAGE + parts;
		th->base = (struct fg_entry *)((char *)th + UFT_PAGE);
		th->limit = th->base + bytes / sizeof(struct fg_entry) - ARCH_HAS_OWN;
		th->top = th->base;
		th->base[-1].flags = FG_SILENT;
		keep_init(th, (uint64_t *)((char *)th->base + bytes), bytes / SCRATCH_PART);
		th->cpu_ns = (uint64_t *)((char *)th->base + bytes + bytes / SCRATCH_PART);
		thread_guard(th);
		th->next = threads.all;
		uft_store_release(&threads.all, th);
		return th;
	}
	return NULL;
}

/*
 * Empties a thread's state for its next task. Frames on other stacks may still return: entries whose slot is hooked are
 * kept.
 */
static void thread_empty(struct uft_thread *th)
{
	for (struct fg_entry *e = th->base; e < th->top; e++) {
		fg_settle(e);
		if (e->slot > FG_NO_SLOT &&
		    fg_is_hooked(e, th->top) /* GUARD(orphan_hooked, 0) GUARD(orphan_top, fg_is_hooked(e, e + 1)) */)
			aside_put(e);
		fg_free(e);
	}
	if (th->nkept) {		/* the last task ended in a root call */
		trace_count(UFT_CNT_NOT_KEPT, 1);
		keep_reset(th);
	}
	th->top = th->base;
	th->base[-1].slot = 0;
	th->tid = UFT_NO_TID;
	th->owner = 0;
	th->flags = 0;
	th->pids_generation = 0;
	th->rules_asked = 0;
	th->sections = 0;
	th->overruns = 0;
	th->graph_turn = 0;
	th->stack_top = th->stack_low = 0;
	th->signal_stack.bytes = 0;
}

static int thread_is_dead(const struct uft_thread *th)
{
	return th->owner && plat_is_gone(th->owner);
}

/*
 * Has every task that shared this pointer ended? The states of all tasks that came before `shares` fell to 0 are
 * linked.
 */
static int thread_is_alone(const struct uft_thread *host)
{
	if (uft_load_acquire(&host->shares))
		return 0;
	for (const struct uft_thread *th = uft_load_acquire(&threads.all); th; th = th->next)
		if (th->host == host && th->tp && !thread_is_dead(th))
			return 0;
	return 1;
}

/* Puts the state of threads that have ended into the pool. Their thread pointers may be unmapped by now. */
static void thread_sweep(void)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < TABLE_SIZE; i++) {
		struct uft_thread *th = thread_slot[i].th;

		if (thread_slot[i].tp <= TOMBSTONE)
			continue;
		if (!thread_is_dead(th) || (th->flags & TH_SHARED && !thread_is_alone(th))) {
			left++;
			continue;
		}
		thread_empty(th);
		ring_forget(th->tp);
		uft_store_release(&thread_slot[i].tp, TOMBSTONE);
		th->tp = 0;
		threads.pooled++;
		if (!plat_is_denied(UFT_DENIED_MEMORY))
			plat_discard((uintptr_t)th->base, th->bytes - UFT_PAGE);
		thread_guard(th);
	}
	threads.living = left;
	threads.sweep_at = left * 2 + 64;
}

static struct uft_thread *thread_pooled(void)
{
	struct uft_thread *th = threads.all;

	while (th && th->tp)
		th = th->next;
	threads.pooled--;
	return th ? th : thread_map();
}

static struct uft_thread *thread_make(uint64_t tp)
{
	struct uft_thread *th;
	uint32_t i = thread_home(tp);

	if (threads.living >= threads.sweep_at || threads.used >= TABLE_SIZE / 4 * 3)
		thread_sweep();
	while (thread_slot[i].tp > TOMBSTONE)
		i = (i + 1) % TABLE_SIZE;
	if (!thread_slot[i].tp && threads.used >= TABLE_SIZE / 4 * 3)
		return NULL;
	th = threads.pooled ? thread_pooled() : thread_map();
	if (!th)
		return NULL;
	th->tp = tp;
	th->tid = UFT_NO_TID;
	th->host = NULL;
	th->shares = 0;
	if (!thread_slot[i].tp)
		threads.used++;
	threads.living++;
	thread_slot[i].th = th;
	uft_store_release(&thread_slot[i].tp, tp);
	return th;
}

void thread_reset(struct trace_task *t, uint64_t tp)
{
	struct uft_thread *th = thread_find(tp);
	uint32_t shared;

	if (!th)
		return;
	task_lock(t);
	shared = th->flags & TH_SHARED && !thread_is_alone(th) ? TH_SHARED : 0;
	thread_empty(th);
	th->flags = shared;	/* the last owner has ended, the tasks that share with it have not */
	ring_forget(tp);
	task_unlock(t);
}

/*
 * Gives a task that shares its thread pointer without being the owner a state of its own. 0: it has none, and there is
 * no memory for one.
 */
static int thread_use_own(struct trace_task *t)
{
	struct uft_thread *host = t->th, *th = thread_find(SHARED_KEY(t->tid));

	if (!th || th->owner != t->tid || th->host != host) {
		task_lock(t);
		if (th)
			thread_empty(th);	/* of a process that has forked, or of an earlier task with this tid */
		else
			th = thread_make(SHARED_KEY(t->tid));
		if (th) {
			th->base[-1].slot = ~0ull;	/* its stack may be anywhere */
			th->owner = t->tid;
			uft_store_release(&th->host, host);
			if (uft_load(&host->shares))
				uft_add(&host->shares, ~0u);	/* after linking; partner: thread_is_alone() */
		}
		task_unlock(t);
	}
	if (th)
		t->th = th;
	return !!th;
}

/* Called before the clone, so before the new task's first event. In this order: a handler must not heal the state. */
void thread_share(struct trace_task *t)
{
	struct uft_thread *host = t->th->host ? t->th->host : t->th;

	task_lock(t);
	/* A dead task's tid may be given to the new one. */
	for (struct uft_thread *th = threads.all; th; th = th->next)
		if (th->host == host && th->tp && thread_is_dead(th)) {
			uint32_t owner = th->owner;

			thread_empty(th);
			th->owner = owner;	/* for the sweep */
			th->host = NULL;
		}
	uft_add(&host->shares, 1u);
	arch_local_or32(&host->flags, TH_SHARED);
	uft_store(&host->tid, UFT_NO_TID);
	ring_forget(host->tp);
	task_unlock(t);
}

/*
 * A fork child has one thread, but the stacks of the other threads, and coroutines on them, may still be there. Calls
 * that are open now were recorded for the parent, so their returns are silent.
 */
void thread_forked(struct trace_task *t)
{
	struct fg_entry *e = NULL;

	for (struct uft_thread *th = threads.all; th; th = th->next) {
		for (e = th->base; e < th->top; e++) {
			fg_settle(e);
			if (e->flags & FG_SCRATCH)
				e->flags &= ~(uint32_t)FG_INSIDE;
			e->flags = fg_silenced(e->flags); /* GUARD(thread_forked_flags) */
		}
		keep_reset(th);
		th->graph_turn = 0; /* GUARD(thread_forked_graph_turn) */
		if (th != t->th) {
			th->tid = UFT_NO_TID;
			th->owner = 0;
			th->host = NULL;
		}
	}
	for (e = NULL; (e = aside_next(e));)
		e->flags = (e->flags & ~(uint32_t)(FG_CALL | FG_PROFILE | FG_PASS)) | FG_SILENT;
	if (t->th) {
		t->th->tid = t->th->owner = t->tid;
		t->th->flags &= ~(uint32_t)(TH_VFORK | TH_SHARED);
		t->th->shares = 0;
		t->th->pids_generation = 0;
		t->th->rules_asked = 0; /* GUARD(thread_forked_rules) */
	}
}

/* ---- The frame of a slow event ------------------------------------------------------------ */

/*
 * The owner has an event after a vfork hook: has the child surely ended? It has if the vfork has returned. A handler
 * that runs between the hook and the system call runs on a signal stack or at least a signal frame deeper.
 */
static void thread_heal(struct trace_task *t)
{
	struct uft_thread *th = t->th;
	struct fg_entry *top;
	struct plat_stack ss;

	/* A handler may come in between, do the same and leave entries of its own: the top is read once (graph.c). */
	while ((top = uft_load(&th->top)) > th->base && top[-1].flags & FG_GUEST /* GUARD(vfork_guests, 0) */)
		if (arch_local_cas(&th->top, (uint64_t)top, (uint64_t)(top - 1)))
			fg_free(top - 1);
	/* This function's frame lies less than a signal frame below the event's. */
	if ((uint64_t)__builtin_frame_address(0) + 2 * SIGNAL_FRAME_MIN < th->vfork_sp)
		return; /* GUARD(vfork_in_signal) */
	if (thread_signal_stack(th, &ss) || ss.is_on)
		return;
	if (!th->host && !(th->flags & TH_SHARED))
		th->tid = th->owner;
	arch_local_clear32(&th->flags, TH_VFORK);
}

/* The owner has an event: do the tasks that shared its pointer still live? */
static void thread_heal_shared(struct trace_task *t)
{
	struct uft_thread *th = t->th;
	uint64_t now = arch_clock();

	if (now - th->heal_clock < HEAL_CLOCKS)
		return;
	th->heal_clock = now;
	if (!thread_is_alone(th))
		return;
	/* A handler that shares the pointer again before the next line wins: shares is not 0 then. */
	arch_local_clear32(&th->flags, TH_SHARED);
	if (uft_load(&th->shares))
		arch_local_or32(&th->flags, TH_SHARED);
	else if (!(th->flags & TH_VFORK))
		th->tid = th->owner;
}

/* Can a task that is not known yet own this thread pointer? Tasks that share it are mostly other processes. */
static int thread_may_own(const struct trace_task *t)
{
	if (!(t->th->flags & TH_SHARED))
		return 1;
	return !thread_find(SHARED_KEY(t->tid)) && !plat_is_denied(UFT_DENIED_ASK) &&
	       (uint32_t)plat_pid() == uft_load(&uft_rt.slice->pid);
}

static void thread_identify(struct trace_task *t)
{
	struct uft_thread *th = t->th;

	/* GUARD(quiet_tid, __asm__ volatile("syscall" : "=a"(t->tid) : "a"(186L) : "rcx", "r11", "memory")) */
	t->tid = (uint32_t)plat_quiet_tid();
	if (!th->owner && thread_may_own(t)) {
		th->owner = t->tid;
		if (!(th->flags & TH_SHARED))
			th->tid = t->tid;
	}
	if (th->owner != t->tid) {
		if (!plat_is_denied(UFT_DENIED_ASK))
			t->pid = (uint32_t)plat_pid();
		if (!(th->flags & TH_SHARED) || !thread_use_own(t))
			t->guest = 1;
		else if (t->th->flags & TH_VFORK)
			thread_heal(t);
		return;
	}
	if (th->flags & TH_VFORK)
		thread_heal(t);
	if (th->flags & TH_SHARED)
		thread_heal_shared(t);
}

/*
 * Where no system call is hooked, no hook tells that a thread pointer went to a new thread, or that a vfork child runs
 * on its parent's: every event checks. A child that shares memory is a guest (thread_identify()).
 */
static void thread_verify(struct trace_task *t)
{
	uint32_t owner = t->th->owner;

	t->tid = (uint32_t)plat_tid();
	if (owner && owner != t->tid && (uint32_t)plat_pid() == uft_load(&uft_rt.slice->pid))
		thread_reset(t, t->tp);
	uft_store(&t->th->tid, UFT_NO_TID);
}

/* A fork child's first event adopts it, once; other threads of the child wait meanwhile. */
static int task_is_mute(void)
{
	uint32_t *state = ring_state();

	if (uft_rt.is_emulated)
		ring_notice_fork();
	if (uft_load_acquire(state) == RING_LIVE)
		return 0;
	if (uft_load(state) == RING_FRESH)
		trace_adopt_child(); /* GUARD(task_is_mute_trace_adopt_child) */
	for (int ms = 0; uft_load_acquire(state) == RING_ADOPTING && ms < UFT_REQ_TIMEOUT_MS; ms++)
		plat_wait(state, RING_ADOPTING, 1000000);
	return uft_load_acquire(state) != RING_LIVE;
}

/* A fast path that this event interrupted has changed the top already, or never will. */
static void thread_finish_fast(struct trace_task *t)
{
	inside_begin(t);
	own_finish(t->tid, inside_has_moved(t) ? t->th->top : NULL);
	inside_note(t);
}

void task_begin(struct trace_task *t)
{
	t->guest = t->blocked = t->locked = t->rseq = 0;
	t->tp = arch_thread_pointer();
	if (ARCH_HAS_OWN && sections_begin(t))
		return;
	if (ARCH_HAS_OWN)		/* before the task is identified: a handler may fork */
		task_block(t);
	t->mute = (uint8_t)task_is_mute();
	t->pid = uft_rt.slice->pid;
	t->key = ring_key(t->tp);	/* first: a later generation voids it */
	t->th = thread_find(t->tp);
	if (!t->th) {
		/* GUARD(quiet_tid, __asm__ volatile("syscall" : "=a"(t->tid) : "a"(186L) : "rcx", "r11", "memory")) */
		t->tid = (uint32_t)plat_quiet_tid();
		task_lock(t);
		t->th = thread_find(t->tp);	/* a signal handler that came in between may have made it */
		if (!t->th) /* GUARD(task_begin, 1) */
			t->th = thread_make(t->tp);
		task_unlock(t);
		if (!t->th && !t->mute)
			trace_count(UFT_CNT_NO_THREAD, 1);
	}
	if (t->th) {
		if (!ARCH_HAS_HOOKS)
			thread_verify(t);
		t->tid = uft_load(&t->th->tid);
		if (t->tid == UFT_NO_TID)
			thread_identify(t);
		t->rseq = !ARCH_HAS_OWN && !t->guest && !t->th->host && t->th->tid != UFT_NO_TID && ring_has_rseq();
	}
	if (!ARCH_HAS_OWN && !t->rseq)
		task_block(t);
	if (ARCH_HAS_OWN && t->th && !t->guest) {
		thread_finish_fast(t);
		sections_ask(t);
	}
}

void task_end(struct trace_task *t)
{
	if (ARCH_HAS_OWN && !t->rseq && t->th && !t->guest)
		inside_end(t);
	if (t->blocked)
		task_unblock(t);
}

/* Does the record only add to a call or event whose own record is counted? */
static int is_part(uint64_t word)
{
	switch (UFT_REC_KIND(word)) {
	case UFT_REC_FUNC:
	case UFT_REC_ENTRY:
	case UFT_REC_CALL:
		return 0;
	case UFT_REC_EVENT:
		return !UFT_EVENT_IS_OWN(UFT_EVENT_ID(UFT_REC_VALUE(word)));
	default:
		return 1;
	}
}

int task_write(struct trace_task *t, struct ring_op *op)
{
	int ret;

	op->pid = t->pid;
	op->tid = t->tid;
	op->thread = t->th;
	op->thread_flags = t->th ? &t->th->flags : NULL;
	if (ARCH_HAS_COUNTS && t->th && !t->guest)
		op->counted = &t->th->counted;
	if (op->key && trace_counts())
		op->key |= RING_KEY_COUNTS;
	if (op->key && !(op->flags & RING_OP_EVENT) && trace_is_beside())
		op->key |= RING_KEY_BESIDE;
	if (ARCH_HAS_OWN && (t->guest || !t->th || t->th->host))
		op->key = 0;
	/*
	 * If a signal handler shared the pointer after the event began, the rseq area is not this task's alone any
	 * more.
	 */
	if (t->rseq && (t->th->flags & TH_SHARED || (ARCH_HAS_OWN && op->key && sections_want_own(t->th))))
		ret = RING_NONE;
	else
		ret = ring_write(op, t->rseq);
	if (ret == RING_NONE && t->rseq) {
		/*
		 * Or this CPU has no number just now, or it is time to look for a ring of the thread's own, which this
		 * does.
		 */
		int block = !t->blocked;

		if (block)
			task_block(t);
		/*
		 * A handler has forked since the event began, and this is the child: the exchange rings at hand may be
		 * its parent's.
		 */
		if (uft_load_acquire(ring_state()) == RING_LIVE && uft_load(&uft_rt.slice->pid) == t->pid)
			ret = ring_write(op, 0);
		if (block)
			task_unblock(t);
	}
	if (ret == RING_NONE)
		trace_count(UFT_CNT_NO_RING, 1);
	else if (ret == RING_LOST && is_part(op->word0))
		trace_count(UFT_CNT_LOST_PART, 1);
	return ret;
}
