// SPDX-License-Identifier: MIT
/*
 * stop_all.c - stop all tasks of an address space, for as short a time as possible
 *
 * Life of a stop. Slow work is done while all tasks run: they are listed and seized, which stops none, and the
 * processes that share the memory are found (kcmp). Only then tasks are asked to stop, sleepers first; their stops are
 * collected as they come, and each task is looked at while others are on their way. When the sleepers have stopped,
 * the running tasks are asked. They stand for as short a time as possible: to wake and look at a hundred sleepers
 * takes longer than the change for which all are stopped. Tasks that ran are resumed before all others, so that none
 * stands for the time of both.
 *
 * Missed tasks. There are none if the kernel made no task at all since the list was begun, and the process has as many
 * as have stopped. Otherwise tasks are listed again when all have stopped, until there is no new one: a stopped task
 * makes no other. Of other processes, only those that are new are compared.
 *
 * Unstoppable tasks. The parent of a vfork child does not run while the child, which is stopped, lives: it is not
 * seized, and looked at again in the end. A task that gets no CPU gets a better priority until it is resumed. If a
 * task still does not stop (it waits for a disk), all others are resumed, and that one as soon as it stops
 * (tasks_reap_late()).
 *
 * Tracers of the tasks. There is none, or the session's own watchdog (watchdog.c). Its tasks are not seized and not
 * detached here, and the watchdog decides about what they stopped for, a signal perhaps, when they are resumed.
 *
 * Concurrency: the session's thread, or the guard's only one.
 */
#include "control/base/base.h"
#include "control/proc/proc_list.h"
#include "control/ptrace/task_stop.h"
#include "symbol/array.h"


#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_ROUNDS	50		/* of finding new tasks while they are held */
#define HURRY_NS	500000		/* without another stop: then who has not stopped gets a better priority */
#define IDLE_NS		20000		/* between two looks at who has stopped, at least, */
#define IDLE_MAX_NS	300000		/* and at most */
#define WAKE_NS		5000		/* for a task to wake and stop: each look costs those that wake our CPU */
#define ASLEEP_NS	20000000	/* who sleeps then is not woken by being asked to stop */

enum held_state { HELD_SEIZED, HELD_ASKED, HELD_STANDS, HELD_OVER, HELD_VFORK /* waits for its child: not seized */,
		  HELD_CAUGHT /* asked, and sleeps in the kernel: see is_caught() */ };

struct stopped_task {
	pid_t pid, tid;
	int sig, nice;
	uint64_t asked_ns;
	uint8_t state, is_asleep, is_hurried, has_regs, is_looked_at,
		is_kept /* struct task_search: it is not let go, but goes on */;
	int status;			/* of its stop */
	struct user_regs_struct regs;
};

struct stopped_tasks {
	struct task_search *l;
	struct stopped_task *task;
	/* processes that do not share the memory; ascending as far as /proc lists them so */
	pid_t *other;
	unsigned n, room, nnew, nother, oroom, hint;
	uint64_t since_ns, deadline_ns;
	uint64_t nforks;		/* when the list was begun; 0: not known */
	int slack, nice, agent_nice, is_agent_hurried, is_hurrying;	/* what is to be given back */
	struct writable_range *writable;
	uint32_t nwritable;
};

/* ---- Tasks that share the memory --------------------------------------------------------------- */

static struct stopped_task *find(struct stopped_tasks *h, pid_t tid)
{
	for (unsigned i = 0; i < h->n; i++, h->hint++) {	/* they come in the same order each time */
		if (h->hint >= h->n)
			h->hint = 0;
		if (h->task[h->hint].tid == tid)
			return &h->task[h->hint];
	}
	return NULL;
}

