/* SPDX-License-Identifier: MIT */
/*
 * graph.c - the shadow stack: return addresses of calls that are traced
 *
 * Objects. Each hooked call has one struct fg_entry, on the array of the thread that entered it or, once it was left,
 * in the set-aside table (detached_frames.c). The key is the slot: the address of the return address on the
 * program's stack.
 * Within an array slots decrease towards the top; a tail call repeats its caller's slot (its parent is then what the
 * caller's hook put there), and the first call on a signal stack that lies above the interrupted one is marked FG_ALT.
 *
 * Life of an entry
 *
 *	push (not written) -> written -> body runs -> EXIT written -> pop
 *	                                    |
 *	                                  left: UNWIND written, set aside -> returns after all: EXIT_LEFT
 *	                                                                  -> proved dead: forgotten
 *
 * Left means: an event shows that the task is elsewhere. An entry at slot s leaves every call on the array at s or
 * deeper; an exit at s leaves every call above s's entry. longjmp, exceptions and coroutine switches look alike, so no
 * entry is dropped. A frame entered at a slot proves every older one there dead, so of several entries for a slot the
 * newest counts: by the clock, and within one tick of it by the order on the array (struct fg_age).
 *
 * One step, one look at the top. A signal handler that longjmps inside itself leaves entries on top, so two reads of
 * the top may differ. An attempt to enter or leave loads the top once and passes it on; all decisions, and the guard or
 * cmpxchg by which the attempt takes effect, are about that top. Under the lock, signals are blocked and the top is
 * stable.
 *
 * Records pair up. fg_is_recorded() says that the entry's ENTRY is in a ring and its EXIT is not: only then it gets an
 * EXIT, or counts in an UNWIND. Entry and record cannot change in one store, so the entry carries a receipt: the record
 * that is about to be written, and where. If a signal handler jumps away between the two, the next event that looks at
 * the entry compares the receipt with the ring and knows (fg_settle). An entry whose ENTRY was never written has no
 * running body: its writer starts over, or will never come back.
 *
 * Concurrency. Only its own task changes a thread's array: push and pop are one section or instruction each that fails
 * if a handler left an entry on top (ring.S, trace.S; cmpxchg). One exception: a coroutine that returns on another
 * thread takes its entry from wherever it is by swapping the slot for FG_NO_SLOT, under the lock. Work on both sides of
 * a write, or with the set-aside table, is done under the lock with signals blocked. Slow events without rseq have all
 * signals blocked from beginning to end.
 *
 * Invariants, each held by a test in tests/unit or tests/stress/ring:
 *  1. While a slot on some stack has a hook, some entry has its parent. UFT_CNT_LOST_RETURN.
 *  2. In every task's records, EXIT ends the innermost open call and UNWIND(n) the n innermost.
 *  3. An exit works under any tracer, with recording off, in fork children that are not followed.
 *
 * Different from the kernel: its ret_stack is an array indexed by depth, which is enough where nothing jumps.
 *
 * Sections: leaving, entering, leaving by return. Receipts, and finding entries: shadow/shadow.c.
 */
#include "runtime/trace/tracers/tracers.h"

#define FG_TRIES 1000		/* each repetition means that a signal handler came in between */

/* ---- Leaving ------------------------------------------------------------------------------ */

/*
 * A call at @slot begins. The calls that it leaves are determined again under the lock, because handlers may have come
 * before.
 */
static void fg_leave(struct trace_task *t, uint64_t slot, uint64_t parent)
{
	task_lock(t);
	fg_leave_locked(t, fg_keep(t, t->th->top, slot, parent));
	task_unlock(t);
}

