// SPDX-License-Identifier: MIT
/*
 * attach_threads.c - find what a thread of a process forbids itself, which tracing would do in it
 *
 * Seccomp filters, the strict mode and the dispatch of system calls are a thread's own. A program confines its workers
 * and leaves its first thread free, or the other way round. The runtime makes calls in each thread. So all threads are
 * looked at, and one that would be ended refuses the attach:
 *
 *	before the first stop		nothing of the process is changed yet
 *	when its hooks are in place	a filter that has come meanwhile is found here, before the first site is armed.
 *					One that comes later is told of by the hooks (runtime/trace/hooks/seccomp.c)
 *
 * A filter is read while its thread stands. Only a thread under more filters than this session itself is stopped,
 * one at a time. One that does not stop in time cannot be judged, and refuses the attach as well.
 *
 * Not seen: the dispatch of calls in a thread that has no filter and is not the one that the attach stops, and all of
 * it before Linux 6.4. PR_SET_TSC in a thread that is not the one that the attach stops.
 */
#include "control/start/attach_internal.h"

#include "control/proc/seccomp.h"
#include "control/ptrace/task_stop.h"

#include <errno.h>
#include <stdio.h>
#include <sys/ptrace.h>

#define THREADS_MS	3000	/* for all threads to stop, one after the other */
#define STRICT		1	/* Seccomp: in /proc/PID/status */
#define PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG_ 0x4211

struct dispatch_config {
	uint64_t mode, selector, offset, len;
};

static int refuse_filter(struct attach *a, const char *names)
{
	if (names[0] == '?')
		snprintf(a->why, sizeof(a->why),
			 "uft cannot read its seccomp filter, which might end it for a call that tracing makes in it (uft-attach(1) lists them): run uft as root (CAP_SYS_ADMIN), which reads it first");
	else
		snprintf(a->why, sizeof(a->why),
			 "its seccomp filter would kill it for system calls of the tracing: %s", names);
	return -EACCES;
}

int attach_check_thread(struct attach *a, pid_t tid)
{
	struct dispatch_config c = { 0 };
	char names[200];

	if (ptrace(PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG_, tid, sizeof(c), &c) == 0 &&
	    c.mode /* GUARD(attach_dispatch, 0) */) {
		snprintf(a->why, sizeof(a->why),
			 "its thread %d dispatches system calls to the program's own code (PR_SET_SYSCALL_USER_DISPATCH), as it would those of the tracing",
			 tid);
		return -EACCES;
	}
	return seccomp_may_end_task(tid, names, sizeof(names)) ? refuse_filter(a, names) : 0;
}

struct look {
	struct attach *a;
	uint64_t until_ns;
};

static int look_at(void *arg, pid_t pid, pid_t tid)
{
	const struct look *look = arg;
	struct attach *a = look->a;
	const long mode = proc_status_number(tid, "Seccomp", 10);
	uint64_t since;
	int sig, ret;

	(void)pid;
	if (mode == STRICT) {
		snprintf(a->why, sizeof(a->why),
			 "its thread %d is under strict seccomp: it may only read, write and exit",
			 tid);
		return -EACCES;
	}
	if (mode < STRICT || seccomp_has_ours_only(tid))
		return 0;
	since = now_ns();
	while ((ret = task_stop(tid, &sig)) == -EAGAIN && now_ns() < look->until_ns)
		nap(1000);
	if (ret)			/* -EPERM: another tracer has it since; nothing is armed then, which is said */
		return ret == -EAGAIN ? -ETIMEDOUT : 0;
	ret = attach_check_thread(a, tid);
	task_resume(tid, sig);
	since = now_ns() - since;
	if (since > a->s->stop_ns_max)
		a->s->stop_ns_max = since;
	return ret;
}

int attach_check_threads(struct attach *a)
{
	struct look look = { a, now_ns() + THREADS_MS * 1000000ull };

	return each_task(a->pid, look_at, &look); /* GUARD(attach_seccomp, 0) */
}
