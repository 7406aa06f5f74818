// SPDX-License-Identifier: MIT
/*
 * exec_trace.c - tasks that the session traces by ptrace for a moment
 *
 *	exec:	seized in its request -> PTRACE_EVENT_EXEC -> injected -> detached; or exec failed ->
 *		interrupted, detached
 *	rseq:	a static program after injection -> stops at each of its first system calls -> libc wrote
 *		__rseq_offset -> detached
 *
 * A task that does not stop in time is a late tracee: task_stop.c stops it later, in a stop of all tasks or at the
 * detach.
 *
 * Meanwhile the task behaves as if untraced: signals are delivered, group stops listened to. An exec by a thread that
 * is not the leader changes its tid to the process's; the session waits for both.
 */
#include "control/arm/arm.h"
#include "control/proc/procinfo.h"
#include "control/start/start.h"
#include "control/ptrace/task_stop.h"
#include "control/watchdog/int3.h"
#include "control/watchdog/watchdog.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#define STOP_MS		500
#define STOP_NAP_NS	20000
#define NEXT_CALL_TRIES	1000		/* waits for the next system call; exec_task_poll() sees a later one */
/* stops at entry and exit of system calls; libc registers rseq by its sixth call */
#define RSEQ_STOPS	64

static struct exec_task *exec_task_add(struct uft_session *s, enum exec_task_kind kind, pid_t tid, pid_t tgid)
{
	struct exec_task *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->kind = kind;
	p->tid = tid;
	p->tgid = tgid;
	p->slice = UFT_NO_SLICE;
	p->next = s->exec_tasks;
	s->exec_tasks = p;
	return p;
}

static void exec_task_drop(struct uft_session *s, struct exec_task *p)
{
	for (struct exec_task **at = &s->exec_tasks; *at; at = &(*at)->next)
		if (*at == p) {
			*at = p->next;
			break;
		}
	free(p);
}

/* Notes the limit that the program has set, which only its runtime knows: the exec removes that runtime. */
static void note_limit(struct uft_session *s, struct exec_task *p)
{
	struct target *t = target_by_pid(s, p->tgid);
	struct uft_own_limit its;

	t = t ? t : target_by_pid(s, p->from);		/* a fork child without an event has a copy of its parent's */
	if (!t || !t->space->boot ||
	    proc_read_memory(p->tid, t->space->boot + offsetof(struct uft_boot, space), &its, sizeof(its)))
		return;
	p->has_limit = its.is_set == 1;
	p->limit = its.limit;
	if (its.guest && (pid_t)its.guest == proc_namespace_pid(p->tid)) {
		p->has_limit = 1;
		p->limit = its.guests;
	}
}

int exec_task_seize(struct uft_session *s, pid_t tid, pid_t tgid, pid_t from)
{
	struct exec_task *p;

	for (p = s->exec_tasks; p; p = p->next)
		if (p->tid == tid)
			return 0;	/* its last exec failed, and the task did not report that */
	p = exec_task_add(s, PTASK_EXEC, tid, tgid);
	if (!p)
		return -ENOMEM;
	p->from = from;
	note_limit(s, p);
	if (watchdog_has(s, tid)) {
		watchdog_forget(s, tid);		/* the task is seized already, with sufficient options */
		return 0;
	}
	if (ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD) < 0) {
		int ret = -errno;

		exec_task_drop(s, p);
		return ret;
	}
	return 0;
}

int exec_task_watch_rseq(struct uft_session *s, pid_t tid, uint32_t slice, int sig)
{
	struct exec_task *p = exec_task_add(s, PTASK_RSEQ, tid, tid);
	int ret;

	if (!p)
		return -ENOMEM;
	p->slice = slice;
	ret = task_request(PTRACE_SYSCALL, tid, 0, (void *)(intptr_t)sig);
	if (ret)
		exec_task_drop(s, p);
	return ret;
}

/* The waits for stops also reap tasks that have ended. The launched program's status comes only once, so keep it. */
static void on_end(struct uft_session *s, pid_t tid, int status)
{
	if (tid == s->launched)
		s->launched_status = status;
}

