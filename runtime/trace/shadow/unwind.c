/* SPDX-License-Identifier: MIT */
/*
 * unwind.c - true return addresses on the stack while an unwinder walks it
 *
 * An unwinder that meets one of our return addresses finds no table for it and gives up: terminate() for an
 * exception, a short backtrace otherwise. So its entry points are hooked, and before it starts the true
 * addresses go back onto the stack: into the slots (unwind_slots.c) or, where a slot is a name only, to where
 * the function has put its own (unwind_named.c). Frames that return meanwhile return unseen.
 *
 * The task's next graph event that comes from above the unwinder puts the hooks back: into slots above that event
 * which still hold the true address. From the first that does not on, the frames were left (UNWIND). Events
 * below the unwinder come from what it calls (a personality routine, malloc): it is still walking.
 *
 * A handler on a signal stack that lies above the interrupted one has frames below that are not below the unwinder: its
 * stack's lower end (unwind_low) tells which.
 *
 * Entries in the set-aside table are restored as well when they lie on the stack above the unwinder, as the frames of a
 * resumed coroutine do, and stay restored: their calls were closed when they were set aside. They stay in the
 * table, so that one that is returning on another thread at this moment is found.
 */
#include "runtime/trace/shadow/shadow.h"

#define UNWIND_REACH	(16u << 20)	/* a resumed coroutine's stack */

/* The lower end of the signal stack that @sp is on, if frames of @th lie below it; else 0. */
static uint64_t unwind_stack(const struct uft_thread *th, uint64_t sp)
{
	struct plat_stack ss;

	if (th->top == th->base || th->base->slot > sp || thread_signal_stack(th, &ss) || sp - ss.lo >= ss.bytes)
		return 0;
	return ss.lo;
}

/*
 * Behind the end of a thread's own stack begins the next thread's, which runs: a slot that was read there may be
 * that thread's own word by the time that it is written.
 */
uint64_t unwind_reach(const struct uft_thread *th, uint64_t sp)
{
	const uint64_t end = th->base[-1].slot ? th->base[-1].slot : th->tp;	/* graph.c, fg_check_bound() */

	return end > sp && end - sp < UNWIND_REACH ? end - sp /* GUARD(unwind_reach, UNWIND_REACH) */ : UNWIND_REACH;
}

void trace_hook_unwind(void *sp, uint64_t *frame)
{
	struct trace_task t;

	if (trace_is_out())
		return;
	task_begin(&t);
	if (t.th) {
		struct uft_thread *th = t.th;
		uint32_t restored;

		task_lock(&t);
		restored = unwind_restore_array(th, (uint64_t)sp, frame);
		/* older ones at the same slots are dead: they come too late */
		unwind_restore_aside((uint64_t)sp, unwind_reach(th, (uint64_t)sp)); /* GUARD(unwind_restores_aside) */
		/*
		 * Cleanup after cleanup without an event: nothing is left to restore, but each walk begins
		 * further out than the last.
		 */
		if (restored || th->flags & TH_RESTORED) {
			if (!(th->flags & TH_RESTORED) ||
			    (uint64_t)sp - th->unwind_low >= th->unwind_sp - th->unwind_low) {
				/* Of one walk in another the outer one counts, wherever. */
				th->unwind_low = th->flags & TH_RESTORED ? 0 : unwind_stack(th, (uint64_t)sp);
				th->unwind_sp = (uint64_t)sp;
			}
			arch_local_or32(&th->flags, TH_RESTORED);
			ring_forget(th->tp);
		}
		task_unlock(&t);
	}
	task_end(&t);
}

void unwind_rehook(struct trace_task *t, uint64_t slot, uint64_t parent)
{
	struct uft_thread *th = t->th;
	struct fg_entry *e, *keep;

	if ((slot <= th->unwind_sp && slot >= th->unwind_low) || trace_is_leaving())
		return;
	task_lock(t);
	keep = fg_keep(t, th->top, slot, parent);
	for (e = th->base; e < keep; e++) {
		if (!(e->flags & FG_RESTORED))
			continue;
		if (!unwind_rehook_entry(e, keep))
			break;
		arch_local_clear32(&e->flags, FG_RESTORED);
	}
	if (e < th->top)
		fg_leave_locked(t, e);
	arch_local_clear32(&th->flags, TH_RESTORED);
	task_unlock(t);
}
