/* SPDX-License-Identifier: MIT */
/*
 * trace.h - structures and helpers of the tracers; theory in graph.c (shadow stack) and thread.c (threads)
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
#define FG_SLOT_MIN	1u		/* slots are above it: FG_NO_SLOT, or a tombstone of the set-aside table */
#define FG_NOT_WRITTEN	1u		/* receipt.where: pushed, not written yet */

enum fg_flags {				/* FG_SILENT and FG_CALL are in layout.h; fast paths know 0 and, with a threshold, these two */
	FG_PROFILE	= 4,		/* counts in the profile at the end */
	FG_INSIDE	= 8,		/* below a root (or one itself) */
	FG_ALT		= 16,		/* first on a signal stack that lies above the interrupted one */
	FG_GUEST	= 32,		/* pushed by a task that borrows the thread pointer (vfork child) */
	FG_SCRATCH	= 128,		/* recorded in the scratch buffer, not in a ring (keep_slow.c) */
	FG_KEEP		= 256,		/* the root that opened it; `child` is its limit */
	FG_EVENT	= 512,		/* arguments were recorded, the result will be (event.c); */
	FG_MASK		= 1024,		/* with the blocked signals */
	FG_CPU		= 2048,		/* cpu_ns[] has what its thread had used of CPUs when it began */
	FG_OVERRUN	= 8192,		/* there was no room for some that it called */
	FG_HIDDEN	= 4096,		/* left out, with what it calls: set_graph_notrace's, a signal handler's */
	FG_RESTORED	= 64,		/* the true return address is back in the slot (unwind.c) */
	FG_DOOMED	= 16384,	/* a sweep of the set-aside table is about to forget it */
	FG_NOT_GRAPH	= 32768,	/* only the profile beside the graph counts it */
	FG_PASS		= 65536,	/* the graph's alone beside the profile: `child` goes on to its caller */
};

/*
 * One hooked call. In this order because fast paths move neighbours at once, and look at the slot of the top
 * entry and at receipt.where of the free one above it: not 0 there says that it cannot be pushed to without C
 * (thread_guard()).
 */
struct fg_entry {
	struct ring_receipt receipt;	/* its ENTRY or EXIT; word holds the id in any case */
	uint32_t flags;
	uint32_t place;		/* in the set-aside table: the index that it had on its array; with FG_RESTORED unwind_named.c's */
	uint64_t child;		/* profile: clock units spent in traced callees; FG_KEEP: the limit */
	uint64_t ret;		/* what stands in the slot instead of */
	uint64_t clock;		/* of the entry */
	uint64_t parent;	/* the true return address */
	uint64_t slot;		/* address of the return address on the program's stack */
};

enum thread_flags {		/* any of them keeps the thread off the fast paths */
	TH_VFORK	= 1,	/* a vfork child may be using this thread pointer */
	TH_SHARED	= 2,	/* other tasks do, each with a state of its own: see host */
	TH_RESTORED	= 4,	/* some entries are FG_RESTORED */
	TH_ALT		= 8,	/* there is an FG_ALT entry */
	TH_FILTERED	= 16,	/* not in pids[] */
};

/*
 * When a call was entered. Clocks may tick more slowly than functions call each other: of several in a tick
 * the place on the array tells, for no coroutine gets to another thread's array within one.
 */
struct fg_age {
	uint64_t clock, place;
};

#define FG_AGE_ANY	((struct fg_age){ ~0ull, ~0ull })	/* all others are older */

static inline int fg_is_older(struct fg_age a, struct fg_age b)
{
	return a.clock < b.clock || (a.clock == b.clock && a.place < b.place);
}

/* Of an entry that is in the set-aside table. */
static inline struct fg_age aside_age(const struct fg_entry *e)
{
	return (struct fg_age){ e->clock, e->place };
}

/* An entry that who is inside a fast path may fill though it is another's by then (fastpath_interrupt.c). */
struct fg_inside {
	const void *at;		/* where he writes his record; NULL: nobody is, or nobody asked yet */
	struct fg_entry *entry;
	struct fg_entry *top;	/* what the last slow event left */
	uint64_t is_kept;
	struct fg_entry kept;
};

