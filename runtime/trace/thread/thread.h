/* SPDX-License-Identifier: MIT */
/* thread.h - which task an event is of: its thread, lists of pids, parameters in force */
#ifndef UFT_TRACE_THREAD_H
#define UFT_TRACE_THREAD_H

#include "runtime/trace/trace.h"

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
/* The calling thread's number, as the session has it; UFT_NO_TID: somebody has to be asked. Context: probe. */
uint32_t thread_known_tid(void);
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

/*
 * ---- fastpath_interrupt.c: before own_finish(), behind it, and when all of the event is done; signals are
 * blocked ----
 */
void inside_begin(struct trace_task *t);
/* may the top be the doing of who is inside? Else nothing of him came true */
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
int signal_is_handler(const struct fg_entry *e);	/* Does it return to what the kernel calls handlers with? */
void signal_forget(void);

/* ---- where the tables are, for hooks/mlock.c ---- */
uint64_t thread_reserve(uint64_t *bytes);	/* where thread.c's table is */

/* ---- out.c ---- */
/* 1: nothing may be done any more, in any thread, but to pass calls and returns through. */
int trace_is_out(void);
void trace_go_out(void);			/* for good; when what has to be done before is done */
/* plat_signal_stack(), or what was noted of it */
int thread_signal_stack(const struct uft_thread *th, struct plat_stack *s);

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

#endif
