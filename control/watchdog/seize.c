// SPDX-License-Identifier: MIT
/*
 * seize.c - seize every task of a target for the watchdog (watchdog.c tells why)
 *
 * A task is seized while it runs, without a stop. From then on the kernel makes each task that it creates our tracee
 * (TRACECLONE; with int3s also FORK and VFORK). A task that is not seized yet may create another one behind our back.
 * So the tasks are listed again until two lists in a row have no new one: then all present and future tasks are
 * tracees.
 *
 * With int3s (int3.c) a trap kills a task that is not our tracee. So tasks are listed in all processes that share the
 * memory, by kcmp(): running vfork children, clone(CLONE_VM) without CLONE_THREAD. Our agent takes no trap, and is left
 * out.
 *
 * Failure. While one task cannot be seized, because another tracer or another part of the session traces it, the whole
 * target is not watched, and no int3 is written into it (int3.c: may_arm()). The next try follows a moment later. The
 * user is told once of another tracer. Tasks that have ended are skipped.
 */
#include "control/watchdog/watchdog.h"

#include "control/ptrace/task_stop.h"
#include "control/proc/procinfo.h"

#include <errno.h>
#include <sys/ptrace.h>

#define OPTIONS		(PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD)
#define OPTIONS_INT3	(OPTIONS | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK)
#define PASSES		100		/* lists in one round; the rest waits for the next */
#define AGAIN_NS	20000000	/* between two tries */

struct seizing {
	struct uft_session *s;
	unsigned nnew, nleft;
	pid_t left_of;			/* the process of a task that could not be seized */
};

/* Tasks that exec_trace.c traces are left to it, and so is the leader of a process that executes a program. */
int watchdog_is_exec_task(const struct uft_session *s, pid_t tid)
{
	for (const struct exec_task *p = s->exec_tasks; p; p = p->next)
		if (p->tid == tid || p->tgid == tid)
			return 1;
	return 0;
}

/* A task made by a tracee stops at once; that stop may not have been handled yet. */
static int is_born_ours(const struct uft_session *s, pid_t tid)
{
	return proc_is_our_tracee(tid) && !watchdog_is_exec_task(s, tid) && !task_is_late(tid);
}

int watchdog_may_keep(struct uft_session *s, pid_t tid)
{
	return watchdog_has(s, tid) || (is_born_ours(s, tid) && !watchdog_take_back(s, tid));
}

int watchdog_seize(struct uft_session *s, pid_t tid)
{
	if (ptrace(PTRACE_SEIZE, tid, 0, s->opts.int3 ? OPTIONS_INT3 : OPTIONS) < 0)
		return -errno;
	return watchdog_take_back(s, tid);
}

static int seize_fn(void *arg, pid_t pid, pid_t tid)
{
	struct seizing *z = arg;
	struct asleep a;
	int is_ours;

	if (watchdog_has(z->s, tid))
		return 0;
	is_ours = !watchdog_is_executing(z->s, tid) && (watchdog_seize(z->s, tid) == 0 || watchdog_may_keep(z->s, tid));
	if (is_ours) {
		z->nnew++;
	} else if (task_read_asleep(pid, tid, &a) != -ESRCH) {
		z->nleft++;
		z->left_of = pid;
	}
	return 0;
}

/* Returns 1 if all tasks are seized. */
static int seize(struct uft_session *s, const struct target *t, struct seizing *z)
{
	const struct task_search all = { .pid = t->pid, .agent = target_agent_pid(t) };
	int quiet = 0;

	for (int i = 0; i < PASSES && quiet < 2; i++) {
		*z = (struct seizing){ .s = s };
		if ((s->opts.int3 ? each_sharing_task(&all, seize_fn, z) : each_task(t->pid, seize_fn, z)) < 0 ||
		    z->nleft)
			return 0;
		quiet = z->nnew ? 0 : quiet + 1;
	}
	return quiet == 2;
}

static void say_left(struct uft_session *s, const struct target *t, pid_t of)
{
	char by[80];
	pid_t tid = procinfo_taken(of, getpid(), by, sizeof(by));

	if (tid)
		session_warn_of(s, t->slice, "process %d: its task %d is being traced by %s: until that ends, %s",
				t->pid, tid, by,
			     s->opts.int3 ?
			     "uft does not trace functions that need an int3, and does not see its faults" :
			     "uft does not see its faults");
}

/*
 * Tasks that another part of the session traces now are seized in a later round. So is a process that executes a
 * program: PTRACE_SEIZE would wait for the exec, and the exec for us to reap the threads.
 */
void watchdog_targets(struct uft_session *s)
{
	for (struct target *t = s->watch ? s->targets : NULL; t; t = t->next) {
		struct seizing z = { .s = s };

		if (t->is_watched || t->is_over || t->remote || watchdog_is_exec_task(s, t->pid) ||
		    now_ns() < t->next_watch_ns)
			continue;
		t->is_watched = seize(s, t, &z);
		t->next_watch_ns = now_ns() + (t->is_watched ? 0 : AGAIN_NS);
		if (z.nleft)
			say_left(s, t, z.left_of);
	}
}

void watchdog_again(struct uft_session *s, pid_t pid)
{
	struct target *t = target_by_pid(s, pid);

	if (t)
		t->is_watched = 0;
}
