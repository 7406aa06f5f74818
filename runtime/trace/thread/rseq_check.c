/* SPDX-License-Identifier: MIT */
/*
 * rseq_check.c - decide whether a thread may write the ring of its CPU, where fast paths write rings of their threads
 *
 * A thread may have no ring of its own (ring/thread_rings.c: there are few, for fast paths only). Then C code writes
 * its events: if the kernel restarts its sections (ring.S), to the ring of its CPU, with signals as they are; else to
 * an exchange ring, with signals blocked.
 *
 * Identity. New threads and vfork() are not hooked here (ARCH_HAS_HOOKS), and a task that runs on the thread pointer of
 * another finds that one's registration. So each event compares the task's number with the noted one: libc's number,
 * where no task shares the thread pointer of its maker (uft_slice.no_sharers), else the kernel's, by one system call. A
 * different task begins as in task_begin().
 *
 * Registration. libc registers a new thread while that already runs, in memory where the CPU number of an earlier
 * thread may remain. So the number proves nothing, and a thread that the kernel does not restart would destroy records
 * of others in that ring. The kernel itself is tested: rseq_cs is set to a section in which no thread can be. The
 * kernel clears it when it takes the CPU from a registered thread, and never changes the memory of another task. Until
 * then events go to exchange rings.
 *
 * The result is final for a thread: no thread registers anew, and a fork child inherits the registration.
 */
#include "runtime/trace/thread/thread.h"

#if ARCH_HAS_OWN

/* in uft_thread.sections: proved; 0: not asked; else the number of events since */
#define IS_KNOWN	(~0u)
/* a thread that is alone on its CPU sleeps once, so that the kernel takes the CPU from it */
#define NAP_AT		8u
#define OWN_EVERY	1024u		/* events between two looks for a ring of the thread's own */

static uint32_t number_of(uint64_t tp)
{
	const int32_t offset = uft_load(&uft_rt.slice->tid_offset);

	if (offset && uft_load(&uft_rt.slice->no_sharers))
		return *(const volatile uint32_t *)(tp + (uint64_t)(int64_t)offset);
	return (uint32_t)plat_tid();
}

static int may_have(void)
{
	return ARCH_HAS_RSEQ && !uft_rt.is_emulated && ring_has_rseq();
}

int sections_begin(struct trace_task *t)
{
	t->key = ring_key(t->tp);	/* first: a later generation voids it */
	if (!may_have() || uft_load_acquire(ring_state()) != RING_LIVE)
		return 0;
	t->th = thread_find(t->tp);
	if (!t->th || t->th->sections != IS_KNOWN || t->th->host || own_has(t->th->owner) ||
	    number_of(t->tp) != t->th->owner)
		return 0;
	t->tid = t->th->owner;
	t->pid = uft_rt.slice->pid;
	t->mute = 0;
	t->rseq = 1;
	return 1;
}

void sections_ask(struct trace_task *t)
{
#if ARCH_HAS_RSEQ
	struct uft_thread *th = t->th;
	uint64_t *cs;

	if (!may_have() || th->sections == IS_KNOWN || th->host || th->owner != t->tid)
		return;
	cs = (uint64_t *)(t->tp + (uint64_t)uft_ring_fast.rseq_offset + RSEQ_CS);
	if (!th->sections)
		uft_store(cs, (uint64_t)uft_asm_nowhere_cs);
	else if (th->sections == NAP_AT)
		plat_nap(1);
	if (th->sections && uft_load(cs) != (uint64_t)uft_asm_nowhere_cs)
		th->sections = IS_KNOWN;
	else if (th->sections <= NAP_AT)
		th->sections++;
#else
	(void)t;
#endif
}

int sections_want_own(struct uft_thread *th)
{
	if (!uft_load(&uft_rt.slice->tid_offset) || th->own_wait++ % OWN_EVERY)
		return 0;
	return 1;
}

#endif