/* Detaches from a stopped task, and delivers the signal that stopped it. */
static void let_go(struct uft_session *s, struct exec_task *p, pid_t tid, int status)
{
	int event = status >> 16, sig = WSTOPSIG(status);

	if (event == PTRACE_EVENT_EXEC && p->has_limit)
		rlimits_give_back(tid, &p->limit);
	task_detach(tid, event || sig == (SIGTRAP | 0x80) ? 0 : sig);
	exec_task_drop(s, p);
}

/*
 * Stops a running task and detaches, because ptrace detaches only from stopped tasks. A task that does not stop in time
 * (uninterruptible sleep) becomes a late tracee.
 */
static void stop_and_detach(struct uft_session *s, struct exec_task *p)
{
	uint64_t deadline = now_ns() + STOP_MS * 1000000ull;
	int status, got = 0;

	if (ptrace(PTRACE_INTERRUPT, p->tid, 0, 0) < 0) {
		late_task_add(p->tid);
		exec_task_drop(s, p);
		return;
	}
	while ((got = waitpid(p->tid, &status, __WALL | WNOHANG)) == 0 && now_ns() < deadline)
		nanosleep(&(struct timespec){ .tv_nsec = STOP_NAP_NS }, NULL);
	if (!got) {
		late_task_add(p->tid);
		exec_task_drop(s, p);
	} else if (got == p->tid && WIFSTOPPED(status)) {
		let_go(s, p, got, status);
	} else {
		if (got == p->tid)
			on_end(s, p->tid, status);
		exec_task_drop(s, p);
	}
}

/* A task with int3s in its memory must stay traced: gives it back to the watchdog. 0: the task must be detached. */
static int give_back(struct uft_session *s, struct exec_task *p)
{
	if (!s->traps || p->kind != PTASK_EXEC || watchdog_take_back(s, p->tid))
		return 0;
	exec_task_drop(s, p);
	return 1;
}

void exec_task_release(struct uft_session *s, pid_t tid)
{
	for (struct exec_task *p = s->exec_tasks; p; p = p->next)
		if (p->tid == tid) {
			pid_t tgid = p->tgid;

			if (give_back(s, p))
				return;
			stop_and_detach(s, p);
			watchdog_again(s, tgid);
			return;
		}
}

/* @tgid 0: all processes. */
void exec_task_release_process(struct uft_session *s, pid_t tgid)
{
	struct exec_task *p = s->exec_tasks, *next;

	for (; p; p = next) {
		next = p->next;
		if ((!tgid || p->tgid == tgid) && !give_back(s, p))
			stop_and_detach(s, p);
	}
}

void exec_task_release_all(struct uft_session *s)
{
	exec_task_release_process(s, 0);
	while (s->exec_tasks) {
		late_task_add(s->exec_tasks->tid);
		exec_task_drop(s, s->exec_tasks);
	}
}

/*
 * Refuses a program that gained rights (set-user-ID, capabilities). serve_exec() checks that before the exec, but the
 * path can lead to another file by now. If the session has CAP_SYS_PTRACE, the kernel grants those rights under ptrace,
 * and such a program must not be patched.
 */
static int check_it_gained_none(pid_t tid, struct uft_error *err)
{
	const char *why = exec_gained(tid); /* GUARD(exec_gained, NULL) */
	char name[64];

	if (!why)
		return 0;
	procinfo_read_name(tid, name, sizeof(name));
	return uft_fail(err, -EPERM, "%s (process %d) gained rights when it was started (%s)", name, tid, why);
}

/* The task is stopped before the first instruction of its new image. Its old image and slice have ended. */
static void on_exec(struct uft_session *s, struct exec_task *p, pid_t tid)
{
	struct target *old = target_by_pid(s, tid), *t;
	const struct uft_limits limit = p->limit, *known = p->has_limit ? &limit : NULL;
	struct uft_error err = { "" };
	uint32_t subject;
	pid_t ppid;
	int ret;

	proc_status_hold(tid);			/* the task is stopped */
	ppid = old ? old->ppid : (pid_t)proc_status_number(tid, "PPid", 10);
	pid_inherit_fork(s, tid, p->from ? p->from : ppid);
	exec_task_drop(s, p);
	if (old)
		target_end(s, old);
	subject = session_begin_of(s, UFT_LOST_SLICE);
	ret = check_it_gained_none(tid, &err);
	ret = ret ? ret : inject_exec(s, tid, ppid, known, &t, &err);
	session_end_of(s, subject);
	proc_status_release();
	if (ret) {
		rlimits_give_back(tid, known);
		if (task_detach(tid, 0) == -ESRCH && ret != -ETIMEDOUT)
			return;			/* the task was killed meanwhile */
		s->not_followed++;
		session_warn_of(s, UFT_LOST_SLICE, "not followed: %s", err.text);
		return;
	}
	inject_release(s, t);
	watchdog_targets(s);
}