/* Is this the first call on a signal stack above everything on the array, which ends at @top? Then nothing was left. */
static int fg_opens_alt(struct trace_task *t, const struct fg_entry *top, uint64_t slot)
{
	struct uft_thread *th = t->th;
	struct plat_stack ss;

	if (th->flags & TH_ALT || thread_signal_stack(th, &ss) || !ss.is_on || slot - ss.lo >= ss.bytes ||
	    top[-1].slot - ss.lo < ss.bytes)
		return 0;
	th->alt_low = ss.lo; /* GUARD(signal_stack_low, return 0) */
	th->alt_high = ss.lo + ss.bytes;
	return 1;
}

/*
 * The sentinel below the array bounds the stack that the thread usually runs on, so that the first call on a signal
 * stack above it is noticed also if the array is empty. libc puts the data at the thread pointer on top of a thread's
 * stack; where that is not so (main thread, coroutines) there is no bound. Returns FG_ALT or 0.
 */
static uint32_t fg_check_bound(struct trace_task *t, uint64_t slot)
{
	uint64_t *bound = &t->th->base[-1].slot;

	if (!*bound)
		*bound = slot < t->tp ? t->tp : ~0ull;
	if (slot < *bound)
		return 0;
	if (fg_opens_alt(t, t->th->base, slot))
		return FG_ALT;
	*bound = ~0ull;
	return 0;
}

/* ---- Entering ----------------------------------------------------------------------------- */

static int fg_push(struct trace_task *t, struct fg_entry *top, const struct fg_entry *e)
{
	if (ARCH_HAS_RSEQ && t->rseq)
		return uft_asm_push(t->th, top, e);
	*top = *e;			/* signals are blocked */
	uft_store(&t->th->top, top + 1);
	return 1;
}

/* Writes the ENTRY of the top entry. 0: a handler left an entry on top. */
static int fg_record_entry(struct trace_task *t, struct fg_entry *e, uint64_t key)
{
	struct ring_op op = {
		.word0 = e->receipt.word, .bytes = 8, .key = key, .receipt = &e->receipt, .clock = &e->clock,
		.guard = (const uint64_t *)&t->th->top, .expect = (uint64_t)(e + 1),
	};
	int ret = task_write(t, &op);

	if (ret == RING_GUARD)
		return 0;
	if (ret != RING_WRITTEN)
		arch_local_or32(&e->flags, FG_SILENT);
	uft_barrier();
	e->receipt.where = 0;
	return 1;
}

