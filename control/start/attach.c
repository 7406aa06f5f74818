// SPDX-License-Identifier: MIT
/*
 * attach.c - put the runtime into a running process
 *
 * The session stops one thread of the process for a few mmap() calls, one clone() and one wait4(). That makes the agent
 * (runtime/agent/attach.c), which sets up everything else beside the running program. The attach calls no code of the
 * program, uses none of its stacks, sends it no signal and opens no descriptor in it. So its threads may be anywhere:
 * inside malloc, the loader or a signal handler, on any stack, with any libc or none.
 *
 *	look	check that the process can be attached to; needs no stop (attachable.c)
 *	plan	read its files, symbols and sites, while it runs
 *	stop	stop the thread that is disturbed least (pick_task)
 *	map	map the blob and memory for the agent's stack, and make the agent: remote_call.h
 *	resume	restore registers and signal mask; the interrupted system call continues
 *	meet	take the agent's socket by pidfd_getfd(), and send it the arena
 *	look	for the memory of another session, which came at the same moment: of two that find each other the
 *		one with the higher number leaves, and the other one waits for that
 *	arm	hooks, then sites (arm_stopped.c for those that need a stop of all threads)
 *
 * The interrupted system call. The stop makes the kernel leave the call with a restart code in rax. The kernel starts
 * the call again when the thread resumes from a stop of the same kind, so the session resumes it from such a stop. Some
 * calls return -EINTR instead; those that may be repeated (ptrace/task_stop.c) get the restart code that a signal
 * handler would still turn into -EINTR. Their time-out, if any, begins again, once. A thread in a call that transfers
 * data in parts is stopped only if there is no other.
 *
 * Changes meanwhile. A process may exec, exit or fork at any moment. The session has its pidfd. It knows the image by
 * the auxiliary vector, and reads that again in the stop and after a failure to arm: the process may have executed
 * another program before its hooks could tell, and is then attached to again. A fork child has a copy of everything,
 * but no site is armed before all hooks are in place.
 *
 * Files. attach_agent.c makes, meets and removes the agent; attach_finish.c ends an attach that was cut short.
 *
 * Failure. Until the agent serves, nothing of the program is changed: the session kills the agent, unmaps the blob and
 * resumes the thread.
 */
#include "control/arm/arm.h"
#include "control/start/attach_internal.h"
#include "control/arena/journal.h"
#include "control/arm/arm_stopped.h"
#include "control/ptrace/task_stop.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOP_MS		2000		/* for one thread to stop: it may wait for a CPU that long */
#define HURRY_MS	5		/* before a thread that does not stop gets a better priority */
#define STOP_TRIES	8		/* threads */
#define ASLEEP_MS	3000		/* for a thread to leave uninterruptible sleep; this delays no thread */
#define OPTIONS		(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC)
#define AUXV_PAIR	16u		/* bytes of an entry */
#define TRIES		5		/* of an attach, while the process starts or executes other programs */
#define VFORK_MS	2000
#define OTHERS_MS	3000		/* for another session to leave, which came at the same moment */
#define LIST_MS		2000		/* for the loader to finish a change of its list */
#define PTRACE_GET_RSEQ_CONFIGURATION_ 0x420f

struct rseq_config {
	uint64_t pointer;
	uint32_t size, signature, flags, pad;
};

/* ---- Choice of a thread ---------------------------------------------------------------------- */

enum { IN_FUTEX = SYS_futex };

/* Rates tasks: a higher value is disturbed less by a stop; 0: it cannot be stopped. */
static int task_merit(const struct taskinfo *t)
{
	if (t->state == 'D' || t->state == 'Z' || t->state == 'X')
		return 0;
	if (t->is_running)
		return 5;
	switch (t->nr) {
	case SYS_futex: case SYS_poll: case SYS_ppoll: case SYS_select: case SYS_pselect6: case SYS_nanosleep:
	case SYS_clock_nanosleep: case SYS_accept: case SYS_accept4: case SYS_wait4: case SYS_waitid: case SYS_pause:
	case SYS_rt_sigsuspend:
		return 6;
	case SYS_epoll_wait: case SYS_epoll_pwait: case 441:
		return 4;
	case SYS_read: case SYS_recvfrom: case SYS_recvmsg: case SYS_rt_sigtimedwait:
		return 3;
	case SYS_write: case SYS_writev: case SYS_sendto: case SYS_sendmsg: case SYS_sendfile: case SYS_splice:
		return 1;
	}
	return 2;
}

