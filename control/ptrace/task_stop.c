// SPDX-License-Identifier: MIT
/*
 * task_stop.c - stop one task, and find the tasks of an address space that run in our code
 *
 * A sleeping task is searched without a stop: /proc/PID/task/TID/syscall has its pc and stack pointer, and its switch
 * counts tell afterwards whether it slept all the time. A running task is stopped for a few microseconds.
 *
 * Tasks. The search covers the threads of the process and of other processes with the same memory: a vfork child may
 * wait in one of our hooks while its parent sleeps in the kernel. kcmp() finds these processes.
 *
 * A task is inside if its pc is in our code, or a pc that a signal frame will restore. Signal frames lie on the
 * stack above the stack pointer, or on the stack that such a frame interrupted, and so on. Return addresses that
 * point to our stubs are the agent's business (UFT_CMD_UNHOOK); return addresses of our own functions lie behind a pc
 * or a signal frame. Other words that look like addresses of our code are left from frames that have returned, so
 * the search ignores them. Not found: a frame on a stack that no task runs on (a coroutine switched away inside a
 * signal handler that had interrupted our code).
 */
#include "control/ptrace/task_stop.h"

#include "control/arena/journal.h"
#include "control/base/base.h"
#include "control/proc/proc.h"
#include "control/proc/proc_list.h"
#include "symbol/sorted.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define ERESTARTNOHAND_	514
#define TRIES		4
#define SPINS		200		/* polls before the first sleep */
#define YIELD_NS	500000		/* after a longer yield, this CPU is wanted by others */
#define HURRY_NS	5000000		/* then the task gets a better priority */
#define BRIEF_NS	2000000ull
#define STACK_MAX	(8u << 20)	/* of each stack; frames of signal handlers do not lie deeper in practice */
#define SEARCH_MAX	(4ull << 30)	/* of all stacks, in one look: a second or two */
#define PART		(64u << 10)
#define MAX_STACKS	8
#define OTHER_LOOKS	100	/* searches of threads that are inside, */
#define OTHER_NS	20000	/* at least so long apart */

/* ---- Stopping one task ---------------------------------------------------------------------- */

/*
 * Our child processes, one of each session of this thread. waitpid() returns the end of a child only once, perhaps to
 * a caller that waits for a stop, so the status is kept here. The kernel lets only the thread that seized a task wait
 * for its stops, so this list and the list of late tasks belong to the thread.
 */
static _Thread_local struct child {
	struct child *next;
	pid_t pid;
	int status, has_ended;
} *children;

static struct child **child_of(pid_t pid)
{
	struct child **p = &children;

	while (*p && (*p)->pid != pid)
		p = &(*p)->next;
	return p;
}

void child_status_keep(pid_t pid)
{
	struct child *c = *child_of(pid) ? *child_of(pid) : calloc(1, sizeof(*c));

	if (!c)
		return;			/* its exit status may be missed */
	if (c->pid != pid) {
		c->next = children;
		children = c;
	}
	c->pid = pid;
	c->has_ended = 0;
}

int child_status_take(pid_t pid, int *status)
{
	const struct child *c = *child_of(pid);

	if (!c || !c->has_ended)
		return 0;
	*status = c->status;
	return 1;
}

void child_status_forget(pid_t pid)
{
	struct child **p = child_of(pid), *c = *p;

	if (!c)
		return;
	*p = c->next;
	free(c);
}

static pid_t keep_end(pid_t got, int status)
{
	struct child *c = got > 0 && !WIFSTOPPED(status) ? *child_of(got) : NULL;

	if (c) {
		c->status = status;
		c->has_ended = 1;
	}
	return got;
}

pid_t task_poll_status(pid_t tid, int *status)
{
	pid_t got = waitpid(tid, status, __WALL | WNOHANG);

	if (got > 0 && WIFSTOPPED(*status) && *status >> 16 != PTRACE_EVENT_EXEC)
		late_call_give_back(tid);
	else if (got > 0 || (got < 0 && errno == ECHILD))
		late_call_forget(tid);
	return keep_end(got, *status);
}

