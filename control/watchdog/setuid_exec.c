// SPDX-License-Identifier: MIT
/*
 * setuid_exec.c - a watched process executes a program that gains rights by that
 *
 * The kernel gives no rights to a program that a traced task executes, set-user-ID, set-group-ID or with file
 * capabilities, unless the tracer has CAP_SYS_PTRACE: it would run, and misbehave. The session is asked about
 * each exec (UFT_CHILDREN_ASK). It does not follow such an exec, and detaches the task before it answers. From then to
 * the exec, the task runs only our hook.
 *
 *	EXEC asked -> stopped, detached -> answered -> executes: its process runs another program, without a tracer
 *						  -> cannot: EXEC_FAILED waits until it is the watchdog's again
 *
 * Meanwhile no tracer serves int3s (int3.c) for this task. Our hook has none, but a signal handler may run into one. If
 * no other process shares the memory, the int3s are removed first, for good; else they stay for the other processes.
 *
 * Not seen: an exec by a system call that no hook is at.
 */
#include "control/watchdog/watchdog.h"

#include "control/ptrace/task_stop.h"
#include "control/watchdog/int3.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXEC_NS		4000000000u	/* then its number may be another's: as long as an answer is kept */

/* Does no other process share the memory? After fork() only the maker could, which is asked. */
static int is_alone(pid_t tid, pid_t tgid)
{
	long parent = proc_status_number(tgid, "PPid", 10);

	return proc_status_number(tid, "Threads", 10) == 1 && parent > 0 &&
	       syscall(SYS_kcmp, parent, tgid, KCMP_VM, 0, 0) > 0;
}

static void note(struct uft_session *s, pid_t tid, uint64_t until_ns)
{
	const size_t n = sizeof(s->executing) / sizeof(s->executing[0]);
	struct executing *e = &s->executing[0];

	for (size_t i = 0; i < n; i++) {
		if (s->executing[i].tid == tid) {
			e = &s->executing[i];
			break;
		}
		if (s->executing[i].until_ns < e->until_ns)
			e = &s->executing[i];
	}
	*e = (struct executing){ tid, until_ns };
}

int watchdog_is_executing(const struct uft_session *s, pid_t tid)
{
	for (size_t i = 0; i < sizeof(s->executing) / sizeof(s->executing[0]); i++)
		if (s->executing[i].tid == tid && now_ns() < s->executing[i].until_ns)
			return 1;
	return 0;
}

void watchdog_let_execute(struct uft_session *s, pid_t tid, pid_t tgid)
{
	int sig, ret;

	if (!s->watch)
		return;
	note(s, tid, now_ns() + EXEC_NS);
	if (!watchdog_has(s, tid))
		return;
	if (is_alone(tid, tgid))
		int3_take_out(s, tid);
	watchdog_forget(s, tid);
	late_task_interrupt(tid);		/* it is seized: task_stop() goes on from there */
	ret = task_stop(tid, &sig);
	if (!ret)
		task_resume(tid, sig);
	else if (ret != -ESRCH)
		session_warn(s,
			     "cannot detach from process %d before it executes a program that gains rights: that program may run without them",
			     tgid);
}

void watchdog_exec_failed(struct uft_session *s, pid_t tid)
{
	if (!watchdog_is_executing(s, tid))
		return;
	note(s, tid, 0);
	watchdog_seize(s, tid);
	watchdog_again(s, (pid_t)proc_status_number(tid, "Tgid", 10));
}