/* Returns the thread with the highest merit that was not tried; 0: there is none. */
static pid_t pick_task(const struct attach *a, const pid_t *tried, int ntried)
{
	char path[64];
	struct dirent *e;
	pid_t best = 0;
	int merit = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", a->pid);
	d = opendir(path);
	while (d && merit < 6 && (e = readdir(d))) {
		struct taskinfo t;
		pid_t tid = (pid_t)atoi(e->d_name);
		int i = 0, m;

		while (i < ntried && tried[i] != tid)
			i++;
		if (tid <= 0 || i < ntried || taskinfo_read(a->pid, tid, &t))
			continue;
		m = task_merit(&t);
		if (m > merit) {
			merit = m;
			best = tid;
		}
	}
	if (d)
		closedir(d);
	return best;
}

/* ---- Stop and resume --------------------------------------------------------------------------- */

/* Waits for the stop of PTRACE_INTERRUPT. 0; -ESRCH: it ended; -ETIMEDOUT; -EAGAIN: it executed another program. */
static int await_stop(struct remote *r, pid_t pid, unsigned ms)
{
	uint64_t deadline = now_ns() + ms * 1000000ull;

	for (;;) {
		int status, got = waitpid(r->tid, &status, __WALL | WNOHANG);

		/* The thread that executes a program gets the number of the process. */
		if (got < 0 && errno == ECHILD && r->tid != pid) {
			r->tid = pid;
			continue;
		}
		if (got < 0)
			return -ESRCH;
		if (!got) {
			if (now_ns() > deadline)
				return -ETIMEDOUT;
			nap(20);
			continue;
		}
		if (!WIFSTOPPED(status))
			return -ESRCH;
		if (status >> 16 == PTRACE_EVENT_EXEC) {
			task_detach(r->tid, 0);
			return -EAGAIN;
		}
		if (status >> 16 == PTRACE_EVENT_STOP)
			return 0;
		task_request(PTRACE_CONT, r->tid, 0, (void *)(intptr_t)stop_signal_of(status));
	}
}

/* The same; a task that does not stop soon waits for a CPU, so it gets a better priority meanwhile. */
static int await_stop_hurried(struct remote *r, pid_t pid)
{
	pid_t tid = r->tid;		/* r->tid changes when the thread executes a program */
	int ret = await_stop(r, pid, HURRY_MS), nice, is_hurried;

	if (ret != -ETIMEDOUT)
		return ret;
	is_hurried = task_raise_priority(tid, &nice);
	ret = await_stop(r, pid, STOP_MS);
	if (is_hurried) {
		task_restore_priority(r->tid, nice);
		guard_forget_hurried(tid);
	}
	return ret;
}

/* Seizes and stops a thread. 0 or -errno; on an error the thread runs on unchanged. */
static int stop_task(struct attach *a, pid_t tid)
{
	int ret;

	a->r.tid = tid;
	a->r.is_late = 0;
	/* Our calls in the thread should not meet the program's filter; suspending the filter needs CAP_SYS_ADMIN. */
	if (ptrace(PTRACE_SEIZE, tid, 0, OPTIONS | PTRACE_O_SUSPEND_SECCOMP) < 0 &&
	    ptrace(PTRACE_SEIZE, tid, 0, OPTIONS) < 0)
		return -errno;
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0) {
		late_task_add(tid);
		return -ESRCH;
	}
	ret = await_stop_hurried(&a->r, a->pid);
	if (ret == -ETIMEDOUT)
		late_task_add(tid);
	return ret;
}

/* In an rseq critical section the thread must not be used: after we moved its pc, the kernel would not abort it. */
static int is_in_rseq(struct attach *a)
{
	struct rseq_config c = { 0 };
	struct { uint32_t version, flags; uint64_t start, length, abort; } cs;
	uint64_t at = 0;
	int64_t offset;

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION_, a->r.tid, sizeof(c), &c) < 0 || !c.pointer)
		return 0;
	offset = (int64_t)(c.pointer - a->r.regs.fs_base);
	if (offset && offset <= REMOTE_RSEQ_REACH && offset >= -REMOTE_RSEQ_REACH)
		a->rseq_offset = offset;
	if (pread(a->r.mem, &at, sizeof(at), (off_t)(c.pointer + 8)) != sizeof(at) || !at)
		return 0;
	return pread(a->r.mem, &cs, sizeof(cs), (off_t)at) == sizeof(cs) && a->r.regs.rip - cs.start < cs.length;
}

