// SPDX-License-Identifier: MIT
/*
 * observe.c - the tracers sysprof, sched_switch and mmiotrace, and switches beside calls
 *
 * The kernel reports what a thread does by perf events (perf.c): a sample each millisecond of its CPU time, or each
 * time it gets a CPU and leaves it, or each time it touches watched memory (watch_list.c). Nothing runs in the program
 * for it, and nothing is patched. The events are written into slices of the session (sources.c), one for each space, so
 * they are kept, merged and read as any record. A sample is an address, which the process's image names.
 *
 * Objects
 *	proc	a process with events: where its records go, its living threads with their names
 *	into	a slice, for all processes of one space: there are few slices, and forks come by the hundred
 *	space	of a target. A child that was forked and has made no traced call is no target, and runs its parent's
 *		program
 *
 * Life of a proc: a process becomes a target and its threads get events (add_thread); or a FORK comes from a process
 * with events, and the children inherit the kernel's events. After an exec addresses mean something else: a target that
 * follows has another space; a process that is not followed has no samples any more, but still switches. A proc ends
 * with its last thread. A process that is detached has no events from then on. The kernel ends events for all tasks
 * that have them from the same thread, so the others get their own (observe_left).
 *
 * Order. Waiting records are taken before a target is made or ends (observe_take()), so that no record is resolved by
 * an image that came after it. They are also taken before the rings are emptied: observe_take() returns the time up to
 * which they are complete.
 *
 * While recording is off the events go on, because the same events report which tasks are made, end and execute
 * programs; their other content is dropped.
 *
 * The clock. Records have CLOCK_MONOTONIC, rings the counter of the CPU. Two pairs of readings, one of the last taking
 * and one of this taking, enclose the records: between them the relation is a line.
 *
 * Stacks of forks and ends are those of the calls that made them (task_calls.c); the same events report these calls
 * before.
 *
 * Forks, execs and ends as events, also alone: task_events.c. A record that cannot be resolved yet is left in the
 * kernel's rings then, with all records after it.
 *
 * Failure: records for which the kernel's rings had no room are counted as lost; a proc whose end was not reported is
 * found by a search (end_gone).
 */
#include "control/events/observe.h"

#include "control/ptrace/task_stop.h"
#include "control/events/observe_internal.h"
#include "control/events/sample_callers.h"
#include "symbol/array.h"
#include "symbol/host.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#define SAMPLE_NS	1000000u	/* as the kernel's tracer */
#define CALLER_BYTES	1024u		/* of the stack: frames of most functions are smaller */
#define STACK_BYTES	8192u
#define PRIO_NS		1000000000u	/* how long a priority counts as known */
#define SWEEP_NS	1000000000u	/* how often processes whose end was missed are searched */
#define SCANS		10		/* searches of a process whose threads make others */

/* ---- The clock ----------------------------------------------------------------------------- */

static struct pair pair_now(void)
{
	struct pair best = { 0 };
	uint64_t narrow = UINT64_MAX;

	for (int i = 0; i < 4; i++) {
		uint64_t before = host_clock(), ns = now_ns(), width = host_clock() - before;

		if (width < narrow) {
			narrow = width;
			best = (struct pair){ before + width / 2, ns };
		}
	}
	return best;
}

static uint64_t clock_at(const struct observe *o, uint64_t ns)
{
	int64_t since = (int64_t)(ns - o->from.ns);

	return o->from.clock + (uint64_t)(int64_t)((__int128)since * (int64_t)(o->to.clock - o->from.clock) /
						   (int64_t)(o->to.ns - o->from.ns));
}

/* ---- Records of the kernel ----------------------------------------------------------------- */

static int is_listed(const uint32_t *list, uint32_t n, const struct perf_record *r)
{
	for (uint32_t i = 0; i < n; i++)
		if (list[i] == (uint32_t)r->pid || list[i] == (uint32_t)r->tid)
			return 1;
	return 0;
}

static int is_wanted(const struct observe *o, const struct perf_record *r)
{
	const struct uft_tracer_params *p = &o->s->spec->params;

	uint32_t kin = p->has_pids & UFT_PIDS_FORK ? pid_inherit_lists(o->s, r->pid) : 0;

	return (!(p->has_pids & UFT_PIDS_ONLY) || kin & UFT_PIDS_ONLY || is_listed(p->pids, p->npids, r)) &&
	       !(kin & UFT_PIDS_NOT) &&
	       (!(p->has_pids & UFT_PIDS_NOT) || !is_listed(p->pids + p->npids, p->nnot_pids, r));
}

