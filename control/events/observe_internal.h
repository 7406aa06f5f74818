/* SPDX-License-Identifier: MIT */
/*
 * observe_internal.h - shared by observe.c (records), observed.c (threads, processes), task_events.c and watchpoints.c
 * (watched memory)
 */
#ifndef UFT_CONTROL_OBSERVE_INTERNAL_H
#define UFT_CONTROL_OBSERVE_INTERNAL_H

#include "control/events/access_decode.h"
#include "control/plan/watch_list.h"
#include "control/events/observe.h"
#include "control/events/sources.h"
#include "control/events/perf.h"

struct thread {
	pid_t tid;
	int group;			/* its events, by number of perf_add(): its own or its maker's; -1: none */
	int prio;			/* the kernel's: 0 to 99 real-time, 100 to 139; -1: not known */
	uint64_t prio_ns;		/* when that was read */
	int point[ACCESS_MAX];		/* the events of the process's points; -1: none */
	/* when it got its own; threads that it made before have none; 0: it has its maker's */
	uint64_t point_ns[ACCESS_MAX];
	char comm[16];
};

#define HOOK_STUBS	4

struct into {
	struct into *next;
	struct event_ring *own;
	struct space *space;
	uint32_t refs;
	/* task_calls.c: stubs of hooks that have been seen, and the hook of each */
	struct { uint64_t stub, hook; } stub[HOOK_STUBS];
	uint32_t nstub;
};

struct proc {
	struct proc *next;
	pid_t pid, ppid;
	struct into *into;		/* NULL: no slice was free */
	int is_other;			/* it runs another image than that of `into`, which is not known yet */
	/* the process has ended; its records in the kernel's rings may not be taken yet */
	int is_gone;
	struct thread *thread;
	uint32_t nthreads, cap;
	struct access_point point[ACCESS_MAX];
	uint32_t npoints;
	uint32_t missing, nobj;		/* ranges whose place was not known yet, and the number of objects then */
	int has_unarmed;		/* a thread has no events for some point */
	/* the time of an EXEC that is to be written when the executed program is known; 0: none */
	uint64_t exec_ns;
	uint32_t exec_cpu;
	int is_exec_told;		/* the kernel has reported an exec since the process last became a target */
	pid_t exec_tid;			/* tid of the thread that called exec, before it got the process's number */
	struct call_table *calls;	/* task_calls.c */
	struct thread *old;		/* while they get other events (observe_again): their points */
	uint32_t nold;
	int is_again;			/* its threads get other events next */
};

struct pair { uint64_t clock, ns; };

struct observe {
	struct uft_session *s;
	struct perf *perf;
	struct proc *procs;
	struct into *intos;
	struct pair from, to;
	uint64_t swept_ns;
	uint64_t on_ns;			/* older records were not asked for */
	int is_switches, has_stacks, has_lost;
	uint32_t call_tasks;		/* enum uft_tasks: events that come with the stacks of their calls */
	int is_short_of_calls;		/* it has warned that some tasks' stacks are missing */
	int has_points, is_short;	/* of mmiotrace; it has warned that a thread is not watched */
	pid_t coming;			/* the process that is becoming a target; 0: none */
	/* all records are handled with what is known now; none waits */
	int is_final;
	uint32_t said;			/* ranges that it has reported as missing */
	uint32_t sought, found;		/* ranges that were searched in a process, and ranges that a process had */
};

extern const struct thread observe_no_thread;	/* nothing is known of it, and it has no events */

/* Writes a record of the process, if it is to be recorded. 1: written. */
int observe_put(const struct observe *o, const struct proc *p, const struct perf_record *r, uint32_t event,
		 const uint64_t *w, uint32_t n);
/*
 * The same for an event that has a type, with its payload and its stack; the listener gets it, too. @child: of a fork,
 * the task that was made.
 */
void observe_event(const struct observe *o, struct proc *p, const struct perf_record *r, uint32_t event,
		   const void *payload, size_t bytes, uint32_t child);

/* ---- task_events.c: forks, execs and ends as events ---- */

/* Must the record be left for the next taking, because it cannot be resolved yet? */
int tasks_must_wait(const struct observe *o, const struct perf_record *r);
/* Called before the new task is known, and before its name's change ends that of the other. */
void tasks_fork(const struct observe *o, struct proc *parent, const struct perf_record *r);
void tasks_exit(const struct observe *o, struct proc *p, const struct perf_record *r);
/* The process executes a program; a later record tells which (tasks_put_exec). */
void tasks_exec(const struct observe *o, struct proc *p, const struct perf_record *r);
void tasks_put_exec(const struct observe *o, struct proc *p);

/* ---- task_calls.c: the calls that make and end tasks ---- */

/* Adds the calls that such events come from, if the kernel reports them. 0, or -errno and none. */
int calls_find(struct perf_want *want, uint32_t tasks);
/* Keeps a call: the thread's next event of that kind comes from it. */
void calls_keep(struct proc *p, const struct perf_record *r);
/*
 * Writes the stack of that call as the words of a record, 1..1 + UFT_STACK_MAX; returns their number. Without a known
 * call the stack is empty.
 */
uint32_t calls_take(struct proc *p, pid_t tid, uint32_t task, uint64_t *w);
void calls_drop(struct proc *p, pid_t tid);
void calls_drop_all(struct proc *p);

/* ---- observed.c ---- */

struct thread *observe_thread(const struct proc *p, pid_t tid);	/* NULL: not known */
/* @like: its own former entry, or that of its maker, which gave it name and priority. NULL: no memory. */
struct thread *observe_thread_add(struct observe *o, struct proc *p, pid_t tid, const struct thread *like);
struct thread observe_thread_read(pid_t pid, pid_t tid);	/* name and priority from /proc */
struct proc *observe_proc_add(struct observe *o, pid_t pid, pid_t ppid);
void observe_proc_end(struct observe *o, struct proc *p);
/* Begins a process's memory; its records go to processes that share it. */
void observe_begin_space(struct observe *o, struct proc *p, struct space *space);
struct proc *observe_proc(const struct observe *o, pid_t pid);
uint32_t observe_slice(const struct observe *o, pid_t pid);	/* UFT_NO_SLICE: it is no target */
/* reads a number of stat, by its field in proc(5). 0 or -errno */
int observe_stat(pid_t pid, pid_t tid, int field, int *value);
int observe_prio(pid_t pid, pid_t tid);		/* the kernel's; -1: not known */

/* ---- watchpoints.c; without effect if no memory is watched ---- */

/* Searches the ranges with a bit in @wanted in @p, and adds events for them to all of its threads. */
void points_find(struct observe *o, struct proc *p, uint32_t wanted);
/* Records that the points from @from on begin or, with UFT_ACCESS_END, that they end. */
void points_tell(struct observe *o, const struct proc *p, uint32_t from, uint64_t ns, uint64_t flags);
/* Ends the process's points: it has ended, executes another program, or was detached. */
void points_end(struct observe *o, struct proc *p, uint64_t ns);
/* @t is not listed by any process any more: its events for points end, unless another thread has the same. */
void points_release(struct observe *o, const struct thread *t);
/* Some events ended for all threads that shared them: those threads get new ones in the next round. */
void points_ended(struct observe *o);
/* @t was made at @ns by a thread with the same events: it has the events that its maker had by then. */
void points_inherit(struct observe *o, struct proc *p, struct thread *t, uint64_t ns);
/* After each taking: does what was not possible before. */
void points_round(struct observe *o);
/* At the end: warns of each variable that no process had. */
void points_say_unfound(struct observe *o);

#endif