/* Returns 1 if the process still has the image that was planned for. */
static int is_same_image(const struct attach *a, struct auxv *av)
{
	uint8_t raw[UFT_AUXV_MAX];
	size_t bytes;

	if (auxv_read(a->pid, raw, &bytes, av))
		return 0;
	return !a->space || (bytes == a->space->auxv_bytes && !memcmp(raw, a->space->auxv, bytes));
}

/*
 * Reads registers and signal mask of the stopped thread. On an error, detaches: attach_resume() would write registers
 * that are not known. 0 or -errno.
 */
static int read_thread(struct remote *r)
{
	int ret = task_request(PTRACE_GETREGS, r->tid, 0, &r->regs);

	if (!ret)
		ret = task_request(PTRACE_GETSIGMASK, r->tid, sizeof(r->sigmask), &r->sigmask);
	if (ret)
		task_detach(r->tid, 0);
	return ret;
}

/* Prepares the stopped thread for system calls. 0; -EAGAIN: this thread cannot be used now; another -errno. */
static int begin(struct attach *a)
{
	uint64_t mask = ~0ull & ~(1ull << (SIGSYS - 1));	/* a forced signal that is blocked loses its handler */
	struct remote *r = &a->r;
	struct auxv av = { 0 };

	if (!is_same_image(a, &av))
		return -EAGAIN;
	if (a->s && !a->r.base && attach_check_thread(a, a->r.tid))	/* it may have a filter since */
		return -EACCES;
	if (r->regs.cs != 0x33 || !r->regs.fs_base || is_in_rseq(a))
		return -EAGAIN;
	regs_restart_call(&r->regs);
	r->insn = remote_find_syscall(r, &av);
	if (!r->insn)
		return -ENOTSUP;
	remote_guard(r, &av);
	return task_request(PTRACE_SETSIGMASK, r->tid, sizeof(mask), &mask);
}

void attach_resume(struct attach *a, int was_used)
{
	struct remote *r = &a->r;

	if (a->between)
		/* WNOHANG: if that zombie has another tracer, a wait would not end. */
		remote_syscall(r, SYS_wait4, (uint64_t)a->between, 0, __WALL | WNOHANG, 0, 0);
	if (was_used)
		remote_to_restart_stop(r);
	if (r->is_late) {
		if (r->pending_signal)
			proc_signal(a->info.pidfd, a->pid, r->pending_signal);
		return;
	}
	regs_restart_call(&r->regs);
	task_request(PTRACE_SETSIGMASK, r->tid, sizeof(r->sigmask), &r->sigmask);
	task_request(PTRACE_SETREGS, r->tid, 0, &r->regs);
	remote_unguard(r);
	task_detach(r->tid, 0);
	if (r->pending_signal)
		proc_signal(a->info.pidfd, a->pid, r->pending_signal);
	r->pending_signal = 0;
}

/* ---- Priority during the stop --------------------------------------------------------------------- */

/*
 * Raises our own priority: while we wait for a CPU among a hundred threads, the stopped thread waits, too. Without
 * CAP_SYS_NICE nothing changes. Returns the old nice value, which the caller restores.
 */
static int hurry_self(void)
{
	int nice = getpriority(PRIO_PROCESS, 0);

	setpriority(PRIO_PROCESS, 0, -20);
	return nice;
}

int attach_stop(struct attach *a)
{
	pid_t tried[STOP_TRIES];
	int ret = -ESRCH;

	for (int n = 0; n < STOP_TRIES; n++) {
		const int room = late_call_reserve();

		if (room)
			return room;
		tried[n] = pick_task(a, tried, n);
		/* Most threads in uninterruptible sleep wait for a page or a lock, and not for long. */
		for (int ms = 0; !n && !tried[0] && ms < ASLEEP_MS && !procinfo_is_gone(&a->info); ms++) {
			nap(1000);
			tried[0] = pick_task(a, tried, 0);
		}
		if (!tried[n] && !n)
			return procinfo_is_gone(&a->info) ? -ESRCH : -ETIMEDOUT;
		if (!tried[n])
			return ret;
		ret = stop_task(a, tried[n]);
		if (ret == -ESRCH || ret == -ETIMEDOUT)
			continue;
		if (ret)
			return ret;
		a->stop_ns = now_ns();
		ret = read_thread(&a->r);
		if (ret)
			continue;
		ret = begin(a);
		if (!ret)
			return 0;
		attach_resume(a, 0);
		if (a->why[0])
			return ret;
	}
	return ret;
}

