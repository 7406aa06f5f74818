/* SPDX-License-Identifier: MIT */
/*
 * trace.h - types that all folders below runtime/trace share: a call on a shadow stack, a thread, a task during an
 * event
 *
 * A folder includes headers of its own and of lower folders: thread < shadow < tracers < hooks. A thread's state holds
 * its shadow stack, so thread.c calls the few functions of shadow/ that are declared here. Theory in tracers/graph.c
 * (shadow stack) and thread/thread.c (threads).
 */
#ifndef UFT_TRACE_H
#define UFT_TRACE_H

#include "program/program.h"
#include "program/quick.h"
#include "runtime/platform/platform.h"
#include "runtime/ring/ring.h"
#include "runtime/runtime.h"
#include "runtime/trace/layout.h"

#define UFT_NO_TID	0xffffffffu	/* never a ring's context */
#define FG_NO_SLOT	0u		/* slot of an entry that another thread has taken */
#define FG_SLOT_MIN	1u		/* all slots are above it; FG_NO_SLOT, or a tombstone of the set-aside table */
#define FG_NOT_WRITTEN	1u		/* receipt.where: pushed, not written yet */

/* the flags in layout.h are those that fast paths know: they push 0, FG_CALL | FG_SILENT and FG_PROFILE | FG_SILENT */
enum fg_flags {
	FG_INSIDE	= 8,		/* below a root, or a root itself */
	FG_ALT		= 16,		/* the first on a signal stack that lies above the interrupted one */
	FG_GUEST	= 32,		/* pushed by a task that borrows the thread pointer (vfork child) */
	FG_SCRATCH	= 128,		/* recorded in the scratch buffer, not in a ring (keep_slow.c) */
	FG_KEEP		= 256,		/* the root that opened the buffer; `child` is its limit */
	FG_EVENT	= 512,		/* its arguments were recorded, its result will be (event.c) */
	FG_MASK		= 1024,		/* the same, with the blocked signals */
	FG_CPU		= 2048,		/* cpu_ns[] has the CPU time of its thread when it began */
	FG_OVERRUN	= 8192,		/* there was no room for some calls below it */
	FG_HIDDEN	= 4096,		/* left out, with all calls below it: set_graph_notrace's, a signal handler's */
	FG_RESTORED	= 64,		/* the true return address is back in the slot (unwind.c) */
	FG_DOOMED	= 16384,	/* a sweep of the set-aside table is about to remove it */
	FG_NOT_GRAPH	= 32768,	/* only the profile counts it, not the graph beside it */
};

/*
 * One hooked call. The order of the fields is fixed, because fast paths move neighbours at once, and look at the slot
 * of the top entry and at receipt.where of the free entry above it: a value other than 0 there means that only C can
 * push to it (thread_guard()).
 */
struct fg_entry {
	struct ring_receipt receipt;	/* of its ENTRY or EXIT; word holds the id in any case */
	uint32_t flags;
	/* in the set-aside table: the index that it had on its array; with FG_RESTORED: unwind_named.c's place */
	uint32_t place;
	uint64_t child;		/* profile: clock units spent in traced callees; FG_KEEP: the limit */
	uint64_t ret;		/* the hook: the slot's content instead of `parent` */
	uint64_t clock;		/* at the entry */
	uint64_t parent;	/* the true return address */
	uint64_t slot;		/* address of the return address on the program's stack */
};

enum thread_flags {		/* each of them keeps the thread off the fast paths */
	TH_VFORK	= 1,	/* a vfork child may be using this thread pointer */
	TH_SHARED	= 2,	/* other tasks use it, each with a state of its own: see host */
	TH_RESTORED	= 4,	/* some entries are FG_RESTORED */
	TH_ALT		= 8,	/* there is an FG_ALT entry */
	TH_FILTERED	= 16,	/* the thread is not in pids[] */
};

/*
 * When a call was entered. A clock may tick more slowly than functions call each other: among calls of one tick the
 * place on the array decides, because no coroutine moves to another thread's array within one tick.
 */
struct fg_age {
	uint64_t clock, place;
};

#define FG_AGE_ANY	((struct fg_age){ ~0ull, ~0ull })	/* every other age is older */

static inline int fg_is_older(struct fg_age a, struct fg_age b)
{
	return a.clock < b.clock || (a.clock == b.clock && a.place < b.place) /* GUARD(order_in_a_tick) */;
}

/* Age of an entry in the set-aside table. */
static inline struct fg_age aside_age(const struct fg_entry *e)
{
	return (struct fg_age){ e->clock, e->place };
}

/* An entry that an interrupted fast path may fill though it is another call's by then (fastpath_interrupt.c). */
struct fg_inside {
	/* where that path writes its record; NULL: no path is inside, or no event has checked yet */
	const void *at;
	struct fg_entry *entry;
	struct fg_entry *top;	/* the top after the last slow event */
	uint64_t is_kept;
	struct fg_entry kept;
};