/* A task that is seized and interrupted stops as soon as it gets a CPU. */
int task_wait_until(pid_t tid, int *status, uint64_t deadline)
{
	unsigned spins = 0;
	uint64_t before;

	for (long ns = 10000;; ns += ns < 1000000 ? ns : 0) {
		pid_t got = task_poll_status(tid, status);

		/*
		 * A sleep takes longer than most tasks need to stop, and there may be hundreds of tasks. A yield
		 * takes longer still when other tasks want this CPU.
		 */
		while (!got && spins++ < SPINS) {
			before = now_ns();
			sched_yield();
			if (now_ns() - before > YIELD_NS)
				spins = SPINS;
			got = task_poll_status(tid, status);
		}

		if (got == tid)
			return WIFSTOPPED(*status) ? 0 : -ESRCH;
		if (got < 0 && errno != EINTR)
			return -ESRCH;
		if (now_ns() > deadline)
			return -EAGAIN;
		nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
	}
}

int task_wait_brief(pid_t tid, int *status)
{
	return task_wait_until(tid, status, now_ns() + BRIEF_NS);
}

int task_wait_stop(pid_t tid, int *status)
{
	uint64_t start = now_ns();
	int ret = task_wait_until(tid, status, start + HURRY_NS), nice, is_hurried;

	if (ret != -EAGAIN)
		return ret;
	is_hurried = task_raise_priority(tid, &nice);
	ret = task_wait_until(tid, status, start + TASK_STOP_MS * 1000000ull);
	if (is_hurried)
		task_restore_priority(tid, nice);
	return ret;
}

/*
 * Interrupted tasks that did not stop in time. They will stop later, and only this list resumes them, so it has
 * room for some that is not allocated.
 */
static _Thread_local struct {
	struct late { pid_t tid, tgid; } first[32], *task;
	unsigned n, room;
} late;

/* Asked for with half of the room in use, so that each task of the other half asks again if there is no memory. */
static void late_more_room(void)
{
	struct late *more = malloc(2 * late.room * sizeof(*more));

	if (!more)
		return;
	memcpy(more, late.task, late.n * sizeof(*more));
	if (late.task != late.first)
		free(late.task);
	late.task = more;
	late.room *= 2;
}

void late_task_add(pid_t tid)
{
	if (task_is_late(tid))
		return;
	if (!late.task) {
		late.task = late.first;
		late.room = sizeof(late.first) / sizeof(late.first[0]);
	}
	if (late.n >= late.room / 2) /* GUARD(late_room, late.n == late.room) */
		late_more_room();
	if (late.n == late.room)
		return;		/* the task stays stopped until we end */
	late.task[late.n++] = (struct late){ tid, (pid_t)proc_status_number(tid, "Tgid", 10) };
}

void late_task_interrupt(pid_t tid)
{
	ptrace(PTRACE_INTERRUPT, tid, 0, 0);	/* if this fails, the task is dying */
	late_task_add(tid);
}

int late_task_take(pid_t tid)
{
	for (unsigned i = 0; i < late.n; i++)
		if (late.task[i].tid == tid) {
			late.task[i] = late.task[--late.n];
			return 1;
		}
	return 0;
}

int task_is_late(pid_t tid)
{
	for (unsigned i = 0; i < late.n; i++)
		if (late.task[i].tid == tid)
			return 1;
	return 0;
}

/* Stops of a ptrace event or of a system call have no signal for the task. */
int stop_signal_of(int status)
{
	return status >> 16 || WSTOPSIG(status) == (SIGTRAP | 0x80) ? 0 : WSTOPSIG(status);
}

unsigned tasks_reap_late(void)
{
	for (unsigned i = late.n; i-- > 0;) {
		struct late t = late.task[i];
		int status, got = task_poll_status(t.tid, &status);

		/* A thread that executes a program gets the number of its process. */
		if (got < 0 && errno == ECHILD && t.tgid != t.tid && proc_is_our_tracee(t.tgid))
			got = task_poll_status(t.tgid, &status);
		if (!got || (got < 0 && errno == EINTR))
			continue;
		if (got > 0 && WIFSTOPPED(status))
			task_resume(got, stop_signal_of(status));
		late.task[i] = late.task[--late.n];
	}
	return late.n;
}

int task_detach(pid_t tid, int sig)
{
	int ret;

	late_call_give_back(tid);	/* where others have waited for its stop */
	ret = task_request(PTRACE_DETACH, tid, 0, (void *)(intptr_t)sig);

	if (!ret)
		return 0;
	late_task_add(tid);		/* it is dying: the parent is told after its tracer has waited */
	tasks_reap_late();
	return ret;
}