/* ---- The whole attach ---------------------------------------------------------------------------- */

static int say_failure(const struct attach *a, int ret, struct uft_error *err)
{
	char why[400];

	if (ret == -EACCES && a->why[0])
		return uft_fail(err, ret, "process %d (%s) cannot be traced: %s", a->pid, a->info.comm, a->why);
	switch (ret) {
	case -ESRCH:
		return uft_fail(err, ret, "process %d ended", a->pid);
	case -EPERM:
		procinfo_explain_eperm(&a->info, why, sizeof(why));
		return uft_fail(err, ret, "process %d (%s) cannot be traced: %s", a->pid, a->info.comm, why);
	case -ETIMEDOUT:
		return uft_fail(err, ret,
				"process %d (%s) cannot be stopped: its threads are in uninterruptible sleep, or get no CPU "
				"time", a->pid, a->info.comm);
	case -ETIME:
		return uft_fail(err, ret, "process %d (%s) cannot be traced: uft's task in it got no CPU time for %d s "
				"(which programs run on its CPUs, and at which priority?)", a->pid, a->info.comm,
					MEET_MS / 1000);
	case -EAGAIN:
		return uft_fail(err, ret,
				"process %d (%s) keeps executing other programs, or has no thread pointer: not traced",
				a->pid, a->info.comm);
	case -ENODEV:
		return uft_fail(err, ret, "process %d (%s) cannot be traced: it must not read the clock (PR_SET_TSC)",
				a->pid, a->info.comm);
	case -ECHILD:
		return uft_fail(err, ret, "process %d (%s) cannot be traced: the agent in it was ended%s", a->pid,
				a->info.comm, a->info.seccomp ? " by the program's seccomp filter" : "");
	}
	if (rlimits_explain(a->pid, ret, a->s->arena.target_bytes, why, sizeof(why)))
		return uft_fail(err, ret, "process %d (%s) cannot be traced: %s", a->pid, a->info.comm, why);
	return uft_fail(err, ret, "the runtime cannot be put into process %d (%s): %s", a->pid, a->info.comm,
			strerror(-ret));
}

/* Waits for the end of vfork children that no hook saw: they have their parent's memory and thread pointer. */
static void await_vforks(struct attach *a)
{
	uint64_t deadline = now_ns() + VFORK_MS * 1000000ull;

	while (procinfo_has_vfork(a->pid) && now_ns() < deadline)
		nap(500);
}

/* Finds and plans all mapped objects, without arming them. 0 or -errno. */
static int know_objects(struct attach *a, struct target *t)
{
	uint64_t deadline = now_ns() + LIST_MS * 1000000ull;
	struct uft_error err = { "" };
	int ret = 0;

	for (uint32_t i = 0; i < t->nobj; i++)
		t->obj[i].is_mapped = 1;
	if (t->space->is_dynamic) {
		t->is_held_back = 1;
		while ((ret = space_walk(a->s, t, 0)) == -EAGAIN && now_ns() < deadline)
			nap(2000);
		t->is_held_back = 0;
		if (ret < 0 && ret != -EAGAIN)
			return ret;
		if (ret == -EAGAIN)
			session_warn_of(a->s, t->slice,
					"process %d: its list of libraries keeps changing: they are traced as soon as it does not",
				     a->pid);
	}
	for (uint32_t i = 0; a->s->spec && i < t->nobj; i++)
		if (t->obj[i].is_mapped && space_plan(a->s, t->space, i, &err) < 0)
			session_warn_of(a->s, t->slice, "%s", err.text);
	return 0;
}

static int has_prepared(const struct target *t)
{
	for (uint32_t i = 0; i < t->nobj; i++)
		if (t->obj[i].is_mapped && t->space->obj[i].nusable)
			return 1;
	return 0;
}

/*
 * Arms hooks first. Prepared sites need no stop, but must not be armed before hooks that need one: then hooks have a
 * stop of their own. So they have in a program that may confine itself meanwhile: its threads are looked at when it
 * cannot do so unseen any more. Otherwise one stop serves hooks and sites. 0 or -errno; -EACCES: its code is restored.
 */
