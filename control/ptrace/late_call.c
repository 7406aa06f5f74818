// SPDX-License-Identifier: MIT
/*
 * late_call.c - keeps the state of a thread that did not return in time from a system call for the session
 *
 * The thread's control group was frozen meanwhile, or the thread waits for a page, a lock, or the process that answers
 * its seccomp filter. None of these has a bound, so the session does not wait: the thread becomes a late task
 * (task_stop.c). This list keeps its registers and its signal mask.
 *
 * Before the first call late_call_reserve() makes room, so that no late call is without it.
 *
 *	remote_run_to() -ETIMEDOUT -> late_call_add() -> it stops -> late_call_give_back() -> detached
 *						      -> it ends, or executes a program: forgotten
 *						      -> the session ends: escape_code.c; a thread that has just executed
 *							 a program is killed
 *
 * The registers are those with which the kernel would resume the thread (remote_way_back()), so they fit any stop.
 * Memory that the thread has mapped for the session by then remains. Context: control, the thread that traces it.
 */
#include "control/ptrace/remote_call.h"

#include "control/ptrace/task_stop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

static _Thread_local struct late_call {
	struct late_call *next;
	struct remote r;
} *calls, *spare, first;
static _Thread_local int is_first_used;

/* A thread that has begun a call cannot be given back without its registers. Mostly one is late at a time. */
int late_call_reserve(void)
{
	if (!spare && !is_first_used) {
		spare = &first;
		is_first_used = 1;
	}
	if (!spare)
		spare = malloc(sizeof(*spare));
	return spare ? 0 : -ENOMEM;
}

void late_call_add(const struct remote *r)
{
	struct late_call *c = spare;

	spare = NULL;
	late_task_add(r->tid);
	if (!c)
		return;			/* the code of escape_code.c, if it is there, resumes the thread */
	c->r = *r;
	c->next = calls;
	calls = c;
}

static struct late_call **call_of(pid_t tid)
{
	struct late_call **at = &calls;

	while (*at && (*at)->r.tid != tid)
		at = &(*at)->next;
	return at;
}

void late_call_forget(pid_t tid)
{
	struct late_call **at = call_of(tid), *c = *at;

	if (!c)
		return;
	*at = c->next;
	if (c == &first)
		is_first_used = 0;
	else
		free(c);
}

void late_call_give_back(pid_t tid)
{
	struct late_call *c = *call_of(tid);
	struct user_regs_struct regs;

	if (!c)
		return;
	if (!c->r.regs.rip) {		/* it was used for nothing yet */
		late_call_forget(tid);
		return;
	}
	regs = c->r.regs;
	remote_as_resumed(&regs);
	regs.orig_rax = (uint64_t)-1;
	if (task_request(PTRACE_SETSIGMASK, tid, sizeof(c->r.sigmask), &c->r.sigmask))
		return;			/* it does not stand */
	task_request(PTRACE_SETREGS, tid, 0, &regs); /* GUARD(late_call_regs) */
	if (c->r.guard) {
		c->r.mem = proc_open_memory(tid);
		remote_wipe_guard(&c->r);
		if (c->r.mem >= 0)
			close(c->r.mem);
	}
	late_call_forget(tid);
}