/* 0; -ESRCH: it is over; -EPERM: somebody else's. */
static int seize(struct stopped_tasks *h, struct stopped_task *t)
{
	struct asleep a;
	int denied = ptrace(PTRACE_SEIZE, t->tid, 0, 0) < 0 && !late_task_take(t->tid) ? errno : 0;

	t->is_kept = denied == EPERM && h->l->keeper && h->l->keeper->is_kept(h->l->keeper_arg, t->tid);
	if (denied && !t->is_kept)
		return denied == EPERM && task_read_asleep(t->pid, t->tid, &a) != -ESRCH ? -EPERM : -ESRCH;
	t->state = HELD_SEIZED;
	h->nnew++;
	return 0;
}

static int stop_each_fn(void *arg, pid_t pid, pid_t tid)
{
	struct stopped_tasks *h = arg;
	struct stopped_task *t = find(h, tid);
	struct asleep a;
	int ret;

	if (t && t->state != HELD_VFORK)
		return 0;
	ret = task_read_asleep(pid, tid, &a);
	if (ret == -ESRCH || (t && ret > 0 && task_is_vfork_wait(pid, &a)))
		return 0;
	if (!t && array_reserve(h->task, h->room, h->n + 1))
		return -EAGAIN;
	if (!t)
		t = &h->task[h->n];
	*t = (struct stopped_task){ .pid = pid, .tid = tid, .state = HELD_VFORK, .is_asleep = ret > 0 };
	if (ret > 0 && task_is_vfork_wait(pid, &a))
		h->nnew++;
	else
		ret = seize(h, t);
	if (ret < 0)
		return ret == -ESRCH ? 0 : ret;
	h->n += t == &h->task[h->n];
	return 0;
}

static int by_pid(const void *a, const void *b)
{
	return *(const pid_t *)a - *(const pid_t *)b;
}

/* Does the process share the memory? Asked once about each that does not. */
static int is_sharer(struct stopped_tasks *h, pid_t pid, unsigned nold)
{
	const struct task_search *l = h->l;

	if (pid == l->pid || pid == l->agent || pid == getpid() ||
	    (nold && bsearch(&pid, h->other, nold, sizeof(pid), by_pid)))
		return 0;
	if (syscall(SYS_kcmp, l->pid, pid, KCMP_VM, 0, 0) == 0)
		return 1;
	if (array_reserve(h->other, h->oroom, h->nother + 1))
		return 0;
	h->other[h->nother++] = pid;
	return 0;
}

/*
 * All tasks that the kernel has made since it started, counted as they come to be seen; 0: not known, as
 * where a container's file system has put a file of its own in that place.
 */
static uint64_t forks_so_far(void)
{
	char text[64 << 10];		/* a line for all interrupts comes before */
	int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	struct statfs fs;
	ssize_t n = 0, got = fd >= 0 && fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
	const char *at;

	while (got > 0 && (got = read(fd, text + n, sizeof(text) - 1 - (size_t)n)) > 0)
		n += got;
	text[n] = '\0';
	if (fd >= 0)
		close(fd);
	at = strstr(text, "\nprocesses ");
	return at ? strtoull(at + strlen("\nprocesses "), NULL, 10) : 0;
}

/* All stand that were listed. No task was made since, nor did the list miss one while others ended. */
static int is_complete(const struct stopped_tasks *h)
{
	unsigned n = 0;

	for (unsigned i = 0; i < h->n; i++) {
		const struct stopped_task *t = &h->task[i];

		if (t->pid != h->l->pid || t->state == HELD_VFORK)
			return 0;
		n += t->state == HELD_STANDS || t->state == HELD_CAUGHT;
	}
	/* GUARD(births, return 1) */
	return h->nforks &&
	       forks_so_far() == h->nforks && /* GUARD(births_forks) */
	       proc_status_number(h->l->pid, "Threads", 10) == n;
}

static int list(struct stopped_tasks *h)
{
	unsigned nold = h->nother;
	pid_t pid;
	int ret;
	DIR *d;

	h->nforks = forks_so_far();
	h->hint = 0;
	ret = each_task(h->l->pid, stop_each_fn, h);
	d = ret ? NULL : proc_list(0);
	while (!ret && (pid = proc_list_next(d))) {
		if (is_sharer(h, pid, nold))
			ret = each_task(pid, stop_each_fn, h);
		if (ret == -ESRCH)
			ret = 0;
	}
	proc_list_end(d);
	if (h->nother > nold)
		qsort(h->other, h->nother, sizeof(*h->other), by_pid);
	return ret;
}