static int arm(struct attach *a, struct target *t)
{
	int ret = arm_stopped_begin(a->s, t), end, is_confining;
	const char *why;

	for (uint32_t i = 0; !ret && i < t->nobj; i++)
		if (t->obj[i].is_mapped)
			ret = command_hooks(a->s, t, i);
	is_confining = seccomp_risk_is_possible(t, &why);
	if (!ret && (has_prepared(t) || is_confining)) {
		ret = arm_stopped_commit(t);
		if (!ret && is_confining) {
			ret = attach_check_threads(a); /* GUARD(attach_seccomp_late, 0) */
			if (ret == -EACCES)
				target_restore_code(a->s, t);
		}
		if (!ret)
			ret = arm_stopped_begin(a->s, t);
	}
	if (!ret)
		await_vforks(a);
	if (!ret && a->s->spec) {
		ret = target_arm(a->s, t, 0);
		t->space->spec_sent = a->s->spec->generation;
	}
	if (ret == -ESRCH || ret == -ETIMEDOUT || a->why[0]) {
		arm_stopped_drop(t);
		return ret;
	}
	end = arm_stopped_commit(t);
	return ret ? ret : end;
}

static void add_target(struct attach *a, const struct blob *b, uint32_t slice, struct target *t)
{
	target_add(a->s, t, slice, a->info.ppid);
	a->space->boot = a->r.base + b->boot;
	a->space->rseq_known = a->rseq_offset != 0;
	target_take_agent(a->s, t, a->agent_fd);
	a->agent_fd = -1;
}

/* Notes the attach for the guard; @a NULL: no attach is under way. */
static void note(struct attach *a, uint32_t slice)
{
	struct guard_notes *n = guard_notes();

	n->attach.pid = 0;
	n->at = 0;
	if (!a)
		return;
	n->slice = slice;
	a->r.base_note = &n->at;
	n->attach = a->info;
}

/* Tries once to attach. 0, or -errno and the reason in @err; -EAGAIN: the image changed meanwhile. */
static int attach_once(struct attach *a, struct target **out, struct uft_error *err)
{
	const struct blob *b = NULL;
	struct target *t = NULL;	/* made before the agent, which is hard to remove once it serves */
	uint32_t slice;
	int own, its = 0, is_hurried = 0;
	int ret = blob_get(&b);

	if (!ret)
		ret = procinfo_read(a->s, a->pid, &a->info, err);
	if (ret)
		return ret;
	ret = space_create(a->s, a->pid, NULL, NULL, &a->space, err);
	if (ret)
		return procinfo_is_gone(&a->info) ? say_failure(a, -ESRCH, err) : ret;
	slice = arena_claim(&a->s->arena, a->info.local_pid, a->info.ppid,
			    a->info.local_pid == a->pid ? 0 : UFT_SLICE_OTHER_NS);
	if (slice == UFT_NO_SLICE) {
		ret = start_no_slice(a->s, err);
		goto no_space;
	}
	a->slice = slice;
	a->s->arena.since = 0;
	session_set_slice(a->s, slice);
	t = target_reserve(a->s, a->pid, a->space);
	ret = t ? attach_check_threads(a) : -ENOMEM;
	own = hurry_self();
	note(a, slice);
	if (!ret)
		ret = attach_stop(a);
	if (!ret) {
		is_hurried = task_raise_priority(a->r.tid, &its);
		ret = attach_agent_plant(a, b, slice);
		if (is_hurried)
			task_restore_priority(a->r.tid, its);
		attach_resume(a, 1);
		if (ret && a->r.is_late)
			session_warn_left(a->s, slice,
					  "process %d: uft's memory may remain in it, unused: it did not come back from a system call",
					  a->pid);
		a->stop_ns = now_ns() - a->stop_ns;
	}
	setpriority(PRIO_PROCESS, 0, own);
	if (!ret) {
		ret = attach_agent_meet(a, b);
		if (a->agent && is_hurried)
			task_restore_priority(a->agent, its);
		if (ret && attach_agent_remove(a, b, MEET_MS))
			session_warn_left(
				a->s, slice,
				"process %d: uft's memory remains in it, unused: none of its threads can be stopped",
				a->pid);
	}
	note(NULL, 0);
	if (!ret) {
		add_target(a, b, slice, t);
		*out = t;
		return 0;
	}
	target_drop(a->s, t);
	say_failure(a, ret, err);
	arena_release(&a->s->arena, slice);
no_space:
	space_drop(a->s, a->space);
	a->space = NULL;
	return ret;
}