int observe_put(const struct observe *o, const struct proc *p, const struct perf_record *r, uint32_t event,
		 const uint64_t *w, uint32_t n)
{
	uint64_t task = (uint64_t)(uint32_t)r->pid | (uint64_t)(uint32_t)r->tid << 32;
	uint64_t clock = p->into ? event_ring_clock(p->into->own, r->cpu, clock_at(o, r->ns)) : clock_at(o, r->ns);
	int is_for_all = UFT_EVENT_IS_NAMED(event) && o->s->spec->tasks & UFT_TASKS_ALL;

	return p->into && r->ns >= o->on_ns && (is_for_all || is_wanted(o, r)) &&
	       !event_ring_write(p->into->own, r->cpu, clock, task, event, w, n);
}

static uint32_t task_of(uint32_t event)
{
	return event == UFT_EVENT_SCHED_FORK ? UFT_TASKS_FORK : event == UFT_EVENT_SCHED_EXIT ? UFT_TASKS_EXIT : 0;
}

void observe_event(const struct observe *o, struct proc *p, const struct perf_record *r, uint32_t event,
		   const void *payload, size_t bytes, uint32_t child)
{
	uint64_t w[UFT_EXEC_WORDS + 2] = { 0 }, stack[1 + UFT_STACK_MAX];
	uint32_t task = o->call_tasks & task_of(event), nstack = task ? calls_take(p, r->tid, task, stack) : 0;
	uint64_t clock = p->into ? event_ring_clock(p->into->own, r->cpu, clock_at(o, r->ns)) : clock_at(o, r->ns);
	struct uft_told_event told = { event, (uint32_t)r->pid, (uint32_t)r->tid, child, clock };
	struct uft_record record = { .payload = payload, .bytes = (uint32_t)bytes, .known = UFT_FACT_TID | UFT_FACT_CPU,
		.tid = (uint32_t)r->tid, .pid = (uint32_t)r->pid, .cpu = r->cpu };

	bytes = bytes < sizeof(w) ? bytes : sizeof(w);
	memcpy(w, payload, bytes);
	if (o->s->ev.told)
		o->s->ev.told(o->s->ev.arg, &told);
	if (spec_accepts_event(o->s->spec, uft_event_table_by_id(o->s->types, event), &record) &&
	    observe_put(o, p, r, event, w, (uint32_t)(bytes + 7) / 8) && nstack)
		observe_put(o, p, r, UFT_EVENT_STACK, stack, nstack);
}

static void take_sample(struct observe *o, struct proc *p, const struct perf_record *r)
{
	uint64_t w[1 + UFT_STACK_MAX] = { r->pc };
	uint32_t n;

	if (p->is_other || !p->into)
		return;
	n = 1 + walk_callers(p->into->space, r, w + 1, o->has_stacks ? UFT_STACK_MAX : 1);
	observe_put(o, p, r, UFT_EVENT_SAMPLE, w, n < 2 ? n : 2);
	w[0] |= UFT_STACK_ADDRESS;
	if (o->has_stacks)
		observe_put(o, p, r, UFT_EVENT_STACK, w, n);
}

static void take_access(struct observe *o, struct proc *p, const struct perf_record *r)
{
	uint64_t w[4];

	if (!p->is_other && p->into && access_record(p->into->space, p->point, p->npoints, r, w))
		observe_put(o, p, r, UFT_EVENT_ACCESS, w, 4);
}

static void take_switch(struct observe *o, struct proc *p, const struct perf_record *r, uint64_t how)
{
	struct thread *t = observe_thread(p, r->tid);

	if (t && r->ns > t->prio_ns + PRIO_NS) {
		int prio = observe_prio(p->pid, r->tid);

		t->prio = prio >= 0 ? prio : t->prio;
		t->prio_ns = r->ns;
	}
	if (t && t->prio >= 0)
		how |= UFT_SWITCH_PRIO | (uint64_t)(uint32_t)t->prio << 32;
	observe_put(o, p, r, UFT_EVENT_SWITCH, &how, 1);
}