/* One attempt. @act: the site's; @args: as in event.c, NULL: not known. 1: accepted, 0: declined, -1: try again. */
static int fg_try_enter(struct trace_task *t, const struct uft_tracer_params *p, struct fg_entry *e,
			const struct uft_action *act, const uint64_t *args)
{
	struct uft_thread *th = t->th;
	struct fg_entry *top = uft_load(&th->top), *keep = fg_keep(t, top, e->slot, e->parent);
	uint32_t flags = 0, alt;
	int is_handler = 0;

	if (keep != top) {
		if (!fg_opens_alt(t, top, e->slot)) {
			fg_leave(t, e->slot, e->parent);
			return -1;
		}
		flags |= FG_ALT;
	} else if (top == th->base) {
		flags |= fg_check_bound(t, e->slot); /* GUARD(fg_try_enter_flags) */
	}
	alt = flags;
	if (!fg_choose(t, p, top, e, act->ops, &flags, &is_handler)) {
		if (!(p->has_events & UFT_EVENTS_PROFILE) || !profile_is_wanted(p, act->ops))
			return 0;
		/* Calls below it are to the graph as if this call were not there. */
		flags = alt | FG_SILENT | FG_NOT_GRAPH | (top > th->base ? top[-1].flags & (FG_INSIDE | FG_HIDDEN) : 0);
	}
	if (p->has_events & UFT_EVENTS_PROFILE)
		flags |= profile_is_wanted(p, act->ops) ? FG_PROFILE : FG_PASS;
	if (top >= th->limit) { /* GUARD(fg_try_enter_top) */
		trace_count(UFT_CNT_SHADOW_FULL, 1);
		th->overruns++;
		if (top > th->base)	/* its end, by the slow path, writes that */
			arch_local_or32(&top[-1].flags, FG_OVERRUN);
		return 0;
	}
	if (args && fg_is_recorded(flags))
		flags |= event_flags(p, act->ops);
	if (p->has_events & UFT_EVENTS_CPU && (fg_is_recorded(flags) || flags & (FG_CALL | FG_PROFILE)) &&
	    !(flags & FG_SCRATCH)) {
		th->cpu_ns[top - th->base] = plat_cpu_ns();
		flags |= FG_CPU;
	}
	e->flags = flags | (t->guest ? FG_GUEST : 0);
	e->receipt.where = fg_is_recorded(flags) ? FG_NOT_WRITTEN : 0;
	e->clock = arch_clock();
	e->child = flags & FG_KEEP ? act->limit : 0;
	if (!fg_push(t, top, e))
		return -1;
	if (flags & FG_ALT) {
		arch_local_or32(&th->flags, TH_ALT);
		ring_forget(th->tp);
	}
	if (flags & FG_SCRATCH && !keep_entry(t, top))
		return -1;
	if (fg_is_recorded(flags) && !(flags & FG_SCRATCH) &&
	    !fg_record_entry(t, top, trace_graph_is_fast() ? t->key : 0))
		return -1;
	if (top->flags & (FG_SILENT | FG_SCRATCH))	/* readers would take the result for the caller's */
		arch_local_clear32(&top->flags, FG_EVENT);
	else if (p->has_events)
		event_enter(t, p, top, act->ops, args, is_handler);
	if (args && p->stacks && !(top->flags & (FG_SILENT | FG_SCRATCH)) &&
	    (p->stacks & UFT_STACKS_ENTRY || stack_is_wanted(p, fg_id(top))) &&
	    !(p->has_events & UFT_EVENTS_FUNC && act->ops & UFT_ACT_FUNC))
		stack_write(t, fg_id(top), top->slot, args[SAVED_FP - SAVED_ARGS]);
	if (flags & FG_PROFILE)
		profile_hit(t, fg_id(e));
	return 1;
}

/* From now on fast paths may pass by calls that are too deep, or push and pop calls that are not too long. */
static void fg_know_stack(const struct trace_task *t)
{
	if ((ARCH_HAS_LIMITS || ARCH_HAS_SUMS) && t->rseq && t->th && !t->guest && !t->mute &&
	    trace_graph_path() >= GRAPH_DEPTH)
		uft_asm_know_stack(t->th, t->key);
}

/*
 * Is the graph off for the calling thread, until an event switches it on, and does no other tracer want the call? Then
 * the call costs no more than this check. A thread with open calls, or a fork child that is not known yet, takes the
 * slow path.
 */
static int fg_is_off(void)
{
	const struct uft_tracer_params *p = trace_params();
	const struct uft_thread *th;

	if (p->has_roots != UFT_ROOTS_TRIGGER || p->has_events & (UFT_EVENTS_FUNC | UFT_EVENTS_PROFILE) ||
	    uft_load(ring_state()) != RING_LIVE)
		return 0;
	th = thread_find(arch_thread_pointer());
	return th && th->top == th->base && !graph_is_on(th, p);
}