/*
 * Private memory that is written to, neighbours together. Without it (no memory, no right to look) stacks are
 * searched further.
 */
static void find_writable(struct stopped_tasks *h)
{
	char *line = NULL, prot[5];
	unsigned long long start, end;
	uint32_t room = 0;
	size_t size = 0;
	FILE *f = proc_fopen(h->l->pid, "maps");

	while (f && getline(&line, &size, f) > 0) {

		if (sscanf(line, "%llx-%llx %4s", &start, &end, prot) != 3 || prot[0] != 'r' || prot[1] != 'w' ||
		    prot[3] != 'p')
			continue;
		if (h->nwritable && h->writable[h->nwritable - 1].end == start) {
			h->writable[h->nwritable - 1].end = end;
			continue;
		}
		if (array_reserve(h->writable, room, h->nwritable + 1))
			break;
		h->writable[h->nwritable++] = (struct writable_range){ start, end };
	}
	if (f)
		fclose(f);
	free(line);
}

/* ---- Stopping ---------------------------------------------------------------------------------- */

static unsigned ask(struct stopped_tasks *h, int asleep)
{
	unsigned n = 0;

	for (unsigned i = 0; i < h->n; i++) {
		struct stopped_task *t = &h->task[i];

		if (t->state != HELD_SEIZED || t->is_asleep != asleep)
			continue;
		t->asked_ns = now_ns();
		t->state = HELD_ASKED;
		/* if it fails, the task is over as soon as waitpid() says so, not before */
		ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
		n++;
	}
	return n;
}

/* While others are still on their way: most stand nowhere near. */
static void check_stopped(struct stopped_tasks *h, struct stopped_task *t)
{
	if (t->state != HELD_STANDS)
		return;
	t->has_regs = !task_request(PTRACE_GETREGS, t->tid, 0, &t->regs);
	if (!h->l->hit || !t->has_regs || owned_range_of(h->l, t->regs.rip))
		return;
	stack_leads_inside(h->l, t->regs.rip, t->regs.rsp);
	t->is_looked_at = 1;
}

static void take_stop(struct stopped_tasks *h, struct stopped_task *t, int got, int status)
{
	t->status = status;
	if (got < 0 || !WIFSTOPPED(status)) {
		t->state = HELD_OVER;
		if (got > 0 && t->is_kept)
			h->l->keeper->go_on(h->l->keeper_arg, t->tid, status);
		return;
	}
	t->state = HELD_STANDS;
	t->sig = stop_signal_of(status);	/* a signal that came first is given back */
	check_stopped(h, t);
}

static int makes_child(long nr)
{
	return nr == SYS_fork || nr == SYS_vfork || nr == SYS_clone || nr == 435 /* clone3 */;
}

/*
 * A task that was asked to stop runs no instruction of its program before it did. So one that sleeps on in
 * the kernel stands as well as any: it may wait for a file server that answers only when we are done, be that
 * our own (tree/). But not one that makes a child, which would have what we are about to take away.
 */
static int is_caught(struct stopped_tasks *h, struct stopped_task *t)
{
	struct asleep a;

	if (now_ns() - h->since_ns < ASLEEP_NS || task_read_asleep(t->pid, t->tid, &a) <= 0 ||
	    makes_child(a.nr))
		return 0;
	t->state = HELD_CAUGHT;
	stack_leads_inside(h->l, a.pc, a.sp);
	return 1;
}