/*
 * Is this the agent's name? The agent is a process of one thread, and has inherited the events of the thread that made
 * it.
 */
static int is_agent(const struct proc *p, const char *comm)
{
	return (!p || p->nthreads == 1) && !strncmp(comm, "uft-agent", 9) && (!comm[9] || comm[9] == '\n');
}

/* Is the new process a part of the runtime? Then it has the agent's name by now, or had it before it ended. */
static int is_made_by_us(const struct observe *o, const struct perf_record *r)
{
	char comm[32];

	return proc_read_file(r->pid, "comm", comm, sizeof(comm)) > 0 ? is_agent(NULL, comm) :
		perf_is_named(o->perf, r->tid, "uft-agent");
}

static void take_fork(struct observe *o, struct proc *p, const struct perf_record *r, struct proc *parent)
{
	struct thread like;

	if (!parent || (!p && !session_follows_children(o->s)))
		return;		/* detached meanwhile, or a child without events, whose end would not be reported */
	if (!p && is_made_by_us(o, r))
		return;		/* else the name ends its proc */
	tasks_fork(o, parent, r);
	like = *observe_thread(parent, r->ptid);
	if (!p) {
		pid_inherit_fork(o->s, r->pid, parent->pid);	/* it may never have an event itself */
		p = observe_proc_add(o, r->pid, parent->pid);
		if (p && parent->into) {
			observe_begin_space(o, p, parent->into->space);
			p->is_other = parent->is_other;
			memcpy(p->point, parent->point, sizeof(p->point));
			p->npoints = parent->npoints;
			p->missing = parent->missing;
			p->nobj = parent->nobj;
			points_tell(o, p, 0, r->ns, 0);
		}
	}
	if (p) {
		points_inherit(o, p, &like, r->ns);
		observe_thread_add(o, p, r->tid, &like);
	}
}

/* Releases the former points of threads, because each thread has them again or has ended. */
static void forget_old(struct observe *o, struct proc *p)
{
	while (p->nold) {
		struct thread ended = p->old[--p->nold];

		points_release(o, &ended);
	}
	free(p->old);
	p->old = NULL;
}

static void take_comm(struct observe *o, struct proc *p, const struct perf_record *r)
{
	const struct thread *t = observe_thread(p, r->tid);
	struct thread like;

	if (r->pid == r->tid && !r->is_exec && is_agent(p, r->comm)) {
		observe_proc_end(o, p);
		return;
	}
	/*
	 * All other threads have ended by then. If another thread than the first executes, the first has ended, too,
	 * and the executing thread takes its number, and keeps its own events.
	 */
	if (!t && r->is_exec && p->nthreads == 1)
		t = &p->thread[0];
	like = t ? *t : observe_no_thread;
	memcpy(like.comm, r->comm, sizeof(like.comm));
	if (r->is_exec) {
		tasks_exec(o, p, r);
		calls_drop_all(p);
		p->is_other = 1;
		points_end(o, p, r->ns);
		forget_old(o, p);
		while (p->nthreads) {
			struct thread ended = p->thread[--p->nthreads];

			points_release(o, &ended);
		}
		memcpy(like.point, observe_no_thread.point, sizeof(like.point));
		memset(like.point_ns, 0, sizeof(like.point_ns));
	}
	observe_thread_add(o, p, r->tid, &like);
}

/* Records a thread's last moment on a CPU: its events end before the thread does, so no other record reports it. */
static void take_exit(struct observe *o, struct proc *p, const struct perf_record *r)
{
	struct thread *t = observe_thread(p, r->tid), ended;

	tasks_exit(o, p, r);
	calls_drop(p, r->tid);
	if (o->is_switches)
		take_switch(o, p, r, UFT_SWITCH_ENDED);
	if (t) {
		ended = *t;
		*t = p->thread[--p->nthreads];
		points_release(o, &ended);
	}
	if (!p->nthreads) {
		points_end(o, p, r->ns);
		observe_proc_end(o, p);
	}
}

/* Lost records: the kernel tells where they were lost, but not whose they were. */
static void take_lost(struct observe *o, const struct perf_record *r)
{
	o->has_lost = 1;
	if (o->intos && r->ns >= o->on_ns)
		event_ring_lost(o->intos->own, r->cpu, r->lost);
}

