// SPDX-License-Identifier: MIT
/*
 * no_ptrace.c - where tasks are not stopped by ptrace (ptrace/no_ptrace.c): the watchdog is refused; without
 * it no int3 is planned.
 */
#include "control/watchdog/int3.h"
#include "control/watchdog/watchdog.h"

#include <errno.h>

/* A function has the parameters of its twin with ptrace, and needs none of most. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

int watchdog_begin(struct uft_session *s)
{
	return -EOPNOTSUPP;
}

void watchdog_end(struct uft_session *s)
{
}

void watchdog_targets(struct uft_session *s)
{
}

void watchdog_let_execute(struct uft_session *s, pid_t tid, pid_t tgid)
{
}

void watchdog_exec_failed(struct uft_session *s, pid_t tid)
{
}

void watchdog_forget(struct uft_session *s, pid_t tid)
{
}

void watchdog_serve(struct uft_session *s)
{
}

int watchdog_has(const struct uft_session *s, pid_t tid)
{
	return 0;
}

void watchdog_release(struct uft_session *s, pid_t pid)
{
}

const struct int3_ops trap_ops;

void int3_arm_waiting(struct uft_session *s)
{
}

void int3_tend(struct uft_session *s)
{
}

void int3_target_ends(struct uft_session *s, struct target *t)
{
}

void int3_free(struct uft_session *s)
{
}