static int fg_enter(uint32_t id, uint64_t slot, uint64_t parent, uint64_t ret, const uint8_t *stub,
		    const uint64_t *args)
{
	struct fg_entry e = {
		.slot = slot, .parent = parent, .ret = ret,
		.receipt.word = UFT_REC_WORD(UFT_REC_ENTRY, id, 0),
	};
	const struct uft_tracer_params *p;
	const struct uft_action *act;
	struct trace_task t;
	int accepted = 0;

	if (trace_is_out() || fg_is_off())
		return 0;
	task_begin(&t);
	p = trace_params();
	if (!t.th || t.mute || !trace_is_recording() ||
	    (p->tracer != UFT_TRACER_GRAPH && p->tracer != UFT_TRACER_PROFILE) || !trace_task_is_wanted(&t, p))
		goto out;
	/* There was no memory for a state of its own. */
	if (t.guest && t.th->flags & TH_SHARED) {
		trace_count(UFT_CNT_SHARED_TP, 1);
		goto out;
	}
	if (t.th->flags & TH_RESTORED)
		unwind_rehook(&t, e.slot, e.parent);
	act = trace_action(p, stub[UFT_STUB_BYTES - 1]);
	if (p->has_events & UFT_EVENTS_FUNC && act->ops & UFT_ACT_FUNC)
		func_beside(&t, p, &e, args);
	accepted = -1;
	for (int i = 0; i < FG_TRIES && accepted < 0; i++)
		accepted = fg_try_enter(&t, p, &e, act, args);
	fg_know_stack(&t);
out:
	task_end(&t);
	return accepted > 0;
}

/*
 * Called by trace.S. id: of the stub; slot: address of the parent. 1: the entry has the parent, and the caller writes
 * the hook into the slot. 0: leave the call alone. Context: probe.
 */
#if ARCH_SLOT_IN_MEMORY
int uft_enter_slow(uint32_t value, uint64_t *slot, const uint8_t *stub);
int uft_enter_slow(uint32_t value, uint64_t *slot, const uint8_t *stub)
{
	return fg_enter(value & UFT_REC_VALUE_MAX, (uint64_t)slot, *slot, (uint64_t)stub + ARCH_STUB_RETURN, stub,
			slot + SAVED_ARGS);
}

int uft_mcount_enter_slow(uint32_t value, uint64_t *slot, const uint8_t *stub);
int uft_mcount_enter_slow(uint32_t value, uint64_t *slot, const uint8_t *stub)
{
	return fg_enter(value & UFT_REC_VALUE_MAX, (uint64_t)slot, *slot, (uint64_t)uft_asm_mcount_return, stub, NULL);
}
#else
int uft_enter_slow(uint32_t value, uint64_t slot, const uint8_t *stub, uint64_t parent, const uint64_t *args);
int uft_enter_slow(uint32_t value, uint64_t slot, const uint8_t *stub, uint64_t parent, const uint64_t *args)
{
	return fg_enter(value & UFT_REC_VALUE_MAX, slot, parent, (uint64_t)stub + ARCH_STUB_RETURN, stub, args);
}

/*
 * Behind a prologue. @base: the register by which arch_mcount_slot() finds the return address; @parent: mcount's
 * argument, which must be that address, if mcount has an argument. The frame's name is as at entry sites. Context:
 * probe.
 */
void uft_mcount_enter_named(uint32_t value, const uint8_t *stub, uint64_t base, uint64_t parent);
void uft_mcount_enter_named(uint32_t value, const uint8_t *stub, uint64_t base, uint64_t parent)
{
	uint32_t frame = arch_mcount_stub_frame((const uint32_t *)stub);
	uint64_t name, *slot = arch_mcount_slot(frame, base, &name);
	uint64_t hook = (uint64_t)stub + ARCH_STUB_RETURN;

	if (*slot != parent && !(frame & ARCH_FRAME_BARE))
		trace_count(UFT_CNT_NO_SLOT, 1);
	else if (fg_enter(value & UFT_REC_VALUE_MAX, name, *slot, hook, stub, NULL))
		*slot = hook;
}
#endif

/* ---- Leaving by return -------------------------------------------------------------------- */

/*
 * Writes the record of a call's end: kind is EXIT or, for an entry that was set aside, EXIT_LEFT. @guard: the top that
 * must still be there. 0: it is not.
 */
