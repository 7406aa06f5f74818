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
 * Unstoppable tasks. The parent of a vfork child sleeps until the child ends or executes a program. Its child is
 * stopped, so the parent is not seized, only checked again at the end. A task that gets no CPU gets a better priority
 * until it is resumed. If a task still does not stop (it waits for a disk), all others are resumed, and
 * tasks_reap_late() resumes the late task as soon as it stops.
 *
 * Other tracers. Tasks have no tracer, or are tracees of the session's own watchdog (watchdog.c). The watchdog's
 * tracees are neither seized nor detached here. When they are resumed, the watchdog handles the event or signal that
 * they stopped for.
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

#define MAX_ROUNDS	50		/* of listing tasks */
#define HURRY_NS	500000		/* without a new stop: missing tasks get a better priority */
#define IDLE_NS		20000		/* least time between two polls for stops */
#define IDLE_MAX_NS	300000		/* longest time between them */
#define WAKE_NS		5000		/* a task needs to wake and stop; polling takes CPU time from it */
#define ASLEEP_NS	20000000	/* an interrupted task that still sleeps then will not wake */

enum task_state {
	TASK_SEIZED,
	TASK_INTERRUPTED,
	TASK_STOPPED,
	TASK_GONE,
	TASK_VFORK_PARENT,		/* waits for its vfork child: not seized */
	TASK_IN_CALL			/* interrupted, but sleeps on in the kernel: sleeps_in_call() */
};

struct stopped_task {
	pid_t pid, tid;
	int sig, nice;			/* to be delivered, to be restored when it is resumed */
	uint64_t interrupted_ns;
	uint8_t state, is_asleep, is_hurried, has_regs, is_searched;
	uint8_t is_kept;		/* a tracee of ->search->keeper, which resumes it */
	int status;			/* of its stop */
	struct user_regs_struct regs;
};

struct stopped_tasks {
	struct task_search *search;
	struct stopped_task *task;
	pid_t *other;			/* processes that do not share the memory, sorted */
	unsigned n, room, nnew, nother, oroom, hint;
	uint64_t since_ns, deadline_ns;
	uint64_t nforks;		/* tasks made on this machine when the listing began; 0: not known */
	int slack, nice, agent_nice, is_agent_hurried, is_hurrying;	/* for end_hurry() */
	struct writable_range *writable;
	uint32_t nwritable;
};

/* ---- Tasks that share the memory --------------------------------------------------------------- */

static struct stopped_task *find(struct stopped_tasks *all, pid_t tid)
{
	for (unsigned i = 0; i < all->n; i++, all->hint++) {	/* /proc lists them in the same order each time */
		if (all->hint >= all->n)
			all->hint = 0;
		if (all->task[all->hint].tid == tid)
			return &all->task[all->hint];
	}
	return NULL;
}

/* Returns 0; -ESRCH: the task is gone; -EPERM: another tracer has it. */
static int seize(struct stopped_tasks *all, struct stopped_task *t)
{
	struct asleep a;
	int denied = ptrace(PTRACE_SEIZE, t->tid, 0, 0) < 0 && !late_task_take(t->tid) ? errno : 0;

	t->is_kept =
		denied == EPERM && all->search->keeper && all->search->keeper->is_kept(all->search->keeper_arg, t->tid);
	if (denied && !t->is_kept)
		return denied == EPERM && task_read_asleep(t->pid, t->tid, &a) != -ESRCH ? -EPERM : -ESRCH;
	t->state = TASK_SEIZED;
	all->nnew++;
	return 0;
}

static int stop_each_fn(void *arg, pid_t pid, pid_t tid)
{
	struct stopped_tasks *all = arg;
	struct stopped_task *t = find(all, tid);
	struct asleep a;
	int ret;

	if (t && t->state != TASK_VFORK_PARENT)
		return 0;
	ret = task_read_asleep(pid, tid, &a);
	if (ret == -ESRCH || (t && ret > 0 && task_is_vfork_wait(pid, &a)))
		return 0;
	if (!t && array_reserve(all->task, all->room, all->n + 1))
		return -EAGAIN;
	if (!t)
		t = &all->task[all->n];
	*t = (struct stopped_task){ .pid = pid, .tid = tid, .state = TASK_VFORK_PARENT, .is_asleep = ret > 0 };
	if (ret > 0 && task_is_vfork_wait(pid, &a))
		all->nnew++;
	else
		ret = seize(all, t);
	if (ret < 0)
		return ret == -ESRCH ? 0 : ret;
	all->n += t == &all->task[all->n];
	return 0;
}

static int compare_pids(const void *a, const void *b)
{
	return *(const pid_t *)a - *(const pid_t *)b;
}

