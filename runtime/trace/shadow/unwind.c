/* SPDX-License-Identifier: MIT */
/*
 * unwind.c - true return addresses on the stack while an unwinder walks it
 *
 * An unwinder that meets a hooked return address finds no table for it and gives up: terminate() for an exception, a
 * short backtrace otherwise. So the unwinder's entry points are hooked, and before it starts the true addresses are
 * written back to the stack: into the slots (unwind_slots.c) or, where a slot is a name only, to where the function has
 * saved its own (unwind_named.c). Returns of these frames meanwhile are not seen.
 *
 * The task's next graph event from above the unwinder writes the hooks back: into slots above that event that still
 * have the true address. The first slot that has not, and all entries from it on, were left (UNWIND). Events below the
 * unwinder come from functions that it calls (a personality routine, malloc): it is still walking.
 *
 * A signal handler's stack may lie above the interrupted one. Then frames that lie below are not below the unwinder:
 * the lower end of the handler's stack (unwind_low) tells which.
 *
 * Entries in the set-aside table are restored as well if they lie on the stack above the unwinder, as the frames of a
 * resumed coroutine do. They stay restored, because their calls were closed when they were set aside. They stay in the
 * table, so that a frame that is returning on another thread at this moment is found.
 */
#include "runtime/trace/shadow/shadow.h"

#define UNWIND_REACH	(16u << 20)	/* a resumed coroutine's stack */

/* The lower end of the signal stack that @sp is on, if frames of @th lie below that stack; else 0. */
static uint64_t unwind_stack(const struct uft_thread *th, uint64_t sp)
{
	struct plat_stack ss;

	if (th->top == th->base || th->base->slot > sp || thread_signal_stack(th, &ss) || sp - ss.lo >= ss.bytes)
		return 0;
	return ss.lo;
}

/*
 * Behind the end of a thread's own stack the next thread's stack begins, and that thread runs: a slot read there may
 * have that thread's own word by the time that it is written.
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
			/* older entries at the same slots are dead, and come too late to be restored */
		unwind_restore_aside((uint64_t)sp, unwind_reach(th, (uint64_t)sp)); /* GUARD(unwind_restores_aside) */
			/*
			 * Several cleanups without an event between them: nothing is left to restore, but each walk
			 * begins further out than the last.
			 */
		if (restored || th->flags & TH_RESTORED) {
			if (!(th->flags & TH_RESTORED) ||
			    (uint64_t)sp - th->unwind_low >= th->unwind_sp - th->unwind_low) {
				/* Of one walk inside another the outer one counts, wherever it is. */
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