static int fg_record_exit(struct trace_task *t, struct fg_entry *e, enum uft_rec_kind kind, struct fg_entry *guard)
{
	struct ring_op op = { .word0 = UFT_REC_WORD(kind, fg_id(e), 0), .bytes = 8 };
	uint64_t duration;

	if (guard) {
		op.guard = (const uint64_t *)&t->th->top;
		op.expect = (uint64_t)guard; /* GUARD(exit_guard, op.guard = NULL) */
	}
	if (e->flags & FG_SCRATCH) {
		/* Its root may have ended: the scratch buffer has no EXIT_LEFT. */
		return !(fg_is_recorded(e->flags) && kind == UFT_REC_EXIT) || keep_exit(t, e);
	}
	if (fg_is_recorded(e->flags)) {
		if (kind == UFT_REC_EXIT) {
			op.receipt = &e->receipt;
			op.key = trace_graph_is_fast() ? t->key : 0;
		} else {
			op.word1 = e->clock;
			op.bytes = 16;
			op.key = fg_own_key(t);
		}
		return task_write(t, &op) != RING_GUARD;
	}
	duration = e->flags & FG_CALL ? event_duration(t, e) : 0;
	if (e->flags & FG_CALL && duration >= trace_params()->thresh) {
		op.word0 = UFT_REC_WORD(UFT_REC_CALL, fg_id(e), 0);
		op.word1 = e->flags & FG_CPU ? arch_clock() - duration : e->clock;
		op.bytes = 16;
		op.flags = RING_OP_SINCE;
		return task_write(t, &op) != RING_GUARD;
	}
	return 1;
}

/* The usual case: the entry below @top returns. 0: try again, because the top has changed. */
static int fg_exit_top(struct trace_task *t, struct fg_entry *top, uint64_t *parent, const uint64_t *result)
{
	struct fg_entry *e = top - 1;

	fg_settle(e);
	if (e->flags & FG_KEEP)
		return keep_exit_root(t, top, parent);
	if (e->flags & (FG_PROFILE | FG_PASS)) {
		if (!t->mute && trace_is_recording())
			profile_exit(t, e, e > t->th->base ? e - 1 : NULL);
		/* once, even if the exit has to be tried again */
		arch_local_clear32(&e->flags, FG_PROFILE | FG_PASS);
	}
	if (fg_is_recorded(e->flags) && e->flags & (FG_EVENT | FG_CPU | FG_OVERRUN) && !(e->flags & FG_SCRATCH) &&
	    !t->mute && trace_is_recording() && !event_leave(t, e, result))
		return 0;
	if (!t->mute && trace_is_recording() && !fg_record_exit(t, e, UFT_REC_EXIT, top))
		return 0;
	/* Cleared, in case the pop fails. */
	arch_local_clear32(&e->flags, FG_CALL);
	*parent = e->parent;		/* into the slot before the pop, for a walk that begins in between */
	if (ARCH_HAS_OWN && !t->rseq)	/* signals are blocked: no event asks the receipt any more */
		e->receipt.where = 0;
	/* GUARD(pop_compares_slow, (uft_store(&t->th->top, e), 0)) */
	if (!arch_local_cas(&t->th->top, (uint64_t)top, (uint64_t)e))
		return 0;
	if (e->flags & FG_ALT)
		arch_local_clear32(&t->th->flags, TH_ALT);
	fg_free(e);
	return 1;
}

/* Is the entry of another task that shares the thread pointer? */
static int fg_is_sharers(const struct trace_task *t, const struct fg_entry *e)
{
	struct uft_thread *host = t->th ? t->th->host : NULL;

	for (struct uft_thread *th = host ? thread_first() : NULL; th; th = th->next)
		if (th != t->th && (th == host || th->host == host) && fg_is_on_array(th, e))
			return 1;
	return 0;
}