/* What belongs to a thread pointer. One mapping: this page, ending in a sentinel entry, then the entries. */
struct uft_thread {
	struct fg_entry *top;	/* the next free entry; changed by its own task only, signal handlers included: read it once a step (graph.c) */
	struct fg_entry *limit;
	struct fg_entry *base;	/* base[-1] is the sentinel; its slot: fg_check_bound() */
	uint64_t tp;		/* 0: unused, in the pool */
	uint32_t tid;		/* whose records: UFT_NO_TID sends every event to the slow path */
	uint32_t owner;		/* true tid, survives that; 0 not known yet */
	uint32_t flags;		/* enum thread_flags */
	uint32_t pids_generation;
	uint64_t vfork_sp;	/* stack pointer of the code that called vfork */
	uint64_t unwind_sp;	/* of the innermost unwinder that restored entries */
	uint64_t unwind_low;	/* it runs on a signal stack above others, which begins here; else 0 */
	uint64_t alt_low, alt_high;	/* with TH_ALT */
	uint64_t bytes;		/* of the mapping */
	struct uft_thread *next;	/* of all threads; under the lock */
	struct uft_thread *host;	/* of a task on a shared thread pointer: the state of its owner */
	uint32_t shares;	/* TH_SHARED: tasks that may run on the pointer and have had no event yet */
	uint32_t sections;	/* rseq_check.c: does the kernel restart its? */
	uint32_t own_wait, pad;	/* its events there */
	uint64_t stack_top, stack_low;	/* of its stack, as far as it was walked; 0: not known (stack.c) */
	uint64_t heal_clock;	/* when somebody last looked whether they have ended */
	uint64_t *kept;		/* scratch buffer (keep_slow.c), kept_max words */
	uint64_t nkept, kept_max, kept_lost;
	uint32_t kept_hi;	/* high half of the clock of its last word */
	uint32_t overruns;	/* calls for which there was no room */
	uint64_t *cpu_ns;	/* parallel to the entries; those with FG_CPU */
	struct plat_stack signal_stack;	/* with UFT_DENIED_STACK: as it was before */
	struct fg_inside inside;
	uint32_t graph_turn;	/* the graph is on for it by triggers of this number; 0: off (event_rules.c) */
};

/* Its ENTRY is in a ring, or the scratch buffer, and its EXIT is not. */
static inline int fg_is_recorded(uint32_t flags)
{
	return !(flags & FG_SILENT);
}

/* Is the call over as far as records go? So are calls that a fork child inherits. */
static inline uint32_t fg_silenced(uint32_t flags)
{
	return (flags & ~(uint32_t)(FG_CALL | FG_PROFILE | FG_PASS | FG_SCRATCH | FG_KEEP)) | FG_SILENT;
}

/*
 * Off the array. riscv64's fast entry stores no flags, so those of what is free are 0: all changes have
 * signals blocked there. arm64's stores them, as a push whose section was aborted (ring.S), or a handler that
 * jumps away between a pop and this, leaves some behind.
 */
static inline void fg_free(struct fg_entry *e)
{
	if (ARCH_HAS_OWN)
		e->flags = 0;
}

/* The calling task during one slow event. */
struct trace_task {
	struct uft_thread *th;	/* NULL: none could be made */
	uint64_t tp, key, mask;
	uint32_t pid, tid;
	uint8_t rseq;		/* may use the per-CPU rings */
	uint8_t guest;		/* borrows the thread pointer of a suspended task */
	uint8_t mute;		/* nothing is recorded: fork child that is not followed */
	uint8_t blocked;	/* signals are blocked (always so without rseq); mask is the program's */
	uint8_t locked;
};

