/* SPDX-License-Identifier: MIT */
/* task_stop.h - stop tasks for a moment, and find those that run in our code. Context: control. */
#ifndef UFT_CONTROL_TASK_STOP_H
#define UFT_CONTROL_TASK_STOP_H

#include <sys/types.h>
#include <sys/user.h>

#include "control/proc/proc.h"
#include "uft/abi.h"

/* Tells which tasks stay our tracees for the whole session (the watchdog's), and resumes these. */
struct tracee_keeper {
	int (*is_kept)(void *arg, pid_t tid);
	void (*go_on)(void *arg, pid_t tid, int status);
};

/* The tasks that share the memory of ->pid, and the ranges that are searched for. Must not change between calls. */
struct task_search {
	pid_t pid, agent;		/* the target; the agent, which is left out */
	const struct uft_owned *own;	/* our ranges: a task in one of them is "inside" */
	uint32_t nown;
	int is_sorted;			/* own[] is sorted by address */
	uint8_t *hit;			/* a flag for each range of own[], set if a task is inside; or NULL */
	/* If not NULL: the address at which a task may go on instead of @pc in that range; 0: none. */
	uint64_t (*copy_of)(void *arg, uint32_t range, uint64_t pc);
	void *arg;
	uint64_t until_ns;		/* a task that does not stop is tried again until then; 0: once */
	uint64_t searched;		/* out: bytes of stacks read by the last search */
	pid_t inside;			/* out: a task that is inside, */
	int is_late;			/* out: or one that did not stop in time */
	uint64_t turns;			/* out: how often that task had got a CPU when it was resumed; 0: unknown */
	const struct tracee_keeper *keeper;	/* NULL: no task has one */
	void *keeper_arg;
	/* Set by stop_all.c: private writable mappings, sorted. A stack does not reach out of its mapping. */
	const struct writable_range { uint64_t start, end; } *writable;
	uint32_t nwritable;
};

/*
 * Searches every task once. 0: each was outside at some moment, and nothing on its stack leads back inside;
 * 1: the task ->inside was inside, or could not be stopped; -ESRCH: the target has ended.
 */
int tasks_find_inside(struct task_search *search);

/*
 * The same for the threads of the process only, without its thread @but. Takes some milliseconds if one is inside.
 */
int threads_find_inside(struct task_search *search, pid_t but);

/*
 * Returns 1 if ->inside has not run since it was resumed. Another stop would then only delay its way out.
 */
int task_waits_for_cpu(const struct task_search *search);

/* Raises a task's priority and notes that for the guard. 1: done, *nice is for task_restore_priority(); 0: no right. */
int task_raise_priority(pid_t tid, int *nice);
void task_restore_priority(pid_t tid, int nice);

/*
 * Clears the thread pointer of each task where it lies in [at, at + bytes), as in a fresh image. Stops each task; none
 * may be inside. Returns 0; or -errno: a task could not be read or changed, so one may still have the pointer.
 */
int tasks_take_thread_pointer(const struct task_search *search, uint64_t at, uint64_t bytes);

/*
 * ptrace(), repeated when it fails for a moment: a stopped task must not be left with registers of ours.
 * Returns 0 or -errno; -ESRCH: the task is dying.
 */
int task_request(int request, pid_t tid, uint64_t addr, void *data);

/*
 * Seizes and stops one task; task_resume() detaches it. *sig is the signal to resume it with. -ESRCH: the task is gone;
 * -EPERM; -EAGAIN: it did not stop in time: try again, or else tasks_reap_late() resumes it once it stops.
 */
int task_stop(pid_t tid, int *sig);
void task_resume(pid_t tid, int sig);

/*
 * Detaches a stopped task with signal @sig. -ESRCH: the task is dying; tasks_reap_late() waits for its end, because the
 * kernel tells the parent only after the tracer has waited.
 */