/* The process of the thread that made this one. */
static struct proc *proc_of_thread(const struct observe *o, pid_t tid)
{
	for (struct proc *p = o->procs; p; p = p->next)
		if (observe_thread(p, tid))
			return p;
	return NULL;
}

static void take_one(struct observe *o, const struct perf_record *r)
{
	struct proc *p = observe_proc(o, r->pid);

	if (p && p->exec_ns && p->pid != o->coming)
		tasks_put_exec(o, p);
	if (r->kind == PERF_FORK)
		take_fork(o, p, r, proc_of_thread(o, r->ptid));
	else if (r->kind == PERF_LOST)
		take_lost(o, r);
	else if (!p)
		return;		/* it came before its FORK, or the process has ended: microseconds are lost */
	else if (r->kind == PERF_SAMPLE && o->has_points)
		take_access(o, p, r);
	else if (r->kind == PERF_SAMPLE)
		take_sample(o, p, r);
	else if (r->kind == PERF_CALL)
		calls_keep(p, r);
	else if (r->kind == PERF_SWITCH)
		take_switch(o, p, r, (r->is_in ? UFT_SWITCH_IN : 0) | (r->is_preempted ? UFT_SWITCH_PREEMPTED : 0));
	else if (r->kind == PERF_COMM)
		take_comm(o, p, r);
	else if (r->kind == PERF_EXIT)
		take_exit(o, p, r);
}

/*
 * Ends processes whose end was lost, or came before the record of a new thread of theirs: the rings of CPUs differ by
 * microseconds.
 */
static void end_gone(struct observe *o)
{
	for (struct proc *p = o->procs, *next; p; p = next) {
		next = p->next;
		if (!kill(p->pid, 0) || errno != ESRCH)
			p->is_gone = 0;
		else if (p->is_gone)
			observe_proc_end(o, p);
		else
			p->is_gone = 1;
	}
}

/* Takes all records, as well as they can be resolved now. */
static void take_all(struct observe *o)
{
	o->is_final++;
	observe_take(o);
	o->is_final--;
}

uint64_t observe_take(struct observe *o)
{
	struct perf_record r;
	uint64_t ns = perf_begin(o->perf);
	struct pair now = pair_now();

	if (now.ns > o->to.ns + 1000000) {		/* with less distance the line would be noise */
		o->from = o->to;
		o->to = now;
	}
	while (perf_next(o->perf, &r)) {
		if (tasks_must_wait(o, &r)) {
			ns = r.ns - 1;
			break;
		}
		take_one(o, &r);
	}
	if (o->has_points)
		points_round(o);
	if (now.ns > o->swept_ns + SWEEP_NS) {
		end_gone(o);
		o->swept_ns = now.ns;
	}
	if (o->has_lost)
		session_warn(o->s,
			     "the kernel dropped events of the program's threads, as its buffer was full: they are counted as lost%s",
			     spec_has_own(o->s->spec, UFT_TRACER_SYSPROF) ? "; a longer sample period takes less" :
			     o->call_tasks ? "; without stacks it has room for more" : "");
	return clock_at(o, ns);
}

/* ---- Targets ------------------------------------------------------------------------------- */

struct unknown { const struct proc *p; pid_t *tid; size_t n, cap; };

static int list_unknown(void *arg, pid_t pid, pid_t tid)
{
	struct unknown *u = arg;

	(void)pid;
	if (observe_thread(u->p, tid))
		return 0;
	if (array_reserve(u->tid, u->cap, u->n + 1))
		return -ENOMEM;
	u->tid[u->n++] = tid;
	return 0;
}

/* Adds events to a thread that has none. */
static int add_thread(struct observe *o, struct proc *p, pid_t tid)
{
	struct thread like;
	int ret;

	if (observe_thread(p, tid))
		return 0;
	ret = perf_add(o->perf, tid);
	if (ret < 0)
		return ret == -ESRCH ? 0 : ret;
	like = observe_thread_read(p->pid, tid);
	like.group = ret;
	for (uint32_t i = 0; i < p->nold; i++)
		if (p->old[i].tid == tid) {
			memcpy(like.point, p->old[i].point, sizeof(like.point));
			memcpy(like.point_ns, p->old[i].point_ns, sizeof(like.point_ns));
		}
	for (uint32_t k = 0; k < p->npoints; k++)
		p->has_unarmed |= !perf_has(o->perf, like.point[k]);
	return observe_thread_add(o, p, tid, &like) ? 0 : -ENOMEM;
}

