// SPDX-License-Identifier: MIT
/*
 * no_ptrace.c - replaces the sources that stop tasks by ptrace on machines whose registers they do not know
 *
 * control/meson.build lists these machines: all but x86-64. There, session.c starts every program with the runtime in
 * LD_PRELOAD, as --preload does. The agent of a preloaded target is a thread of it, so the session never has to stop
 * foreign tasks. A user's request that would need this is refused, with a message that names the alternative. No
 * function here reports success for work that was not done:
 *
 *	attach, exec of children, the watchdog		refused
 *	a code change that needs all tasks stopped	not needed in preloaded targets; sites that stay armed are
 *							counted (UFT_ST_LIVE)
 *	a target that a killed session left		its agent notices the end of the session and removes the
 *							runtime (agent/agent.c)
 *
 * Each folder has a no_ptrace.c with its own part. Context: control.
 */
#include "control/ptrace/task_stop.h"

#include <errno.h>

/* A function has the parameters of its twin with ptrace, and needs none of most. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

int task_detach(pid_t tid, int sig)
{
	return -ESRCH;
}

int task_end(pid_t tid, int pidfd, int (*is_same)(void *arg, pid_t tid), void *arg)
{
	return -EPERM;		/* agents are threads, and end with their process */
}

void child_status_keep(pid_t pid)
{
	/* only the session itself waits for it */
}

int child_status_take(pid_t pid, int *status)
{
	return 0;
}

void child_status_forget(pid_t pid)
{
}

int threads_find_inside(struct task_search *l, pid_t but)
{
	l->inside = l->pid;
	return 1;		/* not known, so it may be inside */
}

int task_is_late(pid_t tid)
{
	return 0;
}

unsigned tasks_reap_late(void)
{
	return 0;
}
