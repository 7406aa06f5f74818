// SPDX-License-Identifier: MIT
/*
 * seize.c - how the watchdog gets every task of a target (watchdog.c says what for)
 *
 * A task is seized while it runs, which stops nobody, and whoever it makes from then on is ours by itself
 * (TRACECLONE; with int3s also FORK and VFORK). But one that is not ours yet may have made another behind our
 * look. So the tasks are looked through again until nobody was added twice in a row: then every task that
 * there was is ours, and so is every one to come.
 *
 * With int3s (int3.c) a trap kills whoever nobody serves. So they are looked for in all processes that share
 * the memory, by kcmp(): vfork children at work, clone(CLONE_VM) without CLONE_THREAD. Our agent takes no
 * trap, and is left out.
 *
 * Failure. Who cannot be had now, for another tracer has him, or we ourselves for another purpose, keeps the
 * whole target from being watched: no int3 is written into it (int3.c: may_arm()). It is tried again a moment
 * later; another tracer is named once. Only who is over is passed by.
 */
#include "control/watchdog/watchdog.h"

#include "control/ptrace/task_stop.h"
#include "control/proc/procinfo.h"

#include <errno.h>
#include <sys/ptrace.h>

#define OPTIONS		(PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD)
#define OPTIONS_INT3	(OPTIONS | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK)
#define PASSES		100		/* then in the next round: others wait */
#define AGAIN_NS	20000000	/* between two tries */

struct seizing {
	struct uft_session *s;
	unsigned nnew, nleft;
	pid_t left_of;			/* the process of one that could not be had */
};

/* Tasks that exec_trace.c has are its business, and so is the leader of one that executes a program. */
int watchdog_is_exec_task(const struct uft_session *s, pid_t tid)
{
	for (const struct exec_task *p = s->exec_tasks; p; p = p->next)
		if (p->tid == tid || p->tgid == tid)
			return 1;
	return 0;
}

/* One that a tracee has made stops before anything else; the news of that may not have been taken yet. */
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

/* Returns whether all could be had. */
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
 * Tasks that are ours for another purpose at the moment are had in a later round. So is a process that
 * executes a program: a seizure would wait for the end of that, and that for us to take the ends of its
 * threads.
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
