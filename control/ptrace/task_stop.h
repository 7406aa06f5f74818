/* SPDX-License-Identifier: MIT */
/* task_stop.h - where the tasks of an address space are, and holding them for a moment. Context: control. */
#ifndef UFT_CONTROL_TASK_STOP_H
#define UFT_CONTROL_TASK_STOP_H

#include <sys/types.h>
#include <sys/user.h>

#include "control/proc/proc.h"
#include "uft/abi.h"

/*
 * Of tasks that are tracees of ours for as long as the session lasts (the watchdog's): which they are, and
 * how they go on behind a stop.
 */
struct tracee_keeper {
	int (*is_kept)(void *arg, pid_t tid);
	void (*go_on)(void *arg, pid_t tid, int status);
};

struct task_search {				/* whose memory is meant: not to be changed between calls */
	pid_t pid, agent;		/* of the program; ours, which is left out */
	const struct uft_owned *own;
	uint32_t nown;
	int is_sorted;			/* own[] is, by address */
	/* by range of own[], if not NULL: stopped_find_inside() sets it for those somebody is in */
	uint8_t *hit;
	/* If not NULL: where a task that stands at @pc in the range of that number goes on as well; 0: nowhere else. */
	uint64_t (*copy_of)(void *arg, uint32_t range, uint64_t pc);
	void *arg;
	/* for a task that does not stop in time: it is asked again, the others need not be; 0 once */
	uint64_t until_ns;
	uint64_t searched;		/* out: bytes of stacks, in the last look */
	pid_t inside;			/* out: a task that is inside, */
	int is_late;			/* or one that did not stop in time to be looked at */
	/* how often that one had had the CPU when it was let go on; 0: it slept, or not told */
	uint64_t turns;
	const struct tracee_keeper *keeper;	/* NULL: there are no such tasks */
	void *keeper_arg;
	/* By address, if not NULL: no stack reaches out of the one that it lies in. stop_all.c */
	const struct writable_range { uint64_t start, end; } *writable;
	uint32_t nwritable;
};

/*
 * Looks once at every task that shares the program's memory. 0: each was outside of ours at some moment, and nothing
 * on its stack leads back inside; 1: look->inside was inside, or could not be looked at; -ESRCH: the program is over.
 */
int tasks_find_inside(struct task_search *l);

/*
 * The same of the threads of the process alone, without its thread @but. Takes some milliseconds where one is
 * inside.
 */
int threads_find_inside(struct task_search *l, pid_t but);

/*
 * Has ->inside not run since it was let go on? Then another look would only take away the turn in which it
 * comes out.
 */
int task_waits_for_cpu(const struct task_search *l);

/* A better priority for a task, noted for the guard. 1: it has that, and task_restore_priority() gives *nice back. */
int task_raise_priority(pid_t tid, int *nice);
void task_restore_priority(pid_t tid, int nice);

/*
 * A task whose thread pointer lies in [at, at + bytes) has none afterwards, as a task of a fresh image. Stops each
 * task; none may be inside. 0; -errno: a task could not be looked at or changed, so one may have the pointer still.
 */
int tasks_take_thread_pointer(const struct task_search *l, uint64_t at, uint64_t bytes);

/*
 * ptrace() on a task that stands with registers of ours, or is to go on: a failure that was momentary must leave it
 * neither so nor there, so it is asked again. 0 or -errno; -ESRCH: the task dies.
 */
int task_request(int request, pid_t tid, uint64_t addr, void *data);

/*
 * One task: seized, stopped, to be let go again. -ESRCH gone, -EPERM, -EAGAIN: it does not stop in time; to
 * be tried again, else tasks_reap_late() lets it go when it does.
 */
int task_stop(pid_t tid, int *sig);
void task_resume(pid_t tid, int sig);

/*
 * Detaches a stopped task, with signal @sig. -ESRCH: the task dies; tasks_reap_late() waits for its end, since its
 * parent does not hear of that before.
 */
int task_detach(pid_t tid, int sig);
/*
 * Ends the task @tid, which @pidfd is of, by SIGKILL, if @is_its says that it runs the same program as when that was
 * opened: it is asked when the task cannot begin another one any more. 0, or -errno: the task lives on.
 */
int task_end(pid_t tid, int pidfd, int (*is_its)(void *arg, pid_t tid), void *arg);
unsigned tasks_reap_late(void);		/* returns how many there are still */
int task_is_late(pid_t tid);		/* only tasks_reap_late() may wait for it */

/* The end of this child of ours, if a wait for its stop takes it, is kept for who asks. */
void child_status_keep(pid_t pid);
int child_status_take(pid_t pid, int *status);	/* 1: *status is what waitpid() said */
void child_status_forget(pid_t pid);

/* ---- stop_all.c ----------------------------------------------------------------------------------- */

struct stopped_tasks;
/*
 * Stops every task that shares the program's memory; 0; -EAGAIN: some could not be, within @ms; -EPERM:
 * another tracer has some. resume_all() in any case, before @l is gone.
 */
int stop_all_tasks(struct task_search *l, unsigned ms, struct stopped_tasks **out);
uint64_t stop_all_since(const struct stopped_tasks *h);		/* when the first was asked to stop */
int stopped_have_vforks(const struct stopped_tasks *h);		/* does a task wait for its vfork child? */
/* Marks in ->hit where held tasks are, or will be when a signal handler returns. Who merely runs there is led out. */
void stopped_find_inside(struct task_search *l, struct stopped_tasks *h);
uint64_t resume_all(struct stopped_tasks *h);		/* for how long the one stood that stood longest, in ns */

/* ---- Functions of task_stop.c for stop_all.c ------------------------------------------------------------- */

#define TASK_STOP_MS	500

int task_wait_brief(pid_t tid, int *status);	/* the same, for two milliseconds */
int task_wait_stop(pid_t tid, int *status);
pid_t task_poll_status(pid_t tid, int *status);	/* what there is */
pid_t task_wait_status(pid_t tid, int *status);	/* until there is something, whatever signals come (a second Ctrl-C) */
int stop_signal_of(int status);		/* of a stop that is not for us alone: what is to be given back, 0 none */
/* asked to stop, and not waited for any longer: for tasks_reap_late() */
void late_task_add(pid_t tid);
int late_task_take(pid_t tid);			/* 1: it was one, and is the caller's now */
/* as task_resume(); what PTRACE_GETREGS said */
void task_resume_with(pid_t tid, int sig, struct user_regs_struct *regs);
/*
 * For the kernel: make the call that our stop ended again, or, if a signal handler runs first, let it be
 * interrupted after all. 1: *regs is changed.
 */
int regs_restart_call(struct user_regs_struct *regs);
uint32_t owned_range_of(const struct task_search *l, uint64_t addr);		/* the number of the range, from 1 */
/* 1: the pc, or a signal frame on the stack, is in own[]; with ->hit 0, and all that are hit are marked. */
int stack_leads_inside(struct task_search *l, uint64_t pc, uint64_t sp);
int count_as_inside(const struct task_search *l);	/* a task is not searched: 1, or all ranges are marked */
/* For each task that shares the memory of ->pid, but ->agent, until @fn returns something else than 0. */
int each_sharing_task(const struct task_search *l, each_task_fn *fn, void *arg);

#endif
