/* SPDX-License-Identifier: MIT */
/*
 * way_out.c - unhook all frames, so that no frame of the program returns through the runtime any more
 *
 * The slot of every living entry, on all arrays and in the set-aside table, gets its true return address back, by a
 * compare-and-swap with the hook. Entries stay where they are: a thread that has taken the hook from the slot just
 * before, and is on its way through the exit handler, finds its entry and goes where the swap would have sent it. So a
 * tail call's slot gets at once the address to which its last caller returns: fg_true_parent().
 *
 * The session relies on this (control/detach/detach.c): only the enter handlers write a hook into a slot, and none does
 * after trace_leave(). So when every task has been seen outside of the runtime after that, no slot is filled any more,
 * and after one trace_unhook() none has a hook. When every task has been seen outside again, none returns to the
 * runtime.
 *
 * A stack may be unmapped between the look at a slot and the swap. The agent's own handler for SIGSEGV (it shares no
 * handlers with the program) makes it go on behind the swap: uft_asm_swap8().
 */
#include "runtime/trace/shadow/shadow.h"

#define PASSES	8	/* a thread that returns from a tail call writes its caller's hook into the slot */

static uint32_t leaving;	/* 1: for good */

void trace_leave(void)
{
	uft_store_release(&leaving, 1);
}

int trace_is_leaving(void)
{
	return (int)uft_load_acquire(&leaving);
}

/* The content of the slot decides, not @e: of several entries with that hook the newest counts (graph.c). */
static uint32_t unhook(const struct fg_entry *e)
{
	uint64_t slot = uft_load(&e->slot), now;

	if (!ARCH_SLOT_IN_MEMORY || slot <= FG_SLOT_MIN || plat_peek((const void *)slot, &now, 8) || now != e->ret)
		return 0;
	return (uint32_t)uft_asm_swap8((uint64_t *)slot, now, fg_true_parent(slot, now, e));
}

/* From the top down, so that fg_true_parent() need not look at entries that are done. */
static uint32_t unhook_array(struct uft_thread *th)
{
	uint32_t n = 0;

	for (struct fg_entry *e = uft_load_acquire(&th->top); e-- > th->base;)
		n += unhook(e);
	return n;
}

static uint32_t unhook_all(void)
{
	uint32_t n = 0;

	for (struct fg_entry *e = NULL; (e = aside_next(e));)
		n += unhook(e); /* GUARD(unhook_all) */
	for (struct uft_thread *th = thread_first(); th; th = th->next)
		n += unhook_array(th);
	return n;
}

uint32_t trace_unhook(void)
{
	struct trace_task t = { .mute = 1, .blocked = 1, .tid = (uint32_t)plat_tid() };
	uint32_t all = 0, n = 1;

	task_lock(&t);
	for (int i = 0; i < PASSES && n; i++)
		all += n = unhook_all();
	task_unlock(&t);
	return all;
}