/* Takes the stops that there are; how many are missing. */
static unsigned collect(struct stopped_tasks *h)
{
	unsigned missing = 0;

	for (unsigned i = 0; i < h->n; i++) {
		struct stopped_task *t = &h->task[i];
		int status, got;

		if (t->state != HELD_ASKED)
			continue;
		got = task_poll_status(t->tid, &status);
		if (got == t->tid || (got < 0 && errno != EINTR))
			take_stop(h, t, got, status);
		else if (!is_caught(h, t))
			missing++;
	}
	return missing;
}

/* The agent has a session of its own, and so a share of the CPUs of its own where the kernel groups by sessions. */
static void set_share(pid_t agent, const char *nice)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/autogroup", agent);
	fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	n = write(fd, nice, strlen(nice));
	(void)n;		/* it takes as long as the kernel likes */
	close(fd);
}

/* While others stand for us, neither we nor the agent wait for a CPU, if we may have that. */
static void begin_hurry(struct stopped_tasks *h)
{
	h->nice = getpriority(PRIO_PROCESS, 0);
	h->slack = prctl(PR_GET_TIMERSLACK);
	prctl(PR_SET_TIMERSLACK, 1);
	h->is_hurrying = setpriority(PRIO_PROCESS, 0, -20) == 0;
	if (!h->is_hurrying || h->l->agent <= 0)
		return;
	h->is_agent_hurried = task_raise_priority(h->l->agent, &h->agent_nice);
	set_share(h->l->agent, "-20");
}

static void end_hurry(struct stopped_tasks *h)
{
	if (h->slack >= 0)
		prctl(PR_SET_TIMERSLACK, h->slack);
	if (!h->is_hurrying)
		return;
	setpriority(PRIO_PROCESS, 0, h->nice);
	if (h->l->agent <= 0)
		return;
	if (h->is_agent_hurried)
		task_restore_priority(h->l->agent, h->agent_nice);
	set_share(h->l->agent, "0");
}

/*
 * Hurries tasks that have not stopped: they wait for a CPU, or for something else. -EAGAIN: for a vfork child
 * that was not there before.
 */
static int hurry(struct stopped_tasks *h)
{
	for (unsigned i = 0; i < h->n; i++) {
		struct stopped_task *t = &h->task[i];
		struct asleep a;

		if (t->state != HELD_ASKED || t->is_hurried)
			continue;
		if (task_read_asleep(t->pid, t->tid, &a) > 0 && task_is_vfork_wait(t->pid, &a))
			return -EAGAIN;
		t->is_hurried = task_raise_priority(t->tid, &t->nice);
	}
	return 0;
}

static void idle(unsigned missing)
{
	long ns = (long)missing * WAKE_NS;

	ns = ns < IDLE_NS ? IDLE_NS : ns > IDLE_MAX_NS ? IDLE_MAX_NS : ns;
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);		/* they need our CPU, too */
}

static int collect_all(struct stopped_tasks *h)
{
	uint64_t last = now_ns();
	unsigned before = ~0u, missing;

	while ((missing = collect(h)) > 0) {
		uint64_t now = now_ns();

		if (missing < before)
			last = now;
		before = missing;
		if (now > h->deadline_ns || (now - last > HURRY_NS && hurry(h)))
			return -EAGAIN;
		idle(missing);
	}
	return 0;
}

static int stop_all(struct stopped_tasks *h)
{
	int ret = ask(h, 1) ? collect_all(h) : 0;

	return !ret && ask(h, 0) ? collect_all(h) : ret;
}

int stop_all_tasks(struct task_search *l, unsigned ms, struct stopped_tasks **out)
{
	struct stopped_tasks *h = calloc(1, sizeof(*h));
	int ret;

	*out = h;
	if (!h)
		return -ENOMEM;
	h->l = l;
	l->searched = 0;
	begin_hurry(h);
	find_writable(h);
	l->writable = h->writable;
	l->nwritable = h->nwritable;
	ret = list(h);
	h->since_ns = now_ns();
	h->deadline_ns = h->since_ns + ms * 1000000ull;
	for (int i = 0; i < MAX_ROUNDS && !ret; i++) {	/* those that run may make others */
		h->nnew = 0;
		ret = stop_all(h);
		if (!ret && is_complete(h))
			return 0;
		if (!ret)
			ret = list(h);
		if (!ret && !h->nnew)
			return 0;
	}
	return ret ? ret : -EAGAIN;
}