static int stop_begin(pid_t tid)
{
	if (late_task_take(tid))
		return 0;
	if (ptrace(PTRACE_SEIZE, tid, 0, 0) < 0)
		return -errno;
	if (task_request(PTRACE_INTERRUPT, tid, 0, NULL)) {
		late_task_add(tid); /* GUARD(late_task_added) */
		return -ESRCH;
	}
	return 0;
}

int task_stop(pid_t tid, int *sig)
{
	int status, ret = stop_begin(tid);

	if (!ret)
		ret = task_wait_stop(tid, &status);
	if (!ret)
		*sig = stop_signal_of(status);
	else if (ret == -EAGAIN)
		late_task_add(tid); /* GUARD(late_task_added) */
	return ret;
}

/* System calls that a stop ends with EINTR, without a signal, and that may be made again. */
static int is_repeatable(unsigned long long nr)
{
	static const uint16_t calls[] = {
		SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_sendto,
		SYS_sendmsg,
		SYS_sendmmsg, SYS_accept, SYS_accept4, SYS_epoll_wait, SYS_epoll_pwait, 441 /* epoll_pwait2 */,
		SYS_semop,
		SYS_semtimedop, SYS_msgrcv, SYS_msgsnd, SYS_io_getevents, SYS_io_pgetevents, SYS_rt_sigtimedwait,
		SYS_futex,
		426 /* io_uring_enter */, 449 /* futex_waitv */, SYS_pause, SYS_flock, SYS_fcntl, SYS_wait4, SYS_waitid,
	};

	for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i] == nr)
			return 1;
	return 0;
}

int regs_restart_call(struct user_regs_struct *regs)
{
	if (regs->rax != (unsigned long long)-EINTR || (long long)regs->orig_rax < 0 || !is_repeatable(regs->orig_rax))
		return 0;
	regs->rax = (unsigned long long)-ERESTARTNOHAND_;
	return 1;
}

void task_resume_with(pid_t tid, int sig, struct user_regs_struct *regs)
{
	if (!sig && regs_restart_call(regs))
		task_request(PTRACE_SETREGS, tid, 0, regs);
	task_detach(tid, sig);
}

void task_resume(pid_t tid, int sig)
{
	struct user_regs_struct regs;

	if (!task_request(PTRACE_GETREGS, tid, 0, &regs))
		task_resume_with(tid, sig, &regs);
	else
		task_detach(tid, sig);
}

/* PTRACE_O_TRACEEXEC: a task that executes a program stops before that runs. */
int task_end(pid_t tid, int pidfd, int (*is_same)(void *arg, pid_t tid), void *arg)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	int ret = tid > 0 && !ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACEEXEC) ? 0 : -EPERM;

	if (ret)
		return ret;
	if (poll(&p, 1, 0) == 0 && is_same(arg, tid))
		ret = syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) ? -errno : 0;
	else
		ret = -ESRCH;
	late_task_interrupt(tid);
	return ret;
}

/* ---- Pcs and signal frames that lead into our code ------------------------------------------ */

/* The last range that begins at or below @addr is the only one that can hold it. */
static uint32_t in_sorted(const struct task_search *search, uint64_t addr)
{
	uint32_t lo = SORTED_FIRST(i, search->nown, search->own[i].at > addr);

	return lo && addr - search->own[lo - 1].at < search->own[lo - 1].bytes ? lo : 0;
}

/* The number of the range that holds @addr, from 1. */
uint32_t owned_range_of(const struct task_search *search, uint64_t addr)
{
	if (search->is_sorted)
		return in_sorted(search, addr);
	for (uint32_t i = 0; i < search->nown; i++)
		if (addr - search->own[i].at < (search->own[i].bytes & ~(uint64_t)UFT_OWNED_TP))
			return i + 1;
	return 0;
}

/* 1: inside. 0: outside, or marked in ->hit, and the search goes on. */
static int is_ours(const struct task_search *search, uint64_t addr)
{
	uint32_t i = owned_range_of(search, addr);

	if (i && search->hit)
		search->hit[i - 1] = 1;
	return i && !search->hit;
}

/* A signal frame as the kernel makes it (asm/sigcontext.h), from the restorer's address on. */
struct signal_frame {
	uint64_t restorer, uc_flags, uc_link, stack[3];
	uint64_t r8_to_rcx[15], rsp, rip, eflags;
	uint16_t cs, gs, fs, ss;
};
_Static_assert(sizeof(struct signal_frame) == 200, "x86_64");