int task_detach(pid_t tid, int sig);
/*
 * Kills the task @tid, which @pidfd is of, by SIGKILL, if @is_same says that it still runs the program for which the
 * pidfd was opened. @is_same is called when the task cannot execute another program any more.
 * Returns 0, or -errno: the task lives on.
 */
int task_end(pid_t tid, int pidfd, int (*is_same)(void *arg, pid_t tid), void *arg);
unsigned tasks_reap_late(void);		/* resumes late tasks that have stopped; returns how many are left */
int task_is_late(pid_t tid);		/* 1: only tasks_reap_late() may wait for it */

/* From now on the exit status of this child is kept if a wait for its stops returns that. */
void child_status_keep(pid_t pid);
int child_status_take(pid_t pid, int *status);	/* 1: *status is the exit status from waitpid() */
void child_status_forget(pid_t pid);

/* ---- stop_all.c ----------------------------------------------------------------------------------- */

struct stopped_tasks;
/*
 * Stops every task that shares the target's memory. Returns 0; -EAGAIN: some did not stop within @ms; -EPERM: some have
 * another tracer; -ENOMEM. The caller calls resume_all() in any case, and keeps @search until then.
 */
int stop_all_tasks(struct task_search *search, unsigned ms, struct stopped_tasks **out);
uint64_t stop_all_since(const struct stopped_tasks *all);		/* when the first was interrupted */
int stopped_have_vforks(const struct stopped_tasks *all);		/* 1: a task waits for its vfork child */
/* Marks in ->hit the ranges where stopped tasks are or return to. Tasks whose pc has a copy are moved out. */
void stopped_find_inside(struct task_search *search, struct stopped_tasks *all);
uint64_t resume_all(struct stopped_tasks *all);		/* returns the longest time that a task was stopped, in ns */

/* ---- Functions of task_stop.c for stop_all.c ------------------------------------------------------------- */

#define TASK_STOP_MS	500

int task_wait_stop(pid_t tid, int *status);	/* for TASK_STOP_MS. 0; -EAGAIN: no stop; -ESRCH: the task is gone */
int task_wait_brief(pid_t tid, int *status);	/* the same for two milliseconds */
int task_wait_until(pid_t tid, int *status, uint64_t deadline_ns);	/* the same until then */
pid_t task_poll_status(pid_t tid, int *status);	/* as waitpid() with WNOHANG */
/*
 * late_call.c. Gives a stopped task the registers that it had before it made calls for the session; forgets a task that
 * has ended or executes another program.
 */
void late_call_give_back(pid_t tid);
void late_call_forget(pid_t tid);
int stop_signal_of(int status);			/* the signal that a task stopped for and has to get; 0: none */
void late_task_add(pid_t tid);			/* an interrupted task is left to tasks_reap_late() */
void late_task_interrupt(pid_t tid);		/* the same of a seized task, which runs */
int late_task_take(pid_t tid);			/* 1: the task was late, and is the caller's now */
/* As task_resume(), with registers that the caller has read by PTRACE_GETREGS. */
void task_resume_with(pid_t tid, int sig, struct user_regs_struct *regs);
/*
 * Tells the kernel to restart a system call that our stop ended with EINTR. If a signal handler runs first, the call
 * ends with EINTR after all. 1: *regs is changed.
 */
int regs_restart_call(struct user_regs_struct *regs);
/* The index of the range that holds @addr, + 1; 0: none. */
uint32_t owned_range_of(const struct task_search *search, uint64_t addr);
/* 1: the pc or a signal frame on the stack is in own[]. With ->hit: returns 0, and marks all ranges that are. */
int stack_leads_inside(struct task_search *search, uint64_t pc, uint64_t sp);
int count_as_inside(const struct task_search *search);	/* for a task that cannot be searched: 1, or marks all ranges */
/* Calls @fn for each task that shares the memory of ->pid, without ->agent, until it does not return 0. */
int each_sharing_task(const struct task_search *search, each_task_fn *fn, void *arg);

#endif