uint64_t stop_all_since(const struct stopped_tasks *h)
{
	return h->since_ns;
}

int stopped_have_vforks(const struct stopped_tasks *h)
{
	for (unsigned i = 0; i < h->n; i++)
		if (h->task[i].state == HELD_VFORK)
			return 1;
	return 0;
}

/* ---- Tasks inside of our code -------------------------------------------------------------------- */

/*
 * A task that runs there goes on in the copy of these instructions. Not by single steps: if we are killed in one, the
 * kernel takes its tracer away and leaves the trap flag, and the program ends by SIGTRAP.
 */
static void lead_out(const struct task_search *l, struct stopped_task *t)
{
	uint32_t range = owned_range_of(l, t->regs.rip);
	uint64_t to = range && l->copy_of && (int64_t)t->regs.orig_rax < 0 ? l->copy_of(l->arg, range, t->regs.rip) : 0;
	uint64_t from = t->regs.rip;

	if (!to)
		return;
	t->regs.rip = to; /* GUARD(moved_pc, to + 1) */
	if (ptrace(PTRACE_SETREGS, t->tid, 0, &t->regs) < 0)
		t->regs.rip = from;
}

void stopped_find_inside(struct task_search *l, struct stopped_tasks *h)
{
	for (unsigned i = 0; i < h->n; i++) {
		struct stopped_task *t = &h->task[i];

		if (t->state != HELD_STANDS || t->is_looked_at)
			continue;		/* or over, or it waits for its vfork child */
		if (!t->has_regs /* GUARD(stopped_without_regs, 0) */) {
			count_as_inside(l);
			continue;
		}
		lead_out(l, t);
		stack_leads_inside(l, t->regs.rip, t->regs.rsp);
	}
}

/* ---- Resuming ------------------------------------------------------------------------------------ */

/* Its next stop, if it was asked in vain, is not ours to take. */
static void go_on(const struct task_search *l, struct stopped_task *t)
{
	if (t->state != HELD_STANDS)
		return;
	if (t->has_regs && !t->sig && regs_restart_call(&t->regs))
		task_request(PTRACE_SETREGS, t->tid, 0, &t->regs);
	l->keeper->go_on(l->keeper_arg, t->tid, t->status);
}

static void let_go(const struct task_search *l, struct stopped_task *t)
{
	if (t->is_hurried)
		task_restore_priority(t->tid, t->nice);
	if (t->is_kept)
		go_on(l, t);
	else if (t->state == HELD_STANDS && t->has_regs)
		task_resume_with(t->tid, t->sig, &t->regs);
	else if (t->state == HELD_STANDS)
		task_resume(t->tid, t->sig);
	else if (t->state == HELD_SEIZED || t->state == HELD_ASKED || t->state == HELD_CAUGHT) {
		if (t->state == HELD_SEIZED)
			ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
		late_task_add(t->tid);
	}
}

/* Resumes all tasks. Tasks that ran go first: the others wait for something. */
uint64_t resume_all(struct stopped_tasks *h)
{
	uint64_t longest = 0;

	if (!h)
		return 0;
	for (int asleep = 0; asleep <= 1; asleep++)
		for (unsigned i = 0; i < h->n; i++) {
			struct stopped_task *t = &h->task[i];
			uint64_t ns;

			if (t->is_asleep != asleep)
				continue;
			let_go(h->l, t);
			ns = t->asked_ns ? now_ns() - t->asked_ns : 0;
			longest = ns > longest ? ns : longest;
		}
	end_hurry(h);
	free(h->task);
	free(h->other);
	h->l->writable = NULL;
	h->l->nwritable = 0;
	free(h->writable);
	free(h);
	tasks_reap_late();
	return longest; /* GUARD(resume_all_longest) */
}