/* ---- thread.c ---- */
int thread_init(void);
/* Every slow event stands between these two. */
void task_begin(struct trace_task *t);
void task_end(struct trace_task *t);
/* Signals blocked, with the program's mask kept. Not nested. */
void task_block(struct trace_task *t);
void task_unblock(struct trace_task *t);
/* Signals blocked and the lock held, for what several threads may touch. Not nested. */
void task_lock(struct trace_task *t);
void task_unlock(struct trace_task *t);
/* Fills in who writes and writes; counts what cannot be written. Returns RING_*. */
int task_write(struct trace_task *t, struct ring_op *op);
struct uft_thread *thread_find(uint64_t tp);
struct uft_thread *thread_first(void);
struct uft_thread **thread_first_address(void);	/* for debuggers */
void thread_reset(struct trace_task *t, uint64_t tp);	/* a new task gets this thread pointer */
void thread_share(struct trace_task *t);		/* a new task is about to run on the caller's */
void thread_forked(struct trace_task *t);		/* init, in the child: only this thread is left */

/*
 * ---- rseq_check.c: in a task_begin() that has found out nothing yet; 1: that was all. Behind one that has;
 * signals are blocked ----
 */
int sections_begin(struct trace_task *t);
void sections_ask(struct trace_task *t);
int sections_want_own(struct uft_thread *th);	/* is it time to look for a ring of its own? */

/* ---- fastpath_interrupt.c: before own_finish(), behind it, and when all of the event is done; signals are blocked ---- */
void inside_begin(struct trace_task *t);
int inside_has_moved(const struct trace_task *t);	/* may the top be the doing of who is inside? Else nothing of him came true */
void inside_note(struct trace_task *t);
void inside_end(struct trace_task *t);

/* ---- params.c ---- */
const struct uft_tracer_params *trace_params(void);
int trace_is_recording(void);
int trace_task_is_wanted(struct trace_task *t, const struct uft_tracer_params *p);
void params_forked(const struct uft_thread *th);	/* init, in the child, before thread_forked(): the thread that forked, or NULL */

/* ---- graph.c ---- */
void fg_settle(struct fg_entry *e);
struct fg_entry *fg_keep(const struct trace_task *t, struct fg_entry *top, uint64_t slot, uint64_t parent);
void fg_leave_locked(struct trace_task *t, struct fg_entry *keep);
/*
 * The entry for @slot, wherever it is: of several the newest. @ret: only those that put this there, 0: any;
 * @before: only older ones; @from: NULL, or for many in a row: of the array that it is on only it and what
 * lies below, and arrays are taken to be in order. Under the lock.
 */
struct fg_entry *fg_find(uint64_t slot, uint64_t ret, struct fg_age before, const struct fg_entry *from);
struct fg_age fg_age(const struct fg_entry *e);	/* wherever it is; under the lock */
/* Where the frame of @slot, in which @ret of ours stands, returns to in the end; @from as above. Under the lock. */
uint64_t fg_true_parent(uint64_t slot, uint64_t ret, const struct fg_entry *from);
/*
 * function.c: the function tracer's event of a call that the graph or the profile is about to look at. @args:
 * as event_enter().
 */
void func_beside(struct trace_task *t, const struct uft_tracer_params *p, const struct fg_entry *e, const uint64_t *args);

static inline int fg_is_on_array(const struct uft_thread *th, const struct fg_entry *e)
{
	return th && e >= th->base && e < th->limit;
}

/* ---- graph_filter.c ---- */
/*
 * What the graph, or the profile alone, makes of the call of @e, which is to be pushed at @top: into *flags, which
 * has FG_ALT or not. Whether a signal's, as far as it is asked for: *is_handler. 0: it is not theirs.
 */
int fg_choose(const struct trace_task *t, const struct uft_tracer_params *p, const struct fg_entry *top, const struct fg_entry *e,
	      uint32_t ops, uint32_t *flags, int *is_handler);

/* ---- event.c ---- */
uint32_t event_flags(const struct uft_tracer_params *p, uint32_t ops);	/* FG_EVENT, FG_MASK or 0 */
/* Behind the ENTRY. @args: four words, NULL not known; @is_handler: the kernel made the call. */
void event_enter(struct trace_task *t, const struct uft_tracer_params *p, const struct fg_entry *e, uint32_t ops,
		 const uint64_t *args, int is_handler);
/* Before the EXIT; 0: @e is not the top any more. @result: one word, NULL not known. */
int event_leave(struct trace_task *t, struct fg_entry *e, const uint64_t *result);
/* Clock units that the call took; with FG_CPU those on a CPU. */
uint64_t event_duration(const struct trace_task *t, const struct fg_entry *e);