/* The entry is not the top: calls were left, or this frame was. 0: try again from the top. */
static int fg_exit_elsewhere(struct trace_task *t, uint64_t slot, uint64_t *parent)
{
	struct fg_entry *e, found;
	int done = 1;

	task_lock(t);
	e = fg_find(slot, 0, FG_AGE_ANY, NULL);
	if (!e) {
		*parent = 0;
		trace_count(UFT_CNT_LOST_RETURN, 1);
		goto out;
	}
	if (fg_is_on_array(t->th, e) && !!(e->flags & FG_GUEST) == t->guest) {
		fg_leave_locked(t, e + 1);
		done = 0;
		goto out;
	}
	*parent = e->parent;
	/* A vfork child returns through its parent's frame: the parent will return there, too. */
	if (fg_is_on_array(t->th, e))
		goto out;
	if (fg_is_sharers(t, e)) {
		trace_count(UFT_CNT_SHARED_TP, 1);
		goto out;
	}
	found = *e;
	fg_settle(&found);
	if (t->th) {
		struct fg_entry *keep = fg_keep(t, t->th->top, slot, 0);

		if (keep != t->th->top)
			fg_leave_locked(t, keep);
	}
	/* Leaving may have replaced or unhooked the entry in the table; this copy is good. */
	if (e->slot == slot && e->clock == found.clock && e->place == found.place) {
		if (aside_find(slot, 0, FG_AGE_ANY) == e)
			aside_remove(e);
		else
			uft_cas(&e->slot, slot, FG_NO_SLOT);
	}
	if (!t->mute && trace_is_recording()) {
		if (found.flags & FG_PROFILE)
			profile_exit(t, &found, NULL);
		fg_record_exit(t, &found, UFT_REC_EXIT_LEFT, NULL);
	}
out:
	task_unlock(t);
	return done;
}

/*
 * The exit of a process that is out (seccomp.c): without system calls or the clock, hence without the lock. No call is
 * entered any more. A return finds the newest entry for its slot, and marks it, so that of tail calls at one place the
 * caller is found next.
 */
static void fg_exit_out(uint64_t slot, uint64_t *parent)
{
	struct uft_thread *th = thread_find(arch_thread_pointer());
	struct fg_entry *e = th ? th->top - 1 : NULL;

	if (e && e >= th->base && e->slot == slot) {
		*parent = e->parent;
		uft_store(&th->top, e);
		return;
	}
	e = fg_find(slot, 0, FG_AGE_ANY, NULL);
	*parent = e ? e->parent : 0;
	if (e)
		uft_cas(&e->slot, slot, FG_SLOT_MIN);
}

/*
 * Called by trace.S: the call whose return address was at @slot has returned. Writes the true return address there; 0
 * if there is no entry, which cannot happen (invariant 1): the program faults then. Context: probe.
 */
static void fg_exit(uint64_t slot, uint64_t *parent, const uint64_t *result)
{
	struct trace_task t;
	int done = 0;

	if (trace_is_out()) {
		fg_exit_out(slot, parent);
		return;
	}
	task_begin(&t);
	if (t.th && t.th->flags & TH_RESTORED)
		unwind_rehook(&t, slot - 8, 0);	/* before the exit: its own entry is still needed */
	while (!done) {
		struct fg_entry *top = t.th ? uft_load(&t.th->top) : NULL;

		if (top && top[-1].slot == slot && fg_is_ours(&t, top - 1))
			done = fg_exit_top(&t, top /* GUARD(exit_top, uft_load(&t.th->top)) */, parent, result);
		else
			done = fg_exit_elsewhere(&t, slot, parent);
	}
	fg_know_stack(&t);
	task_end(&t);
}

void uft_exit_slow(uint64_t *slot);
void uft_exit_slow(uint64_t *slot)
{
	fg_exit((uint64_t)slot, slot, slot + SAVED_RESULT);
}

/* The same for a frame that is named by its stack pointer; the true return address is returned in a register. */
uint64_t uft_exit_named(uint64_t sp, const uint64_t *result);
uint64_t uft_exit_named(uint64_t sp, const uint64_t *result)
{
	uint64_t parent = 0;

	fg_exit(sp, &parent, result);
	return parent;
}