/* Returns 1 if the process shares the memory. Processes that do not are compared only once. */
static int is_sharer(struct stopped_tasks *all, pid_t pid, unsigned nold)
{
	const struct task_search *search = all->search;

	if (pid == search->pid || pid == search->agent || pid == getpid() ||
	    (nold && bsearch(&pid, all->other, nold, sizeof(pid), compare_pids)))
		return 0;
	if (syscall(SYS_kcmp, search->pid, pid, KCMP_VM, 0, 0) == 0)
		return 1;
	if (array_reserve(all->other, all->oroom, all->nother + 1))
		return 0;
	all->other[all->nother++] = pid;
	return 0;
}

/*
 * Returns how many tasks the kernel has made since it booted. A task is counted when /proc begins to show it.
 * 0: not known, for example where a container has mounted a file of its own over /proc/stat.
 */
static uint64_t forks_so_far(void)
{
	char text[64 << 10];		/* the long line of all interrupts comes first */
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

/* Returns 1 if all tasks are stopped: no task was made since the listing, and the listing missed none. */
static int is_complete(const struct stopped_tasks *all)
{
	unsigned n = 0;

	for (unsigned i = 0; i < all->n; i++) {
		const struct stopped_task *t = &all->task[i];

		if (t->pid != all->search->pid || t->state == TASK_VFORK_PARENT)
			return 0;
		n += t->state == TASK_STOPPED || t->state == TASK_IN_CALL;
	}
	/* GUARD(births, return 1) */
	return all->nforks &&
	       forks_so_far() == all->nforks && /* GUARD(births_forks) */
	       proc_status_number(all->search->pid, "Threads", 10) == n;
}

static int list_tasks(struct stopped_tasks *all)
{
	unsigned nold = all->nother;
	pid_t pid;
	int ret;
	DIR *d;

	all->nforks = forks_so_far();
	all->hint = 0;
	ret = each_task(all->search->pid, stop_each_fn, all);
	d = ret ? NULL : proc_list(0);
	while (!ret && (pid = proc_list_next(d))) {
		if (is_sharer(all, pid, nold))
			ret = each_task(pid, stop_each_fn, all);
		if (ret == -ESRCH)
			ret = 0;
	}
	proc_list_end(d);
	if (all->nother > nold)
		qsort(all->other, all->nother, sizeof(*all->other), compare_pids);
	return ret;
}

/*
 * Lists the private writable mappings, adjacent ones joined. If that fails (no memory, no right to read maps), the
 * search of a stack goes to STACK_MAX.
 */
static void find_writable(struct stopped_tasks *all)
{
	char *line = NULL, prot[5];
	unsigned long long start, end;
	uint32_t room = 0;
	size_t size = 0;
	FILE *f = proc_fopen(all->search->pid, "maps");

	while (f && getline(&line, &size, f) > 0) {
		if (sscanf(line, "%llx-%llx %4s", &start, &end, prot) != 3 || prot[0] != 'r' || prot[1] != 'w' ||
		    prot[3] != 'p')
			continue;
		if (all->nwritable && all->writable[all->nwritable - 1].end == start) {
			all->writable[all->nwritable - 1].end = end;
			continue;
		}
		if (array_reserve(all->writable, room, all->nwritable + 1))
			break;
		all->writable[all->nwritable++] = (struct writable_range){ start, end };
	}
	if (f)
		fclose(f);
	free(line);
}

/* ---- Stopping ---------------------------------------------------------------------------------- */

/* Interrupts all seized tasks whose is_asleep is @asleep. Returns how many these are. */
static unsigned interrupt_seized(struct stopped_tasks *all, int asleep)
{
	unsigned n = 0;

	for (unsigned i = 0; i < all->n; i++) {
		struct stopped_task *t = &all->task[i];

		if (t->state != TASK_SEIZED || t->is_asleep != asleep)
			continue;
		t->interrupted_ns = now_ns();
		t->state = TASK_INTERRUPTED;
		/* if this fails, the task is dying: waitpid() tells when it is gone */
		ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
		n++;
	}
	return n;
}

/* Searches a task's stack while other tasks still stop, unless its pc is in our code: that is done last. */
static void check_stopped(struct stopped_tasks *all, struct stopped_task *t)
{
	if (t->state != TASK_STOPPED)
		return;
	t->has_regs = !task_request(PTRACE_GETREGS, t->tid, 0, &t->regs);
	if (!all->search->hit || !t->has_regs || owned_range_of(all->search, t->regs.rip))
		return;
	stack_leads_inside(all->search, t->regs.rip, t->regs.rsp);
	t->is_searched = 1;
}

static void note_stop(struct stopped_tasks *all, struct stopped_task *t, int got, int status)
{
	t->status = status;
	if (got < 0 || !WIFSTOPPED(status)) {
		t->state = TASK_GONE;
		if (got > 0 && t->is_kept)
			all->search->keeper->go_on(all->search->keeper_arg, t->tid, status);
		return;
	}
	t->state = TASK_STOPPED;
	t->sig = stop_signal_of(status);	/* delivered when the task is resumed */
	check_stopped(all, t);
}

static int makes_child(long nr)
{
	return nr == SYS_fork || nr == SYS_vfork || nr == SYS_clone || nr == 435 /* clone3 */;
}

/*
 * An interrupted task runs no instruction of its program before it stops. So a task that sleeps on in the kernel counts
 * as stopped: it may wait for a file server that answers only after this stop, even for our own (tree/). A task that
 * makes a child does not count: the child would run with the code that we are about to remove.
 */
static int sleeps_in_call(struct stopped_tasks *all, struct stopped_task *t)
{
	struct asleep a;

	if (now_ns() - all->since_ns < ASLEEP_NS || task_read_asleep(t->pid, t->tid, &a) <= 0 ||
	    makes_child(a.nr))
		return 0;
	t->state = TASK_IN_CALL;
	stack_leads_inside(all->search, a.pc, a.sp);
	return 1;
}

/* Notes the stops that have happened. Returns how many tasks have still to stop. */
static unsigned collect_stops(struct stopped_tasks *all)
{
	unsigned missing = 0;

	for (unsigned i = 0; i < all->n; i++) {
		struct stopped_task *t = &all->task[i];
		int status, got;

		if (t->state != TASK_INTERRUPTED)
			continue;
		got = task_poll_status(t->tid, &status);
		if (got == t->tid || (got < 0 && errno != EINTR))
			note_stop(all, t, got, status);
		else if (!sleeps_in_call(all, t))
			missing++;
	}
	return missing;
}

/*
 * Sets the agent's share of the CPUs: its session is its own, and so is its group where the kernel groups by
 * session.
 */
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
	(void)n;		/* a failure only makes the stop slower */
	close(fd);
}

