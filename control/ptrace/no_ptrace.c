// SPDX-License-Identifier: MIT
/*
 * no_ptrace.c - in place of the sources that hold tasks by ptrace, on machines whose registers those do not know yet
 *
 * There (control/meson.build lists them; all but x86-64) every program is started with the runtime in LD_PRELOAD, as by
 * --preload: session.c sets it. So all targets are preloaded ones, whose agents are threads of theirs: what the session would do to
 * stopped tasks of others never comes up, and what a user can ask for is refused with what there is instead. Nothing here says that
 * something was done which was not:
 *
 *	attach, exec of children, the watchdog		refused
 *	a code change that needs all tasks held		not asked for of preloaded targets; what is left then is counted (UFT_ST_LIVE)
 *	who was left behind by a killed session		its agent sees that the session is gone, and leaves (agent/agent.c)
 *
 * Context: control.
 */
#include "control/detach/guard.h"
#include "control/arm/arm_stopped.h"
#include "control/internal.h"
#include "control/detach/detach.h"
#include "control/ptrace/task_stop.h"
#include "control/detach/agentless.h"
#include "control/watchdog/int3.h"
#include "control/watchdog/watchdog.h"

#include <errno.h>
#include <stdio.h>
#include <sys/utsname.h>

int uft_session_can_attach(void)
{
	return 0;
}

static int refuse(const char *what, struct uft_error *err)
{
	struct utsname u = { .machine = "" };

	uname(&u);
	return uft_fail(err, -EOPNOTSUPP, "%s is not there on %s yet: start the program with uft record", what, u.machine);
}

/* ---- attach.c, blob.c, exec_inject.c -------------------------------------------------------------- */

int uft_session_attach(struct uft_session *s, pid_t pid, struct uft_error *err)
{
	(void)s;
	(void)pid;
	return refuse("attaching to a running program", err);
}

int attach_finish(const struct guard_notes *n)
{
	(void)n;
	return 0;		/* none was begun */
}

int blob_get(const struct blob **out)
{
	*out = NULL;
	return -EOPNOTSUPP;
}

int inject_exec(struct uft_session *s, pid_t tid, pid_t ppid, struct target **out, struct uft_error *err)
{
	(void)s;
	(void)tid;
	(void)ppid;
	(void)out;
	return refuse("putting the runtime into a program by ptrace", err);
}

int inject_release(struct uft_session *s, struct target *t)
{
	(void)s;
	(void)t;
	return -ESRCH;
}

/* ---- exec_trace.c: children that execute are not followed (requests.c) ------------------------------- */

int ptask_seize(struct uft_session *s, pid_t tid, pid_t tgid, pid_t from)
{
	(void)from;
	(void)s;
	(void)tid;
	(void)tgid;
	return -EOPNOTSUPP;
}

void ptask_release(struct uft_session *s, pid_t tid)
{
	(void)s;
	(void)tid;
}

int ptask_poll(struct uft_session *s)
{
	(void)s;
	return 0;
}

void ptask_release_all(struct uft_session *s)
{
	(void)s;
}

void ptask_release_process(struct uft_session *s, pid_t tgid)
{
	(void)s;
	(void)tgid;
}

/* ---- watchdog.c ---------------------------------------------------------------------------------- */

int watch_begin(struct uft_session *s)
{
	(void)s;
	return -EOPNOTSUPP;
}

void watch_end(struct uft_session *s)
{
	(void)s;
}

void watch_targets(struct uft_session *s)
{
	(void)s;
}

void watch_let_execute(struct uft_session *s, pid_t tid, pid_t tgid)
{
	(void)s;
	(void)tid;
	(void)tgid;
}

void watch_has_not_executed(struct uft_session *s, pid_t tid)
{
	(void)s;
	(void)tid;
}

void watch_forget(struct uft_session *s, pid_t tid)
{
	(void)s;
	(void)tid;
}

void watch_serve(struct uft_session *s)
{
	(void)s;
}

int watch_has(const struct uft_session *s, pid_t tid)
{
	(void)s;
	(void)tid;
	return 0;
}

void watch_release(struct uft_session *s, pid_t pid)
{
	(void)s;
	(void)pid;
}

/* ---- int3.c: no int3 is planned without the watchdog ---------------------------------------------- */

const struct int3_ops trap_ops;

void trap_arm_waiting(struct uft_session *s)
{
	(void)s;
}

void trap_free(struct uft_session *s)
{
	(void)s;
}

/* ---- task_stop.c, arm_stopped.c: nobody is held ------------------------------------------------------------- */

void look_keep_status(pid_t pid)
{
	(void)pid;		/* its end comes out of no wait but the session's own */
}

int look_kept_status(pid_t pid, int *status)
{
	(void)pid;
	(void)status;
	return 0;
}

int look_is_late(pid_t tid)
{
	(void)tid;
	return 0;
}

unsigned look_reap(void)
{
	return 0;
}

int hold_open(struct uft_session *s, struct target *t)
{
	(void)s;
	(void)t;
	return 0;
}

int hold_close(struct target *t)
{
	(void)t;
	return 0;
}

void hold_drop(struct target *t)
{
	(void)t;
}

int hold_patches(struct uft_session *s, struct target *t, uint32_t object, const struct uft_patch *told,
		 const uint32_t *index, const struct uft_patch *answer, uint32_t n)
{
	(void)s;
	(void)t;
	(void)object;
	(void)told;
	(void)index;
	(void)answer;
	(void)n;
	return 0;
}

int hold_hooks(struct uft_session *s, struct target *t, uint32_t object, const struct uft_hook *answer, uint32_t n)
{
	(void)s;
	(void)t;
	(void)object;
	(void)answer;
	(void)n;
	return 0;
}

/* ---- detach.c, agentless.c: of preloaded targets their agents take care --------------------------------- */

void leave_targets(struct leaving *l, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		l[i].may_stay = 0;
		l[i].is_asked = 0;
	}
}

void leave_finish(const struct arena *a, struct leaving_notes *n)
{
	(void)a;
	(void)n;
}

unsigned silent_leave(const struct arena *a, pid_t only, int is_saved, const pid_t *known, uint32_t nknown, char *why, size_t size)
{
	(void)a;
	(void)only;
	(void)is_saved;
	(void)known;
	(void)nknown;
	if (size)
		why[0] = '\0';
	return 0;
}

int silent_rejoin(const struct arena *a, uint32_t slice, pid_t pid)
{
	(void)a;
	(void)slice;
	(void)pid;
	return -EOPNOTSUPP;
}
