// SPDX-License-Identifier: MIT
/*
 * exec_trace.c - tasks that we trace by ptrace for a moment
 *
 *	exec:	seized in its request -> PTRACE_EVENT_EXEC -> injected -> detached; or exec failed ->
 *		interrupted, detached
 *	rseq:	a static program after injection -> stops at each of its first system calls -> libc wrote
 *		__rseq_offset -> detached
 *
 * A task that does not stop in time is handed to task_stop.c, which is asked to stop such tasks again, in a
 * hold or when the program is left.
 *
 * Meanwhile the task lives as untraced: signals are passed on, group stops listened to. An exec by a thread that is
 * not the leader changes its tid to the process's; both are waited for.
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
#define NEXT_CALL_TRIES	1000		/* for the next system call; a later one is for the session's next round */
/* at the begin and the end of each system call; libc registers rseq by its sixth */
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

/* The limit that the program set itself, in its runtime: the exec ends that. */
static void note_limit(struct uft_session *s, struct exec_task *p)
{
	struct target *t = target_by_pid(s, p->tgid);
	struct uft_own_limit its;

	t = t ? t : target_by_pid(s, p->from);		/* a fork child without an event so far: its parent's, copied */
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
			return 0;	/* its last exec failed without a word */
	p = exec_task_add(s, PTASK_EXEC, tid, tgid);
	if (!p)
		return -ENOMEM;
	p->from = from;
	note_limit(s, p);
	if (watchdog_has(s, tid)) {
		watchdog_forget(s, tid);		/* it is seized, and the options will do */
		return 0;
	}
	if (ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD) < 0) {
		int ret = -errno;

		exec_task_drop(s, p);
		return ret;
	}
	return 0;
}

void exec_task_watch_rseq(struct uft_session *s, pid_t tid, uint32_t slice)
{
	struct exec_task *p = exec_task_add(s, PTASK_RSEQ, tid, tid);

	if (p)
		p->slice = slice;
	else
		ptrace(PTRACE_INTERRUPT, tid, 0, 0);	/* nobody will look: at least it is not left running traced */
}

/* The end of a task comes out of the same waits as its stops; the launched program's is asked for only once. */
static void on_end(struct uft_session *s, pid_t tid, int status)
{
	if (tid == s->launched)
		s->launched_status = status;
}

/* It stands: off it goes. Signals that stopped it first are given back. */
static void let_go(struct uft_session *s, struct exec_task *p, pid_t tid, int status)
{
	int event = status >> 16, sig = WSTOPSIG(status);

	task_detach(tid, event || sig == (SIGTRAP | 0x80) ? 0 : sig);
	exec_task_drop(s, p);
}

/*
 * The task runs: only a stopped one can be let go. What does not stop in time (uninterruptible sleep) is when
 * it does.
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

/* With int3s in its memory a task is never let go, not for a moment: it was the watchdog's, and is so again. */
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

void exec_task_release_process(struct uft_session *s, pid_t tgid)
{
	struct exec_task *p = s->exec_tasks, *next;

	for (; p; p = next) {
		next = p->next;
		if (p->tgid == tgid && !give_back(s, p))
			stop_and_detach(s, p);
	}
}

void exec_task_release_all(struct uft_session *s)
{
	struct exec_task *p = s->exec_tasks, *next;

	for (; p; p = next) {
		next = p->next;
		if (!give_back(s, p))
			stop_and_detach(s, p);
	}
	while (s->exec_tasks) {
		late_task_add(s->exec_tasks->tid);
		exec_task_drop(s, s->exec_tasks);
	}
}

/*
 * A task can execute another file than serve_exec() looked at: its link leads elsewhere meanwhile.
 * Where the session may trace all, the kernel gives such a program its rights, and it is nobody's to patch.
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

/* The new image stands before its first instruction. What it replaced is over, its slice with it. */
static void on_exec(struct uft_session *s, struct exec_task *p, pid_t tid)
{
	struct target *old = target_by_pid(s, tid), *t;
	const struct uft_limits limit = p->limit, *known = p->has_limit ? &limit : NULL;
	struct uft_error err = { "" };
	uint32_t subject;
	pid_t ppid;
	int ret;

	proc_status_hold(tid);			/* it stands */
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
		if (task_detach(tid, 0) == -ESRCH && ret != -ETIMEDOUT)
			return;			/* killed meanwhile: there is nothing to follow */
		s->not_followed++;
		session_warn_of(s, UFT_LOST_SLICE, "not followed: %s", err.text);
		return;
	}
	inject_release(s, t);
	watchdog_targets(s);
}

static void on_status(struct uft_session *s, struct exec_task *p, pid_t tid, int status);

/*
 * A system call begins or ends. Has libc written __rseq_offset? A watchpoint on it would need one stop only,
 * but some machines give a guest debug registers that never trip. A program that begins makes its system
 * calls at once: they are waited for here.
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
			 * Until the exec makes our task the leader, the leader is nobody of ours: ECHILD then
			 * says nothing.
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
			exec_task_drop(s, p);		/* gone */
		} else {
			n += WIFSTOPPED(status);
			on_status(s, p, tid, status);
		}
	}
	return n;
}
