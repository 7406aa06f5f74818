// SPDX-License-Identifier: MIT
/*
 * priority.c - raise the priority of a task for a moment, because the session or stopped tasks wait for it
 *
 * The guard has a note of the old priority, in case the session is killed meanwhile.
 */
#include "control/arena/journal.h"
#include "control/proc/proc.h"
#include "control/ptrace/task_stop.h"

#include <sched.h>
#include <sys/resource.h>

#define RESET_ADDED	1000		/* added to the noted nice value if we have set SCHED_RESET_ON_FORK */

/*
 * Sets SCHED_RESET_ON_FORK for a task of another user: its new children must not inherit the priority that root gives
 * it for a moment. 1: set; 0: not needed; -1: not possible.
 */
static int keep_from_children(pid_t tid)
{
	const struct sched_param none = { 0 };
	int policy;

	if (proc_is_of_our_user(tid))
		return 0;
	policy = sched_getscheduler(tid);
	if (policy >= 0 && policy & SCHED_RESET_ON_FORK)
		return 0;
	if (policy != SCHED_OTHER && policy != SCHED_BATCH && policy != SCHED_IDLE)
		return -1;
	return sched_setscheduler(tid, policy | SCHED_RESET_ON_FORK /* GUARD(priority_reset, policy) */, &none) ? -1 :
		1;
}

int task_raise_priority(pid_t tid, int *nice)
{
	int kept = keep_from_children(tid);

	if (kept < 0)
		return 0;
	*nice = getpriority(PRIO_PROCESS, (id_t)tid) + (kept ? RESET_ADDED : 0);
	guard_note_hurried(tid, *nice);
	if (setpriority(PRIO_PROCESS, (id_t)tid, -20) == 0)
		return 1;
	task_restore_priority(tid, *nice);
	return 0;
}

void task_restore_priority(pid_t tid, int nice)
{
	const struct sched_param none = { 0 };
	int policy;

	setpriority(PRIO_PROCESS, (id_t)tid, nice > RESET_ADDED / 2 ? nice - RESET_ADDED : nice);
	policy = nice > RESET_ADDED / 2 ? sched_getscheduler(tid) : -1;
	if (policy >= 0)
		sched_setscheduler(tid, policy & ~SCHED_RESET_ON_FORK, &none);
	guard_forget_hurried(tid);
}