static int is_signal_frame(const struct signal_frame *f)
{
	return f->cs == 0x33 && (f->ss == 0x2b || !f->ss) && !f->uc_link && f->uc_flags < 16 && f->restorer &&
	       f->eflags & 2 && f->eflags < 1u << 22;
}

struct stacks {
	uint64_t from[MAX_STACKS];
	unsigned n;
};

static void add_stack(struct stacks *s, uint64_t sp)
{
	for (unsigned i = 0; i < s->n; i++)
		if (sp - s->from[i] < STACK_MAX)
			return;		/* searched already, or listed */
	if (s->n < MAX_STACKS)
		s->from[s->n++] = sp;
}

/* The end of the mapping that holds the stack, or of the search if that is not known. */
static uint64_t end_of_stack(const struct task_search *search, uint64_t from)
{
	uint32_t lo = SORTED_FIRST(i, search->nwritable, search->writable[i].end > from);

	return lo < search->nwritable && search->writable[lo].start <= from &&
		search->writable[lo].end - from < STACK_MAX ?
	       search->writable[lo].end : from + STACK_MAX;
}

/* 1: a signal frame of this stack leads inside. Stops at unmapped memory. */
static int scan_stack(struct task_search *search, struct stacks *s, uint64_t from, uint8_t *buf)
{
	const size_t overlap = sizeof(struct signal_frame);
	uint64_t end = end_of_stack(search, from);

	for (uint64_t at = from & ~7ull; at + 8 < end; at += PART - overlap) {
		size_t want = end - at < PART ? end - at : PART;
		struct iovec mine = { buf, want }, its = { (void *)(uintptr_t)at, want };
		ssize_t n = process_vm_readv(search->pid, &mine, 1, &its, 1, 0);

		search->searched += n > 0 ? (uint64_t)n : 0;
		for (ssize_t i = 0; i + (ssize_t)overlap <= n; i += 8) {
			const struct signal_frame *f = (const void *)(buf + i);

			if (f->cs != 0x33 || !is_signal_frame(f))
				continue;
			if (is_ours(search, f->rip))
				return 1;
			add_stack(s, f->rsp);
		}
		if (n < (ssize_t)PART)
			break;
	}
	return 0;
}

int count_as_inside(const struct task_search *search)
{
	if (search->hit)
		memset(search->hit, 1, search->nown);
	return !search->hit;
}

int stack_leads_inside(struct task_search *search, uint64_t pc, uint64_t sp)
{
	uint8_t buf[PART];
	struct stacks s = { { sp }, 1 };

	if (is_ours(search, pc))
		return 1;
	/* All targets wait for a search, and one can have any number of tasks whose stacks are long. */
	if (search->searched >= SEARCH_MAX) /* GUARD(stack_leads_inside_searched) */
		return count_as_inside(search);
	for (unsigned i = 0; i < s.n; i++)
		if (scan_stack(search, &s, s.from[i], buf))
			return 1;
	return 0;
}

/* ---- Sleeping tasks ------------------------------------------------------------------------- */

/* 1: inside; 0: outside; -EAGAIN: the task does not sleep; -ESRCH: it is gone. */
static int check_asleep(struct task_search *search, pid_t pid, pid_t tid)
{
	for (int i = 0; i < TRIES; i++) {
		struct asleep before, after;
		int ret = task_read_asleep(pid, tid, &before), inside;

		if (ret <= 0)
			return ret ? ret : -EAGAIN;
		inside = stack_leads_inside(search, before.pc, before.sp);
		ret = task_read_asleep(pid, tid, &after);
		if (ret > 0 && before.switches == after.switches && before.pc == after.pc && before.sp == after.sp &&
		    !strcmp(before.where, after.where))
			return inside;
	}
	return -EAGAIN;
}

/* ---- Tasks that wait for a CPU -------------------------------------------------------------- */

/* How often the task got a CPU; 0: the kernel does not tell (CONFIG_SCHED_INFO). */
static uint64_t read_turns(pid_t tid)
{
	unsigned long long turns;
	char buf[96];

	if (proc_read_file(tid, "schedstat", buf, sizeof(buf)) <= 0 || sscanf(buf, "%*u %*u %llu", &turns) != 1)
		return 0;
	return turns;
}