/* Gives us and the agent the best priority while tasks are stopped, if we have the right to that. */
static void begin_hurry(struct stopped_tasks *all)
{
	all->nice = getpriority(PRIO_PROCESS, 0);
	all->slack = prctl(PR_GET_TIMERSLACK);
	prctl(PR_SET_TIMERSLACK, 1);
	all->is_hurrying = setpriority(PRIO_PROCESS, 0, -20) == 0;
	if (!all->is_hurrying || all->search->agent <= 0)
		return;
	all->is_agent_hurried = task_raise_priority(all->search->agent, &all->agent_nice);
	set_share(all->search->agent, "-20");
}

static void end_hurry(struct stopped_tasks *all)
{
	if (all->slack >= 0)
		prctl(PR_SET_TIMERSLACK, all->slack);
	if (!all->is_hurrying)
		return;
	setpriority(PRIO_PROCESS, 0, all->nice);
	if (all->search->agent <= 0)
		return;
	if (all->is_agent_hurried)
		task_restore_priority(all->search->agent, all->agent_nice);
	set_share(all->search->agent, "0");
}

/*
 * Raises the priority of tasks that have not stopped, since they may wait for a CPU. -EAGAIN: one waits for a vfork
 * child that is newer than the list.
 */
static int raise_missing(struct stopped_tasks *all)
{
	for (unsigned i = 0; i < all->n; i++) {
		struct stopped_task *t = &all->task[i];
		struct asleep a;

		if (t->state != TASK_INTERRUPTED || t->is_hurried)
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
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);		/* frees our CPU for them */
}

static int collect_all_stops(struct stopped_tasks *all)
{
	uint64_t last = now_ns();
	unsigned before = ~0u, missing;

	while ((missing = collect_stops(all)) > 0) {
		uint64_t now = now_ns();

		if (missing < before)
			last = now;
		before = missing;
		if (now > all->deadline_ns || (now - last > HURRY_NS && raise_missing(all)))
			return -EAGAIN;
		idle(missing);
	}
	return 0;
}

static int stop_all(struct stopped_tasks *all)
{
	int ret = interrupt_seized(all, 1) ? collect_all_stops(all) : 0;

	return !ret && interrupt_seized(all, 0) ? collect_all_stops(all) : ret;
}