uint32_t observe_slice(const struct observe *o, pid_t pid)
{
	const struct target *t = target_by_pid(o->s, pid);

	return t ? t->slice : UFT_NO_SLICE;
}

static void say_refused(struct observe *o, pid_t pid, int ret)
{
	if (ret == -EMFILE)
		session_warn_of(o->s, observe_slice(o, pid),
				"process %d is observed in part: each of its threads takes a descriptor for each CPU (ulimit -n)",
				pid);
	else
		session_warn_of(o->s, observe_slice(o, pid), "process %d is not observed: perf_event_open: %s", pid,
				strerror(-ret));
}

/*
 * 1. List the threads that are not known.
 * 2. Take the records up to now: a thread made by a thread with events has them, too, and is known now by its FORK.
 * 3. Add events to the others. Threads that these made since step 1 have none, so repeat until there are no others.
 *
 * A thread that is made while its maker gets the events of one CPU after another has those of some CPUs only, for
 * microseconds.
 */
static void add_threads(struct observe *o, pid_t pid)
{
	struct unknown u = { .n = 1 };
	struct proc *p;
	int ret = 0;

	for (int i = 0; i < SCANS && u.n && !ret; i++) {
		u.n = 0;
		u.p = p = observe_proc(o, pid);
		ret = p ? each_task(pid, list_unknown, &u) : 0;
		if (!u.n || ret < 0)
			break;
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
		take_all(o);
		p = observe_proc(o, pid);
		for (size_t k = 0; k < u.n && p && ret >= 0; k++)
			ret = add_thread(o, p, u.tid[k]);
		ret = ret < 0 ? ret : 0;
	}
	if (ret < 0 && ret != -ESRCH)
		say_refused(o, pid, ret);
	else if (perf_calls_error(o->perf) && !o->is_short_of_calls++)
		session_warn(o->s,
			     "some events of sched have no stacks: the kernel's tracepoints of system calls: %s; each thread takes %u descriptors for each CPU",
			     strerror(-perf_calls_error(o->perf)), 1 + PERF_CALLS_MAX);
	free(u.tid);
}

void observe_target(struct observe *o, const struct target *t)
{
	struct proc *p;

	o->coming = t->pid;
	take_all(o);
	o->coming = 0;
	p = observe_proc(o, t->pid);
	if (p && (p->is_other || !p->into)) {	/* its events in the kernel are still there */
		observe_begin_space(o, p, t->space);
		points_find(o, p, UINT32_MAX);
	}
	if (p)
		return;
	p = observe_proc_add(o, t->pid, t->ppid);
	if (!p)
		return;
	observe_begin_space(o, p, t->space);
	add_threads(o, t->pid);
	p = observe_proc(o, t->pid);
	if (p)
		points_find(o, p, UINT32_MAX);
}

void observe_exec(struct observe *o, const struct target *t)
{
	struct proc *p = observe_proc(o, t->pid);
	int cpu = 0;

	if (!p)
		return;
	if (!p->is_exec_told) {		/* a program that uft started had no events before */
		observe_stat(t->pid, t->pid, 39, &cpu);
		tasks_exec(o, p,
			   &(struct perf_record){
				   .ns = now_ns(), .cpu = (uint32_t)cpu, .pid = t->pid, .tid = t->pid });
	}
	tasks_put_exec(o, p);
	p->is_exec_told = 0;
}

/*
 * Forgets threads that have no events. ->old keeps their points, because memory that is watched twice would be reported
 * twice, and between two points not at all, which is so where there is no memory for ->old. 1: there were such threads.
 */
static int forget_unobserved(struct observe *o, struct proc *p)
{
	const uint32_t before = p->nthreads;

	forget_old(o, p);
	p->old = o->has_points ? calloc(before + 1, sizeof(*p->old)) : NULL;
	for (uint32_t i = before; i-- > 0;) {
		const struct thread t = p->thread[i];

		if (perf_has(o->perf, t.group))
			continue;
		memmove(p->thread + i, p->thread + i + 1, (--p->nthreads - i) * sizeof(t));
		if (p->old)
			p->old[p->nold++] = t;
		else
			points_release(o, &t);
	}
	return p->nthreads < before;
}