int task_waits_for_cpu(const struct task_search *search)
{
	struct asleep a;

	/* GUARD(starved_turns) */
	return search->turns && read_turns(search->inside) == search->turns &&
	       task_read_asleep(search->inside, search->inside, &a) == 0;
}

/* ---- All tasks ------------------------------------------------------------------------------ */

static int check_running(struct task_search *search, pid_t tid)
{
	struct user_regs_struct regs;
	int sig = 0, inside = 1, ret;

	do
		ret = task_stop(tid, &sig);
	while (ret == -EAGAIN && now_ns() < search->until_ns);
	search->is_late = ret == -EAGAIN;
	if (ret)
		return ret == -ESRCH ? 0 : 1;
	if (!task_request(PTRACE_GETREGS, tid, 0, &regs))
		inside = stack_leads_inside(search, regs.rip, regs.rsp);
	search->turns = read_turns(tid);
	task_resume(tid, sig);
	return inside;
}

static int check_task(struct task_search *search, pid_t pid, pid_t tid)
{
	int ret = check_asleep(search, pid, tid);

	search->is_late = 0;
	search->turns = 0;
	if (ret == -ESRCH)
		return 0;
	if (ret < 0)
		ret = check_running(search, tid);
	if (ret)
		search->inside = tid;
	return ret;
}

int each_sharing_task(const struct task_search *search, each_task_fn *fn, void *arg)
{
	int ret = each_task(search->pid, fn, arg);
	DIR *d = ret ? NULL : proc_list(0);
	pid_t pid;

	while (!ret && (pid = proc_list_next(d))) {
		if (pid != search->pid && pid != search->agent && pid != getpid() &&
		    syscall(SYS_kcmp, search->pid, pid, KCMP_VM, 0, 0) == 0)
			ret = each_task(pid, fn, arg);
		if (ret == -ESRCH)
			ret = 0;
	}
	proc_list_end(d);
	return ret;
}

static int check_task_fn(void *arg, pid_t pid, pid_t tid)
{
	return check_task(arg, pid, tid);
}

/*
 * Late tasks that have stopped meanwhile are resumed first: they would be taken for sleeping ones.
 */
int tasks_find_inside(struct task_search *search)
{
	tasks_reap_late();
	search->searched = 0;
	return each_sharing_task(search, check_task_fn, search);
}

struct other_threads {
	struct task_search *search;
	pid_t but;
	int looks;			/* left for all threads together: a target decides how many threads it has */
};

/*
 * A thread that calls traced functions in a loop is inside most of the time: it is searched until it is outside once.
 */
static int check_other_fn(void *arg, pid_t pid, pid_t tid)
{
	struct other_threads *o = arg;
	int ret = tid == o->but ? 0 : check_task(o->search, pid, tid);

	for (; ret > 0 && o->looks > 0; o->looks--) {
		nanosleep(&(struct timespec){ .tv_nsec = OTHER_NS }, NULL);
		if (!task_waits_for_cpu(o->search))
			ret = check_task(o->search, pid, tid);
	}
	return ret;
}

int threads_find_inside(struct task_search *search, pid_t but)
{
	struct other_threads o = { search, but, OTHER_LOOKS };

	tasks_reap_late();
	search->searched = 0;
	return each_task(search->pid, check_other_fn, &o);
}

struct pointer_look {
	uint64_t at, bytes;
	unsigned taken;
};

static int take_pointer_fn(void *arg, pid_t pid, pid_t tid)
{
	struct pointer_look *p = arg;
	struct user_regs_struct regs;
	int sig = 0, ret = task_stop(tid, &sig);

	(void)pid;
	if (ret)
		return ret == -ESRCH ? 0 : ret;
	ret = task_request(PTRACE_GETREGS, tid, 0, &regs);
	if (!ret && regs.fs_base - p->at < p->bytes) {
		regs.fs_base = 0; /* GUARD(thread_pointer_taken) */
		ret = task_request(PTRACE_SETREGS, tid, 0, &regs);
		p->taken++;
	}
	task_resume(tid, sig);
	return ret == -ESRCH ? 0 : ret;
}

int tasks_take_thread_pointer(const struct task_search *search, uint64_t at, uint64_t bytes)
{
	struct pointer_look p = { at, bytes, 0 };
	int ret;

	for (int i = 0; i < TRIES; i++) {
		p.taken = 0;
		ret = each_sharing_task(search, take_pointer_fn, &p);
		if (ret || !p.taken)
			return ret;
	}
	return -EAGAIN;
}