/* State of a thread pointer. One mapping: this page, ending in a sentinel entry, then the entries. */
struct uft_thread {
	/*
	 * the next free entry; changed by its own task only, also by its signal handlers: read it once per step
	 * (graph.c)
	 */
	struct fg_entry *top;
	struct fg_entry *limit;
	struct fg_entry *base;	/* base[-1] is the sentinel; its slot: fg_check_bound() */
	uint64_t tp;		/* 0: unused, in the pool */
	uint32_t tid;		/* tid of its records; UFT_NO_TID sends every event to the slow path */
	uint32_t owner;		/* true tid, kept then; 0: not known yet */
	uint32_t flags;		/* enum thread_flags */
	uint32_t pids_generation;
	uint64_t vfork_sp;	/* stack pointer of the code that called vfork */
	uint64_t unwind_sp;	/* of the innermost unwinder that restored entries */
	uint64_t unwind_low;	/* the begin of that unwinder's signal stack, if it lies above others; else 0 */
	uint64_t alt_low, alt_high;	/* with TH_ALT */
	uint64_t bytes;		/* of the mapping */
	struct uft_thread *next;	/* of all threads; under the lock */
	struct uft_thread *host;	/* for a task on a shared thread pointer: the state of its owner */
	uint32_t shares;	/* TH_SHARED: tasks that may run on the pointer and have had no event yet */
	uint32_t sections;	/* rseq_check.c: does the kernel restart its sections? */
	uint32_t own_wait, pad;	/* own_wait: the thread's events in rseq_check.c */
	uint64_t stack_top, stack_low;	/* of its stack, as far as it was walked; 0: not known (stack.c) */
	uint64_t heal_clock;	/* the last look whether the tasks that share it have ended */
	uint64_t *kept;		/* scratch buffer (keep_slow.c), kept_max words */
	uint64_t nkept, kept_max, kept_lost;
	uint32_t kept_hi;	/* high half of the clock of the buffer's last word */
	uint32_t overruns;	/* number of calls for which there was no room */
	uint64_t *cpu_ns;	/* parallel to the entries; valid for those with FG_CPU */
	struct plat_stack signal_stack;	/* with UFT_DENIED_STACK: the stack as it was before */
	struct fg_inside inside;
	struct ring_cpu *counted;	/* the CPU with its key that counts, if it has one (ring.c) */
	uint32_t graph_turn;	/* the triggers of this number have switched its graph on; 0: off (event_rules.c) */
	uint64_t rules_asked;	/* RULES_ASKED() of the rules that were last asked about its number; 0: none */
};

/* Is its ENTRY in a ring, or the scratch buffer, and its EXIT not? */
static inline int fg_is_recorded(uint32_t flags)
{
	return !(flags & FG_SILENT);
}

/* Is the call over as far as records go? It is so for calls that a fork child inherits. */
static inline uint32_t fg_silenced(uint32_t flags)
{
	return (flags & ~(uint32_t)(FG_CALL | FG_PROFILE | FG_PASS | FG_SCRATCH | FG_KEEP)) | FG_SILENT;
}

/*
 * Takes an entry off the array. riscv64's fast entry stores no flags, so a free entry's flags are 0: signals are
 * blocked there during all changes. arm64's fast entry stores them, because a push whose section was aborted (ring.S),
 * or a handler that jumps away between a pop and this, leaves some behind.
 */
static inline void fg_free(struct fg_entry *e)
{
	if (ARCH_HAS_OWN)
		e->flags = 0;
}

/* The calling task during one slow event. */
struct trace_task {
	struct uft_thread *th;	/* NULL: no memory for one */
	uint64_t tp, key, mask;
	uint32_t pid, tid;
	uint8_t rseq;		/* may use the per-CPU rings */
	uint8_t guest;		/* borrows the thread pointer of a suspended task */
	uint8_t mute;		/* no event is recorded: fork child that is not followed */
	uint8_t blocked;	/* signals are blocked (always so without rseq); mask is the program's */
	uint8_t locked;
};

static inline int fg_is_on_array(const struct uft_thread *th, const struct fg_entry *e)
{
	return th && e >= th->base && e < th->limit;
}

/*
 * Does @now, the content of the slot of @e, return through @e? It is its own hook, or that of a tail call that replaced
 * it: such entries follow on its array, which ends at @end.
 */
static inline int fg_is_its_hook(const struct fg_entry *e, const struct fg_entry *end, uint64_t now)
{
	const uint64_t slot = e->slot;

	for (; e < end && e->slot == slot; e++)
		if (now == e->ret)
			return 1;
	return 0;
}

/* Will the slot's frame still return through the runtime? Where slots are only names nothing tells: as if it would. */
static inline int fg_is_hooked(const struct fg_entry *e, const struct fg_entry *end)
{
	uint64_t now;

	return !ARCH_SLOT_IN_MEMORY || (!plat_peek((const void *)e->slot, &now, 8) && fg_is_its_hook(e, end, now));
}

static inline uint32_t fg_id(const struct fg_entry *e)
{
	return UFT_REC_VALUE(e->receipt.word);
}

/* ---- functions of shadow/ that thread.c calls ---- */
void fg_settle(struct fg_entry *e);
/* from an array, where all entries below it were put before or stay */
void aside_put(const struct fg_entry *e);
struct fg_entry *aside_next(struct fg_entry *after);	/* NULL: the first; returns NULL at the end */
void keep_init(struct uft_thread *th, uint64_t *words, uint64_t bytes);
void keep_reset(struct uft_thread *th);

#endif
