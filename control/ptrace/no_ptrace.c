// SPDX-License-Identifier: MIT
/*
 * no_ptrace.c - in place of the sources that stop tasks by ptrace, on machines whose registers those do not know yet
 *
 * There (control/meson.build lists them; all but x86-64) every program is started with the runtime in LD_PRELOAD, as by
 * --preload: session.c sets it. So all targets are preloaded ones, whose agents are threads of theirs: what the
 * session would do to stopped tasks of others never comes up, and what a user can ask for is refused with what
 * there is instead. Nothing here says that something was done which was not:
 *
 *	attach, exec of children, the watchdog		refused
 *	a code change that needs all tasks held		not asked for of preloaded targets; what is left then is
 *							counted (UFT_ST_LIVE)
 *	who was left behind by a killed session		its agent sees that the session is gone, and leaves
 *							(agent/agent.c)
 *
 * Each folder has a no_ptrace.c with its part. Context: control.
 */
#include "control/ptrace/task_stop.h"

#include <errno.h>

int task_detach(pid_t tid, int sig)
{
	(void)tid;
	(void)sig;
	return -ESRCH;
}

int task_end(pid_t tid, int pidfd, int (*is_its)(void *arg, pid_t tid), void *arg)
{
	(void)tid;
	(void)pidfd;
	(void)is_its;
	(void)arg;
	return -EPERM;		/* agents are threads, and end with their process */
}

void child_status_keep(pid_t pid)
{
	(void)pid;		/* its end comes out of no wait but the session's own */
}

int child_status_take(pid_t pid, int *status)
{
	(void)pid;
	(void)status;
	return 0;
}

void child_status_forget(pid_t pid)
{
	(void)pid;
}

int threads_find_inside(struct task_search *l, pid_t but)
{
	(void)but;
	l->inside = l->pid;
	return 1;		/* nobody can tell */
}

int task_is_late(pid_t tid)
{
	(void)tid;
	return 0;
}

unsigned tasks_reap_late(void)
{
	return 0;
}
