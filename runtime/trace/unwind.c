/* SPDX-License-Identifier: MIT */
/*
 * unwind.c - true return addresses on the stack while an unwinder walks it
 *
 * An unwinder that meets one of our return addresses finds no table for it and gives up: terminate() for an
 * exception, a short backtrace otherwise. So its entry points are hooked, and before it starts the true addresses go
 * back into the slots. Frames that return meanwhile return unseen.
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
#include "runtime/trace/trace.h"

#define UNWIND_REACH	(16u << 20)	/* set-aside entries so far above the unwinder may be on its stack */
#define OWN_STACK	8192u		/* below the unwinder: our own frames */
#define BATCH		32

/* Reads the slots of up to BATCH entries from @e on; returns how many could be read. */
static uint32_t unwind_peek(const struct fg_entry *e, uint32_t n, uint64_t *values)
{
	struct plat_range slot[BATCH];
	long got;

	for (uint32_t i = 0; i < n; i++)
		slot[i] = (struct plat_range){ e[i].slot, 8 };
	got = plat_peek_ranges(slot, n, values);
	return got < 0 ? 0 : (uint32_t)got / 8;
}

static int unwind_restore_entry(struct fg_entry *e)
{
	uint64_t *slot = (uint64_t *)e->slot;

	if (*slot != e->ret)
		return 0;
	*slot = e->parent;
	arch_local_or32(&e->flags, FG_RESTORED);
	return 1;
}

/* Top down, so that a tail call's slot gets its caller's hook and then that one's parent. */
static uint32_t unwind_restore_array(struct uft_thread *th, uint64_t sp)
{
	struct fg_entry *e = th->top;
	uint64_t values[BATCH];
	uint32_t restored = 0;

	while (e > th->base) {
		uint32_t n = e - th->base < BATCH ? (uint32_t)(e - th->base) : BATCH, readable;

		e -= n;
		readable = unwind_peek(e, n, values);
		for (uint32_t i = n; i-- > 0;) {
			if (e[i].slot == FG_NO_SLOT || sp - e[i].slot - 1 < OWN_STACK)
				continue;
			if (readable == n || !plat_peek((const void *)e[i].slot, values, 8))
				restored += (uint32_t)unwind_restore_entry(&e[i]);
		}
	}
	return restored;
}

/* The lower end of the signal stack that @sp is on, if frames of @th lie below it; else 0. */
static uint64_t unwind_stack(const struct uft_thread *th, uint64_t sp)
{
	struct plat_stack ss;

	if (th->top == th->base || th->base->slot > sp || plat_signal_stack(&ss) || sp - ss.lo >= ss.bytes)
		return 0;
	return ss.lo;
}

static void unwind_restore_aside(uint64_t sp)
{
	for (struct fg_entry *e = NULL; (e = aside_next(e));) {
		uint64_t now;

		if (e->slot - sp >= UNWIND_REACH || plat_peek((const void *)e->slot, &now, 8) || now != e->ret)
			continue;
		*(uint64_t *)e->slot = fg_true_parent(e->slot, now, e);
		arch_local_or32(&e->flags, FG_RESTORED);
	}
}

void trace_hook_unwind(void *sp)
{
	struct trace_task t;

	task_begin(&t);
	if (t.th) {
		struct uft_thread *th = t.th;
		uint32_t restored;

		task_lock(&t);
		restored = unwind_restore_array(th, (uint64_t)sp);
		unwind_restore_aside((uint64_t)sp);	/* older ones at the same slots are dead: they come too late */
		if (restored) {
			if (!(th->flags & TH_RESTORED) || (uint64_t)sp - th->unwind_low >= th->unwind_sp - th->unwind_low) {
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
	keep = fg_keep(t, slot, parent);
	for (e = th->base; e < keep; e++) {
		uint64_t now = 0;

		if (!(e->flags & FG_RESTORED))
			continue;
		if (plat_peek((const void *)e->slot, &now, 8))
			break;
		/* A tail call's: it was being entered, or on its way out, when the walk began, and only its caller's was restored. */
		if (!fg_is_its_hook(e, keep, now)) {
			if (now != e->parent)
				break;
			*(uint64_t *)e->slot = e->ret;
		}
		arch_local_clear32(&e->flags, FG_RESTORED);
	}
	if (e < th->top)
		fg_leave_locked(t, e);
	arch_local_clear32(&th->flags, TH_RESTORED);
	task_unlock(t);
}
