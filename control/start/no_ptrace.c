// SPDX-License-Identifier: MIT
/* no_ptrace.c - where tasks are not stopped by ptrace (ptrace/no_ptrace.c): attach and following exec are refused. */
#include "control/start/start.h"

#include <errno.h>
#include <sys/utsname.h>

/* A function has the parameters of its twin with ptrace, and needs none of most. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

int uft_session_can_attach(void)
{
	return 0;
}

static int refuse(const char *what, struct uft_error *err)
{
	struct utsname u = { .machine = "" };

	uname(&u);
	return uft_fail(err, -EOPNOTSUPP, "%s is not there on %s yet: start the program with uft record", what,
			u.machine);
}

int attach_process(struct uft_session *s, pid_t pid, struct uft_error *err)
{
	return refuse("attaching to a running program", err);
}

int attach_finish(const struct guard_notes *n)
{
	return 0;		/* no attach can have begun */
}

int inject_exec(struct uft_session *s, pid_t tid, pid_t ppid, const struct uft_limits *limit, struct target **out,
		struct uft_error *err)
{
	return refuse("putting the runtime into a program by ptrace", err);
}

int inject_release(struct uft_session *s, struct target *t)
{
	return -ESRCH;
}

int exec_task_seize(struct uft_session *s, pid_t tid, pid_t tgid, pid_t from)
{
	return -EOPNOTSUPP;
}

void exec_task_release(struct uft_session *s, pid_t tid)
{
}

int exec_task_poll(struct uft_session *s)
{
	return 0;
}

void exec_task_release_all(struct uft_session *s)
{
}

void exec_task_release_process(struct uft_session *s, pid_t tgid)
{
}