/*
 * Adds new events to tasks that inherited theirs from a detached task. Before the first of them no task may count as
 * having events.
 */
static void observe_again(struct observe *o)
{
	for (struct proc *p = o->procs; p; p = p->next)
		p->is_again = forget_unobserved(o, p);
	for (struct proc *p = o->procs; p;) {
		const pid_t pid = p->pid;

		if (!p->is_again) {
			p = p->next;
			continue;
		}
		p->is_again = 0;
		add_threads(o, pid);
		if (p == observe_proc(o, pid)) {
			forget_old(o, p);
			if (!p->nthreads)	/* it has ended meanwhile, and no record told */
				observe_proc_end(o, p);
		}
		p = o->procs;			/* which may be others by now */
	}
}

void observe_left(struct observe *o, pid_t pid)
{
	struct proc *p;

	take_all(o);
	p = observe_proc(o, pid);
	if (!p)
		return;
	for (uint32_t i = 0; i < p->nthreads; i++) {
		perf_remove(o->perf, p->thread[i].group);
		for (uint32_t k = 0; k < ACCESS_MAX; k++)
			perf_remove(o->perf, p->thread[i].point[k]);
	}
	points_end(o, p, now_ns());
	observe_proc_end(o, p);
	points_ended(o);
	take_all(o);		/* threads made meanwhile have no events either */
	observe_again(o);
}

/* ---- Life ---------------------------------------------------------------------------------- */

uint32_t observe_stacks_of(const struct spec *sp)
{
	return sp->params.stacks & UFT_STACKS_TRACEPOINT ? sp->tasks & UFT_TASKS_STACKS : 0;
}

int observe_check_stacks(struct uft_error *err)
{
	struct perf_want want = { .call_bytes = STACK_BYTES };
	int ret = calls_find(&want, UFT_TASKS_STACKS);

	ret = ret ? ret : perf_check_calls(&want);
	return !ret ? 0 : uft_fail(err, ret,
				   "events of sched have no stacks here: the kernel's tracepoints of system calls: %s%s",
				   strerror(-ret), ret == -EPERM || ret == -EACCES ? " (root may use them)" : "");
}

static struct perf_want want_of(const struct uft_session *s, const struct spec *sp)
{
	int is_sysprof = spec_has_own(sp, UFT_TRACER_SYSPROF);
	struct perf_want want = {
		.sample_ns = !is_sysprof ? 0 : sp->sample_ns ? sp->sample_ns : SAMPLE_NS,
		.has_switches = sp->has_switches,
		.stack_bytes = !is_sysprof ? 0 : sp->has_stacks ? STACK_BYTES : CALLER_BYTES,
		.has_points = spec_has_own(sp, UFT_TRACER_MMIOTRACE),
		.is_process_only = s && !session_follows_children(s),
	};

	if (observe_stacks_of(sp) && !observe_check_stacks(&(struct uft_error){ "" }) &&
	    !calls_find(&want, observe_stacks_of(sp)))
		want.call_bytes = STACK_BYTES;
	return want;
}

/* After perf_open(): notes which events have stacks. */
static void begin_stacks(struct observe *o, const struct spec *sp, const struct perf_want *want)
{
	struct uft_error err = { "" };

	o->call_tasks = want->ncalls ? observe_stacks_of(sp) : 0;
	if (observe_stacks_of(sp) && !o->call_tasks && observe_check_stacks(&err))
		session_warn(o->s, "%s", err.text);
}

static int refused(int ret, struct uft_error *err)
{
	char level[16] = "";
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");

	if (f && !fgets(level, sizeof(level), f))
		level[0] = '\0';
	if (f)
		fclose(f);
	level[strcspn(level, "\n")] = '\0';
	if (ret == -EACCES || ret == -EPERM)
		return uft_fail(err, ret,
				"the kernel does not report what threads do: kernel.perf_event_paranoid is %s; every user may ask if it is 2 "
				"(sysctl kernel.perf_event_paranoid=2), or a program with CAP_PERFMON; the seccomp filter of a container "
				"can forbid perf_event_open, too", level[0] ? level : "not known");
	if (ret == -EDQUOT)
		return uft_fail(err, ret,
				"the kernel does not report what threads do: this user may not lock more memory for the reports; raise "
				"ulimit -l or kernel.perf_event_mlock_kb");
	if (ret == -ENOSPC)
		return uft_fail(err, ret, "no debug register of the CPUs is free: a debugger or perf uses them");
	return uft_fail(err, ret, "the kernel does not report what threads do: perf_event_open: %s", strerror(-ret));
}