int stop_all_tasks(struct task_search *search, unsigned ms, struct stopped_tasks **out)
{
	struct stopped_tasks *all = calloc(1, sizeof(*all));
	int ret;

	*out = all;
	if (!all)
		return -ENOMEM;
	all->search = search;
	search->searched = 0;
	begin_hurry(all);
	find_writable(all);
	search->writable = all->writable;
	search->nwritable = all->nwritable;
	ret = list_tasks(all);
	all->since_ns = now_ns();
	all->deadline_ns = all->since_ns + ms * 1000000ull;
	for (int i = 0; i < MAX_ROUNDS && !ret; i++) {	/* running tasks may make new ones */
		all->nnew = 0;
		ret = stop_all(all);
		if (!ret && is_complete(all))
			return 0;
		if (!ret)
			ret = list_tasks(all);
		if (!ret && !all->nnew)
			return 0;
	}
	return ret ? ret : -EAGAIN;
}

uint64_t stop_all_since(const struct stopped_tasks *all)
{
	return all->since_ns;
}

int stopped_have_vforks(const struct stopped_tasks *all)
{
	for (unsigned i = 0; i < all->n; i++)
		if (all->task[i].state == TASK_VFORK_PARENT)
			return 1;
	return 0;
}

/* ---- Tasks inside of our code -------------------------------------------------------------------- */

/*
 * Moves a task that runs in our code to the copy of these instructions, where it goes on. Single steps would not do: if
 * we are killed in one, the kernel detaches the task but leaves its trap flag set, and SIGTRAP ends the program.
 */
static void move_to_copy(const struct task_search *search, struct stopped_task *t)
{
	uint32_t range = owned_range_of(search, t->regs.rip);
	uint64_t to = range && search->copy_of && (int64_t)t->regs.orig_rax < 0 ?
		search->copy_of(search->arg, range, t->regs.rip) : 0;
	uint64_t from = t->regs.rip;

	if (!to)
		return;
	t->regs.rip = to; /* GUARD(moved_pc, to + 1) */
	if (ptrace(PTRACE_SETREGS, t->tid, 0, &t->regs) < 0)
		t->regs.rip = from;
}

void stopped_find_inside(struct task_search *search, struct stopped_tasks *all)
{
	for (unsigned i = 0; i < all->n; i++) {
		struct stopped_task *t = &all->task[i];

		if (t->state != TASK_STOPPED || t->is_searched)
			continue;		/* searched, gone, or waiting for its vfork child */
		if (!t->has_regs /* GUARD(stopped_without_regs, 0) */) {
			count_as_inside(search);
			continue;
		}
		move_to_copy(search, t);
		stack_leads_inside(search, t->regs.rip, t->regs.rsp);
	}
}

/* ---- Resuming ------------------------------------------------------------------------------------ */

/* Lets the keeper resume its tracee. If the task has not stopped yet, the keeper gets that stop as well. */
static void resume_kept(const struct task_search *search, struct stopped_task *t)
{
	if (t->state != TASK_STOPPED)
		return;
	if (t->has_regs && !t->sig && regs_restart_call(&t->regs))
		task_request(PTRACE_SETREGS, t->tid, 0, &t->regs);
	search->keeper->go_on(search->keeper_arg, t->tid, t->status);
}

static void resume_one(const struct task_search *search, struct stopped_task *t)
{
	if (t->is_hurried)
		task_restore_priority(t->tid, t->nice);
	if (t->is_kept)
		resume_kept(search, t);
	else if (t->state == TASK_STOPPED && t->has_regs)
		task_resume_with(t->tid, t->sig, &t->regs);
	else if (t->state == TASK_STOPPED)
		task_resume(t->tid, t->sig);
	else if (t->state == TASK_SEIZED)
		late_task_interrupt(t->tid);
	else if (t->state == TASK_INTERRUPTED || t->state == TASK_IN_CALL)
		late_task_add(t->tid);
}

/* Resumes all tasks. Tasks that ran go first: the others wait for something. */
uint64_t resume_all(struct stopped_tasks *all)
{
	uint64_t longest = 0;

	if (!all)
		return 0;
	for (int asleep = 0; asleep <= 1; asleep++)
		for (unsigned i = 0; i < all->n; i++) {
			struct stopped_task *t = &all->task[i];
			uint64_t ns;

			if (t->is_asleep != asleep)
				continue;
			resume_one(all->search, t);
			ns = t->interrupted_ns ? now_ns() - t->interrupted_ns : 0;
			longest = ns > longest ? ns : longest;
		}
	end_hurry(all);
	free(all->task);
	free(all->other);
	all->search->writable = NULL;
	all->search->nwritable = 0;
	free(all->writable);
	free(all);
	tasks_reap_late();
	return longest; /* GUARD(resume_all_longest) */
}