/* ---- tracepoint.c: from uft_asm_event_write(). @slot: of its caller's return address; @fp: that frame pointer ---- */
void tracepoint_write_slowly(uint32_t high, const uint64_t *words, uint64_t bytes, uint64_t slot, uint64_t fp);

/* ---- event_rules.c ---- */
struct event_rules {
	struct event_rules *next;	/* of all lists */
	uint32_t nrules, bytes;		/* bytes: of list[] */
	uint32_t facts;			/* enum uft_facts that they ask for */
	uint32_t need;			/* bytes of records that the quick steps are for; UINT32_MAX: there are none */
	const struct uft_quick_step *quick;	/* behind the list: the same as one program */
	uint64_t list[];		/* struct uft_event_rule, each with its program */
};
extern const struct event_rules **event_rules_table;	/* by event; NULL: none has any */
#define EVENT_RULES_THREAD	0x80000000u	/* in facts: some switch the graph of the thread */
int event_rules_accept(const struct event_rules *r, const struct uft_record *record);
/* The thread @t fires the event: switches its graph. */
void event_rules_switch(const struct event_rules *r, const struct uft_record *record, struct trace_task *t, uint32_t turn);
/* Is the graph on for @th by the triggers that are in force, if it is by triggers at all? */
static inline int graph_is_on(const struct uft_thread *th, const struct uft_tracer_params *p)
{
	return !(p->has_roots & UFT_ROOTS_TRIGGER) || th->graph_turn == p->graph_turn;
}
/* Of this event; NULL: there are none, every record is written. */
static inline const struct event_rules *event_rules_of(uint32_t id)
{
	const struct event_rules **table = uft_load_acquire(&event_rules_table);
	uint32_t i = id - UFT_EVENT_FREE;

	return table && i < UFT_EVENT_RULES_IDS ? uft_load_acquire(&table[i]) : NULL;
}

/* ---- signal.c ---- */
int signal_is_handler(const struct fg_entry *e);	/* Does it return to what the kernel calls handlers with? */
void signal_forget(void);

/* ---- stack.c ---- */
/* A stack of the function @id, whose return address is at @slot; @fp: its caller's frame pointer. */
void stack_write(struct trace_task *t, uint32_t id, uint64_t slot, uint64_t fp);
void stack_write_tracepoint(struct trace_task *t, uint64_t slot, uint64_t fp);	/* @slot: of where its call returns to */
int stack_is_wanted(const struct uft_tracer_params *p, uint32_t id);	/* of this function */
/* The same, but kept only if the stack is deeper than any before in this process (uft_slice.stack). */
void stack_measure(struct trace_task *t, uint32_t id, uint64_t slot, uint64_t fp);

/* ---- keep_slow.c ---- */
void keep_init(struct uft_thread *th, uint64_t *words, uint64_t bytes);
void keep_reset(struct uft_thread *th);
/* 0: @e is not the top any more. */
int keep_entry(struct trace_task *t, struct fg_entry *e);
int keep_exit(struct trace_task *t, struct fg_entry *e);
void keep_unwind(struct trace_task *t, uint32_t n);
void keep_end(struct trace_task *t, const struct fg_entry *root);
int keep_exit_root(struct trace_task *t, struct fg_entry *top, uint64_t *parent);	/* 0: try again */

/* What calls of a site are, by its number. */
static inline const struct uft_action *trace_action(const struct uft_tracer_params *p, uint8_t number)
{
	return &p->action[number < p->nactions ? number : 0];
}

/* What the fast paths of limits compare with: the parameters in force. Without limits: deeper than any stack, and 0. */
struct graph_limits {
	uint64_t depth;		/* bytes of entries */
	uint64_t thresh;	/* clock units */
};
extern struct graph_limits uft_graph_limits;

/* ring.S: on this CPU, fast paths that write no record may change the thread's shadow stack (struct ring_cpu). */
void uft_asm_know_stack(struct uft_thread *th, uint64_t key);

