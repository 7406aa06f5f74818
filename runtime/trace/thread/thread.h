/* SPDX-License-Identifier: MIT */
/* thread.h - the task of an event: its thread, lists of pids, parameters in force */
#ifndef UFT_TRACE_THREAD_H
#define UFT_TRACE_THREAD_H

#include "runtime/trace/trace.h"

/* ---- thread.c ---- */
int thread_init(void);
/* Every slow event runs between these two. */
void task_begin(struct trace_task *t);
void task_end(struct trace_task *t);
/* Signals blocked, with the program's mask kept. Not nested. */
void task_block(struct trace_task *t);
void task_unblock(struct trace_task *t);
/* Blocks signals and takes the lock, for state that several threads share. Not nested. */
void task_lock(struct trace_task *t);
void task_unlock(struct trace_task *t);
/* Fills in the writer and writes; counts records that cannot be written. Returns RING_*. */
int task_write(struct trace_task *t, struct ring_op *op);
struct uft_thread *thread_find(uint64_t tp);
/* The slot of a thread is at the hash of its thread pointer, or behind it if that one is taken. */
#define THREAD_TABLE_BITS	16 /* GUARD(thread_table_bits, 12) */
struct thread_slot { uint64_t tp; struct uft_thread *th; };
extern struct thread_slot *thread_slot;
static inline uint32_t thread_home(uint64_t tp)
{
	return (uint32_t)((tp >> 4) * 0x9e3779b97f4a7c15ull >> (64 - THREAD_TABLE_BITS));
}

/*
 * The calling thread, if the session has the same number for it; NULL: that is not known without a system call. A fork
 * child that is not adopted yet has its parent's table, and emulators do not wipe the ring's state. In another pid
 * namespace the session has another number for the thread. Context: probe.
 */
static inline struct uft_thread *thread_known(void)
{
	uint64_t tp = arch_thread_pointer();
	const struct thread_slot *s = &thread_slot[thread_home(tp)];

	if (!ARCH_HAS_HOOKS || uft_rt.is_emulated)
		return NULL;
	if (uft_load_acquire(ring_state()) != RING_LIVE /* GUARD(event_ring_live) */ ||
	    uft_load(&uft_rt.slice->flags) & UFT_SLICE_OTHER_NS || uft_load_acquire(&s->tp) != tp)
		return NULL;
	return uft_load(&s->th->tid) != UFT_NO_TID ? s->th : NULL;
}
struct uft_thread *thread_first(void);
struct uft_thread **thread_first_address(void);	/* for debuggers */
void thread_reset(struct trace_task *t, uint64_t tp);	/* a new task gets the thread pointer @tp */
void thread_share(struct trace_task *t);		/* a new task is about to run on the caller's thread pointer */
void thread_forked(struct trace_task *t);		/* init, in the child: only this thread is left */

/*
 * ---- rseq_check.c: sections_begin(): in a task_begin() that has identified nothing yet; 1: that was all. The second:
 * after the task is identified, with signals blocked ----
 */
int sections_begin(struct trace_task *t);
void sections_ask(struct trace_task *t);
int sections_want_own(struct uft_thread *th);	/* is it time to look for a ring of the thread's own? */

/*
 * ---- fastpath_interrupt.c: before own_finish(), behind it, and when all of the event is done; signals are
 * blocked ----
 */
void inside_begin(struct trace_task *t);
/* can the interrupted fast path have changed the top? If not, its record is not committed */
int inside_has_moved(const struct trace_task *t);
void inside_note(struct trace_task *t);
void inside_end(struct trace_task *t);

/* ---- params.c ---- */
const struct uft_tracer_params *trace_params(void);
int trace_is_recording(void);
int trace_task_is_wanted(struct trace_task *t, const struct uft_tracer_params *p);
/* init, in the child, before thread_forked(): the thread that forked, or NULL */
void params_forked(const struct uft_thread *th);
void params_born_elsewhere(void);	/* a fork child, in a pid namespace of its own */

/* ---- signal.c ---- */
int signal_is_handler(const struct fg_entry *e);	/* is its return address code that calls rt_sigreturn()? */
void signal_forget(void);

/* ---- address of the table, for hooks/mlock.c ---- */
uint64_t thread_reserve(uint64_t *bytes);	/* in thread.c */

/* ---- out.c ---- */
/* 1: events of all threads only pass calls and returns through. */
int trace_is_out(void);
void trace_go_out(void);			/* for good; the caller has prepared for it */
/* plat_signal_stack(), or the value noted before it was denied */
int thread_signal_stack(const struct uft_thread *th, struct plat_stack *s);

/* The action of a site's calls, by its number. */
static inline const struct uft_action *trace_action(const struct uft_tracer_params *p, uint8_t number)
{
	return &p->action[number < p->nactions ? number : 0];
}

/*
 * Values that the fast paths of limits compare with: of the parameters in force. Without limits: deeper than any stack,
 * and 0.
 */
struct graph_limits {
	uint64_t depth;		/* bytes of entries */
	uint64_t thresh;	/* clock units */
};
extern struct graph_limits uft_graph_limits;

/* ring.S: on this CPU, fast paths that write no record may change the thread's shadow stack (struct ring_cpu). */
void uft_asm_know_stack(struct uft_thread *th, uint64_t key);

/* ring.S: pushes a copy of @e at @top; 0: th->top is not @top, or a signal came and may have used the space. */
int uft_asm_push(struct uft_thread *th, struct fg_entry *top, const struct fg_entry *e);

#endif