static void on_status(struct uft_session *s, struct exec_task *p, pid_t tid, int status);

/*
 * Handles a stop at a system call: detaches when libc has written __rseq_offset. A watchpoint on that would need only
 * one stop, but some virtual machines have debug registers that never trap. A starting program makes its system calls
 * in quick succession, so this waits for the next ones.
 */
static void on_call(struct uft_session *s, struct exec_task *p)
{
	struct target *t = target_by_slice(s, p->slice);
	pid_t tid = p->tid;
	int status;

	while (t && t->pid == tid && rseq_area_send(s, t) == -ERANGE && ++p->ncalls < RSEQ_STOPS &&
	       !task_request(PTRACE_SYSCALL, tid, 0, NULL)) {
		pid_t got = 0;

		for (int tries = 0; tries < NEXT_CALL_TRIES && (got = waitpid(tid, &status, __WALL | WNOHANG)) == 0;
		     tries++)
			sched_yield();
		if (got <= 0)
			return;
		if (!WIFSTOPPED(status) || WSTOPSIG(status) != (SIGTRAP | 0x80)) {
			on_status(s, p, tid, status);
			return;
		}
	}
	task_detach(tid, 0);
	exec_task_drop(s, p);
}

static void go_on(const struct exec_task *p, pid_t tid, int sig)
{
	task_request(p->kind == PTASK_RSEQ ? PTRACE_SYSCALL : PTRACE_CONT, tid, 0, (void *)(intptr_t)sig);
}

static void on_stop(struct uft_session *s, struct exec_task *p, pid_t tid, int status)
{
	int event = status >> 16, sig = WSTOPSIG(status);

	if (event == PTRACE_EVENT_EXEC) {
		on_exec(s, p, tid);
	} else if (p->kind == PTASK_RSEQ && sig == (SIGTRAP | 0x80)) {
		on_call(s, p);
	} else if (event == PTRACE_EVENT_STOP) {
		int is_group_stop = sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;

		if (is_group_stop)
			task_request(PTRACE_LISTEN, tid, 0, NULL);
		else
			go_on(p, tid, 0);
	} else if (!event && sig == SIGTRAP && int3_serve(s, tid)) {
		go_on(p, tid, 0);
	} else {
		watchdog_note_child(s, tid, event);
		go_on(p, tid, event || sig == (SIGTRAP | 0x80) ? 0 : sig);
	}
}

static void on_status(struct uft_session *s, struct exec_task *p, pid_t tid, int status)
{
	if (WIFSTOPPED(status)) {
		on_stop(s, p, tid, status);
	} else {
		on_end(s, tid, status);
		exec_task_drop(s, p);
	}
}

int exec_task_poll(struct uft_session *s)
{
	struct exec_task *p = s->exec_tasks, *next;
	int n = 0;

	for (; p; p = next) {
		pid_t tid = p->tid;
		int status, got;

		next = p->next;
		got = waitpid(tid, &status, __WALL | WNOHANG);
		if (got <= 0 && p->tgid != tid) {
			/*
			 * Before the exec makes our task the leader, the leader is not our tracee: its ECHILD means
			 * nothing.
			 */
			int leader = waitpid(p->tgid, &status, __WALL | WNOHANG);

			if (leader > 0 || got < 0) {
				tid = p->tgid;
				got = leader;
			}
		}
		if (got == 0) {
			n++;
			continue;
		}
		if (got < 0 && errno == EINTR) {
			n++;
		} else if (got < 0) {
			exec_task_drop(s, p);		/* the task has ended */
		} else {
			n += WIFSTOPPED(status);
			on_status(s, p, tid, status);
		}
	}
	return n;
}