/* ring.S: pushes a copy of @e at @top; 0: th->top is not @top, or a signal came and the space may have been used. */
int uft_asm_push(struct uft_thread *th, struct fg_entry *top, const struct fg_entry *e);

/* ---- detached_frames.c: the set-aside table, all under the lock ---- */
int aside_init(void);
void aside_put(const struct fg_entry *e);	/* from an array, where all that lies below it was put before or stays */
struct fg_entry *aside_find(uint64_t slot, uint64_t ret, struct fg_age before);	/* as fg_find() */
void aside_remove(struct fg_entry *e);
struct fg_entry *aside_next(struct fg_entry *after);	/* NULL: the first; NULL at the end */

/* ---- fork_child.c ---- */
void adopt_note_self(void);		/* this process has its slice: what its children will know of it. Context: init */

/* ---- mlock.c ---- */
uint32_t trace_hook_mlockall(uint64_t *regs);	/* before the system call; returns the one to be made instead */
uint64_t thread_reserve(uint64_t *bytes);	/* where thread.c's table is */
uint64_t aside_reserve(uint64_t *bytes);	/* detached_frames.c's */

/* ---- seccomp.c ---- */
/* 1: nothing may be done any more, in any thread, but to pass calls and returns through. */
int trace_is_out(void);
/* Before prctl(), seccomp(): does what has to be done while it may be done. @sp: of the code that calls. */
void trace_hook_sandbox(uint32_t nr, const uint64_t *regs, uint64_t sp);
int thread_signal_stack(const struct uft_thread *th, struct plat_stack *s);	/* plat_signal_stack(), or what was noted of it */

/* ---- way_out.c ---- */
int trace_is_leaving(void);

/* ---- unwind.c ---- */
void unwind_rehook(struct trace_task *t, uint64_t slot, uint64_t parent);
/* How far above @sp, on the stack that @th runs on, set-aside entries may be on that stack. */
uint64_t unwind_reach(const struct uft_thread *th, uint64_t sp);

/* ---- unwind_slots.c, unwind_named.c, all under the lock ---- */
/* @frame: trace_hook_unwind()'s. Returns how many addresses of ours it found. */
uint32_t unwind_restore_array(struct uft_thread *th, uint64_t sp, uint64_t *frame);
/* Looks at @reach bytes above @sp: unwind_reach(). */
void unwind_restore_aside(uint64_t sp, uint64_t reach);
/* Of an FG_RESTORED entry; @keep: the array's end. 0: its frame is gone, or has taken its address elsewhere. */
int unwind_rehook_entry(struct fg_entry *e, const struct fg_entry *keep);

/* ---- profile.c ---- */
void profile_hit(uint32_t id);		/* a call begins */
void profile_exit(struct trace_task *t, const struct fg_entry *e, struct fg_entry *caller);	/* it returns; to @caller, if that is known */
/* Is it counted? @ops: enum uft_action_ops. */
static inline int profile_is_wanted(const struct uft_tracer_params *p, uint32_t ops)
{
	return p->tracer == UFT_TRACER_PROFILE || (p->has_events & UFT_EVENTS_PROFILE && ops & UFT_ACT_PROFILE);
}

/*
 * Does @now, which stands in the slot of @e, return through @e? Its own hook, or that of a tail call in its
 * place: those are the entries that follow on its array, which ends at @end.
 */
static inline int fg_is_its_hook(const struct fg_entry *e, const struct fg_entry *end, uint64_t now)
{
	const uint64_t slot = e->slot;

	for (; e < end && e->slot == slot; e++)
		if (now == e->ret)
			return 1;
	return 0;
}

/* Is the slot's frame still to return through us? Where slots are only names nothing tells: as if it were. */
static inline int fg_is_hooked(const struct fg_entry *e, const struct fg_entry *end)
{
	uint64_t now;

	return !ARCH_SLOT_IN_MEMORY || (!plat_peek((const void *)e->slot, &now, 8) && fg_is_its_hook(e, end, now));
}

static inline uint32_t fg_id(const struct fg_entry *e)
{
	return UFT_REC_VALUE(e->receipt.word);
}

#endif