int observe_check(const struct spec *sp, struct uft_error *err)
{
	struct perf_want want = want_of(NULL, sp);
	struct perf *p;
	int ret = perf_open(&want, &p);

	if (ret)
		return refused(ret, err);
	perf_close(p);
	return 0;
}

static void hear(struct observe *o)
{
	for (uint32_t i = 0; perf_descriptor(o->perf, i) >= 0; i++) {
		struct epoll_event ev = { .events = EPOLLIN, .data.fd = perf_descriptor(o->perf, i) };

		epoll_ctl(o->s->epoll_fd, EPOLL_CTL_ADD, ev.data.fd, &ev);
	}
}

struct observe *observe_begin(struct uft_session *s)
{
	struct perf_want want = want_of(s, s->spec);
	struct observe *o = calloc(1, sizeof(*o));
	struct uft_error err = { "" };
	int ret = o ? perf_open(&want, &o->perf) : -ENOMEM;

	if (ret) {
		refused(ret, &err);
		session_warn(s, "%s", err.text);
		free(o);
		return NULL;
	}
	o->s = s;
	o->is_switches = want.has_switches;
	o->has_stacks = s->spec->has_stacks;
	o->has_points = want.has_points;
	begin_stacks(o, s->spec, &want);
	if (want.sample_ns && !perf_has_kernel(o->perf))
		session_warn(s, "time in the kernel is not sampled: kernel.perf_event_paranoid is above 1");
	o->from = (struct pair){ s->clock0, s->mono0 };
	while (now_ns() < s->mono0 + 5000000)	/* two clocks' ratio needs some distance */
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	o->to = pair_now();
	hear(o);
	for (struct target *t = s->targets; t; t = t->next)
		if (!t->is_over)
			observe_target(o, t);
	return o;
}

/* Takes the children of threads that only have the events of @old. */
static void take_forks(struct observe *o, struct perf *old)
{
	struct perf_record r;
	struct thread *t;
	struct proc *p;

	perf_begin(old);
	while (perf_next(old, &r)) {
		if (r.kind != PERF_FORK || observe_proc(o, r.pid))
			continue;
		take_fork(o, NULL, &r, proc_of_thread(o, r.ptid));
		p = observe_proc(o, r.pid);
		t = p ? observe_thread(p, r.tid) : NULL;
		if (t)
			t->group = -1;
	}
}

/*
 * Also for processes that are no targets, because only this file knows them. The old events last until all have new
 * ones, and report tasks that are made meanwhile.
 */
void observe_set(struct observe *o, const struct spec *sp)
{
	struct perf_want want = want_of(o->s, sp);
	struct perf *perf, *old = o->perf;
	int ret = perf_open(&want, &perf);

	if (ret) {
		session_warn(o->s, "cannot change which events of threads are recorded: perf_event_open: %s",
			     strerror(-ret));
		return;
	}
	take_all(o);
	o->perf = perf;
	o->is_switches = want.has_switches;
	o->has_stacks = sp->has_stacks;
	begin_stacks(o, sp, &want);
	hear(o);
	for (struct proc *p = o->procs; p; p = p->next)
		for (uint32_t i = 0; i < p->nthreads; i++)
			p->thread[i].group = -1;
	observe_again(o);
	take_all(o);
	take_forks(o, old);
	observe_again(o);
	perf_close(old);
}

void observe_run(struct observe *o, int on)
{
	observe_take(o);
	o->on_ns = on ? now_ns() : UINT64_MAX;
}

void observe_end(struct observe *o)
{
	take_all(o);
	points_say_unfound(o);
	while (o->procs) {
		points_end(o, o->procs, now_ns());
		observe_proc_end(o, o->procs);
	}
	perf_close(o->perf);
	free(o);
}