/*
 * Returns 1 if the image is not the one of @before. During an exec a process has for moments the memory of one program
 * and the file of the other, or none: an error found then must not be reported.
 */
static int has_other_image(pid_t pid, const uint8_t *before, size_t nbefore)
{
	uint8_t now[UFT_AUXV_MAX];
	struct auxv av;
	size_t n = 0;

	if (auxv_read(pid, now, &n, &av))
		return nbefore != 0;
	return n <= AUXV_PAIR || n != nbefore || memcmp(now, before, n) != 0;	/* only the end mark: amid an exec */
}

static int is_another(const struct attach *a, const uint8_t *before, size_t nbefore)
{
	return !procinfo_is_gone(&a->info) && has_other_image(a->pid, before, nbefore);
}

/*
 * Returns 1 if @ret comes from the end of the process: its agent ends with it or just before; the kernel refuses to
 * trace an ending task; the memory of a killed thread cannot be read.
 */
static int is_over(const struct attach *a, int ret)
{
	return (ret == -ECHILD || ret == -EPERM || ret == -ENOTSUP || ret == -EFAULT || ret == -EIO) &&
	       (procinfo_is_gone(&a->info) || proc_is_ending(a->pid));
}

static int attach(struct attach *a, struct target **t, struct uft_error *err)
{
	uint8_t auxv[UFT_AUXV_MAX];
	struct auxv av;
	int ret = -EAGAIN;

	for (int i = 0; i < TRIES && ret == -EAGAIN; i++) {
		size_t n = 0;

		if (i)
			nap(20000);
		if (auxv_read(a->pid, auxv, &n, &av))
			n = 0;
		a->info.pidfd = (int)syscall(SYS_pidfd_open, a->pid, 0);
		a->r = (struct remote){ .mem = proc_open_memory(a->pid) };
		a->agent_fd = -1;
		ret = attach_once(a, t, err);
		if (ret && ret != -EAGAIN && is_another(a, auxv, n))
			ret = say_failure(a, -EAGAIN, err);
		else if (is_over(a, ret)) /* GUARD(attach_is_over) */
			ret = say_failure(a, -ESRCH, err);
		if (a->r.mem >= 0)
			close(a->r.mem);
		if (a->info.pidfd >= 0)
			close(a->info.pidfd);
	}
	return ret;
}

int uft_session_can_attach(void)
{
	return 1;
}

/* Announces the new target and arms it. 0 or -errno. */
static int arm_attached(struct attach *a, struct target *t)
{
	struct uft_session *s = a->s;
	int ret;

	if (a->stop_ns > s->stop_ns_max)
		s->stop_ns_max = a->stop_ns;
	s->stop_ns = a->stop_ns;
	target_announce(s, t);
	ret = know_objects(a, t);
	if (!ret)
		ret = arm(a, t);
	if (s->stop_ns > s->stop_ns_sum)
		s->stop_ns_sum = s->stop_ns;
	return ret;
}

static int is_about_to_end(const struct target *t)
{
	return !target_is_running(t) || proc_is_ending(t->pid);
}

int attach_process(struct uft_session *s, pid_t pid, struct uft_error *err)
{
	for (int i = 0;; i++) {
		struct attach a = { .s = s, .pid = pid };
		struct target *t = NULL;
		int ret = attach(&a, &t, err);

		if (ret)
			return ret;
		ret = attachable_check_others(&a.info, OTHERS_MS, err); /* GUARD(attach_others, 0) */
		if (ret)
			return ret;
		ret = arm_attached(&a, t);
		if (ret && !is_about_to_end(t) && has_other_image(pid, t->space->auxv, t->space->auxv_bytes)) {
			target_end(s, t);	/* the process executed another program before its hooks could tell */
			if (i + 1 < TRIES)
				continue;
			return say_failure(&a, -EAGAIN, err);
		}
		s->attached++;
		if (ret == -ESRCH || (ret && is_about_to_end(t))) {
			s->ended_pid = s->ended_unarmed++ ? s->ended_pid : pid;
			return 0;		/* the session notices the end of the process by itself */
		}
		if (ret == -EACCES && a.why[0])
			return say_failure(&a, ret, err);
		return ret ? uft_fail(err, ret, "process %d (%s) could not be armed: %s", pid, a.info.comm,
				      strerror(-ret)) : 0;
	}
}
