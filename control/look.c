// SPDX-License-Identifier: MIT
/*
 * look.c - where the tasks of an address space are
 *
 * A task that sleeps is looked at without being disturbed: /proc/PID/task/TID/syscall has its pc and stack pointer, and
 * its switch counts tell afterwards whether it slept all the while. One that runs is stopped for a few microseconds.
 *
 * Whose task? The process's own, and those of other processes with the same memory: a vfork child may wait in one of
 * our hooks while its parent sleeps in the kernel. kcmp() finds them.
 *
 * What leads back inside. A pc; or the pc that a signal frame will restore, on the stack above the stack pointer, or on
 * the stack which that frame interrupted, and so on. Return addresses of ours in slots are the agent's business
 * (UFT_CMD_UNHOOK), those of our own functions lie behind a pc or a signal frame. Words that merely look like addresses
 * of ours are dead: our frames were there once, so a search for plain words would never end. Not found: a frame
 * on a stack that no task stands on (a coroutine switched away inside a signal handler that had interrupted us).
 */
#include "control/look.h"

#include "control/internal.h"

#include <dirent.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOP_MS		500
#define ERESTARTNOHAND_	514
#define TRIES		4
#define STEPS		5		/* of one byte each; more are not overwritten */
#define SPINS		200		/* looks at a task before we sleep */
#define YIELD_NS	500000		/* others wait for this CPU */
#define STACK_MAX	(8u << 20)	/* of each stack; frames of signal handlers do not lie deeper in practice */
#define PART		(64u << 10)
#define MAX_STACKS	8
#define MAX_ROUNDS	50		/* of finding new tasks while they are held */

/* ---- One task, stopped ---------------------------------------------------------------------- */

static int wait_stop(pid_t tid, int *status)
{
	uint64_t deadline = session_now_ns() + STOP_MS * 1000000ull, before;
	unsigned spins = 0;

	for (long ns = 10000;; ns += ns < 1000000 ? ns : 0) {
		pid_t got = waitpid(tid, status, __WALL | WNOHANG);

		/* A sleep costs more than most take to stop, and there may be hundreds to wait for. A yield costs all others'
		 * time slices when the CPU is wanted. */
		while (!got && spins++ < SPINS) {
			before = session_now_ns();
			sched_yield();
			if (session_now_ns() - before > YIELD_NS)
				spins = SPINS;
			got = waitpid(tid, status, __WALL | WNOHANG);
		}

		if (got == tid)
			return WIFSTOPPED(*status) ? 0 : -ESRCH;
		if (got < 0 && errno != EINTR)
			return -ESRCH;
		if (session_now_ns() > deadline)
			return -EAGAIN;
		nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
	}
}

/* Those that were asked to stop and did not in time. They will, and nobody else would let them go. */
static struct {
	pid_t *tid;
	unsigned n, room;
} late;

static void late_add(pid_t tid)
{
	if (late.n == late.room) {
		pid_t *more = realloc(late.tid, (2 * late.room + 8) * sizeof(*more));

		if (!more)
			return;		/* it stands until we end */
		late.tid = more;
		late.room = 2 * late.room + 8;
	}
	late.tid[late.n++] = tid;
}

static int late_take(pid_t tid)
{
	for (unsigned i = 0; i < late.n; i++)
		if (late.tid[i] == tid) {
			late.tid[i] = late.tid[--late.n];
			return 1;
		}
	return 0;
}

unsigned look_reap(void)
{
	for (unsigned i = late.n; i-- > 0;) {
		pid_t tid = late.tid[i];
		int status, got = waitpid(tid, &status, __WALL | WNOHANG);

		if (!got || (got < 0 && errno == EINTR))
			continue;
		if (got == tid && WIFSTOPPED(status))
			look_go(tid, status >> 16 ? 0 : WSTOPSIG(status));
		late_take(tid);
	}
	return late.n;
}

static int stop_begin(pid_t tid)
{
	if (late_take(tid))
		return 0;
	if (ptrace(PTRACE_SEIZE, tid, 0, 0) < 0 || ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0)
		return -errno;
	return 0;
}

int look_stop(pid_t tid, int *sig)
{
	int status, ret = stop_begin(tid);

	if (!ret)
		ret = wait_stop(tid, &status);
	if (!ret)
		*sig = status >> 16 ? 0 : WSTOPSIG(status);	/* a signal that came first is given back */
	else if (ret == -EAGAIN)
		late_add(tid);
	return ret;
}

/* System calls that end with EINTR when a task is stopped, without any signal, and may simply be made again. */
static int is_repeatable(unsigned long long nr)
{
	static const uint16_t calls[] = {
		SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_sendto, SYS_sendmsg,
		SYS_sendmmsg, SYS_accept, SYS_accept4, SYS_epoll_wait, SYS_epoll_pwait, 441 /* epoll_pwait2 */, SYS_semop,
		SYS_semtimedop, SYS_msgrcv, SYS_msgsnd, SYS_io_getevents, SYS_rt_sigtimedwait, SYS_futex, 426 /* io_uring_enter */,
		449 /* futex_waitv */, SYS_pause,
	};

	for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i] == nr)
			return 1;
	return 0;
}

void look_go(pid_t tid, int sig)
{
	struct user_regs_struct regs;

	if (!sig && ptrace(PTRACE_GETREGS, tid, 0, &regs) == 0 && regs.rax == (unsigned long long)-EINTR &&
	    (long long)regs.orig_rax >= 0 && is_repeatable(regs.orig_rax)) {
		/* For the kernel: make it again, or, if a signal handler runs first, let it be interrupted after all. */
		regs.rax = (unsigned long long)-ERESTARTNOHAND_;
		ptrace(PTRACE_SETREGS, tid, 0, &regs);
	}
	ptrace(PTRACE_DETACH, tid, 0, sig);
}

/* ---- What leads inside ---------------------------------------------------------------------- */

/* The last range that begins at or below @addr is the only one that can hold it. */
static uint32_t in_sorted(const struct look *l, uint64_t addr)
{
	uint32_t lo = 0, hi = l->nown;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (l->own[mid].at <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr - l->own[lo - 1].at < l->own[lo - 1].bytes ? lo : 0;
}

/* The number of the range that holds @addr, from 1. */
static uint32_t range_of(const struct look *l, uint64_t addr)
{
	if (l->is_sorted)
		return in_sorted(l, addr);
	for (uint32_t i = 0; i < l->nown; i++)
		if (addr - l->own[i].at < (l->own[i].bytes & ~(uint64_t)UFT_OWNED_TP))
			return i + 1;
	return 0;
}

/* 1: that is enough to know; 0: outside, or marked and more is to be found. */
static int is_ours(const struct look *l, uint64_t addr)
{
	uint32_t i = range_of(l, addr);

	if (i && l->hit)
		l->hit[i - 1] = 1;
	return i && !l->hit;
}

/* What the kernel puts on a stack for a signal handler (asm/sigcontext.h), from the restorer's address on. */
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
			return;		/* seen, or to be seen */
	if (s->n < MAX_STACKS)
		s->from[s->n++] = sp;
}

/* 1: a signal frame in it leads inside. Stops at unmapped memory. */
static int scan_stack(const struct look *l, struct stacks *s, uint64_t from, uint8_t *buf)
{
	const size_t overlap = sizeof(struct signal_frame);

	for (uint64_t at = from & ~7ull; at - from + 8 < STACK_MAX; at += PART - overlap) {
		struct iovec mine = { buf, PART }, its = { (void *)(uintptr_t)at, PART };
		ssize_t n = process_vm_readv(l->pid, &mine, 1, &its, 1, 0);

		for (ssize_t i = 0; i + (ssize_t)overlap <= n; i += 8) {
			const struct signal_frame *f = (const void *)(buf + i);

			if (f->cs != 0x33 || !is_signal_frame(f))
				continue;
			if (is_ours(l, f->rip))
				return 1;
			add_stack(s, f->rsp);
		}
		if (n < (ssize_t)PART)
			break;
	}
	return 0;
}

static int leads_inside(const struct look *l, uint64_t pc, uint64_t sp)
{
	static uint8_t buf[PART];	/* the session's only thread */
	struct stacks s = { { sp }, 1 };

	if (is_ours(l, pc))
		return 1;
	for (unsigned i = 0; i < s.n; i++)
		if (scan_stack(l, &s, s.from[i], buf))
			return 1;
	return 0;
}

/* ---- Tasks that sleep ----------------------------------------------------------------------- */

struct asleep {
	char where[160];		/* the line of .../syscall */
	unsigned long long switches;
	long nr;
	uint64_t sp, pc;
	int is_zombie;
};

static int read_task(pid_t pid, pid_t tid, const char *name, char *buf, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "task/%d/%s", tid, name);
	return peek_file(pid, path, buf, size);
}

static unsigned long long number_after(const char *text, const char *field)
{
	const char *at = strstr(text, field);

	return at ? strtoull(at + strlen(field), NULL, 10) : 0;
}

/* 1: it sleeps, *a is where; 0: it runs; -ESRCH: it is over; another -errno: not told. */
static int read_asleep(pid_t pid, pid_t tid, struct asleep *a)
{
	char status[4096], *at;
	int n = read_task(pid, tid, "status", status, sizeof(status));

	if (n <= 0)
		return -ESRCH;
	at = strstr(status, "\nState:\t");
	if (at && strchr("ZX", at[8]))
		return -ESRCH;
	a->switches = number_after(status, "\nvoluntary_ctxt_switches:") + number_after(status, "\nnonvoluntary_ctxt_switches:");
	n = read_task(pid, tid, "syscall", a->where, sizeof(a->where));
	if (n <= 0)
		return n == -EPERM || n == -EACCES ? n : -ESRCH;
	if (a->where[0] == 'r')
		return 0;
	at = strrchr(a->where, ' ');
	if (!at)
		return -ESRCH;
	a->pc = strtoull(at, NULL, 16);
	*at = '\0';
	at = strrchr(a->where, ' ');
	a->sp = at ? strtoull(at, NULL, 16) : 0;
	a->nr = strtol(a->where, NULL, 10);
	return a->pc ? 1 : -ESRCH;		/* a kernel thread, or just ending */
}

/* 1 inside, 0 outside, -EAGAIN: it does not sleep, -ESRCH: over. */
static int look_asleep(const struct look *l, pid_t pid, pid_t tid)
{
	for (int i = 0; i < TRIES; i++) {
		struct asleep before, after;
		int ret = read_asleep(pid, tid, &before), inside;

		if (ret <= 0)
			return ret ? ret : -EAGAIN;
		inside = leads_inside(l, before.pc, before.sp);
		ret = read_asleep(pid, tid, &after);
		if (ret > 0 && before.switches == after.switches && before.pc == after.pc && before.sp == after.sp &&
		    !strcmp(before.where, after.where))
			return inside;
	}
	return -EAGAIN;
}

/* ---- All tasks ------------------------------------------------------------------------------ */

static int look_running(const struct look *l, pid_t tid)
{
	struct user_regs_struct regs;
	int sig = 0, inside = 1, ret = look_stop(tid, &sig);

	if (ret)
		return ret == -ESRCH ? 0 : 1;
	if (ptrace(PTRACE_GETREGS, tid, 0, &regs) == 0)
		inside = leads_inside(l, regs.rip, regs.rsp);
	look_go(tid, sig);
	return inside;
}

static int look_task(struct look *l, pid_t pid, pid_t tid)
{
	int ret = look_asleep(l, pid, tid);

	if (ret == -ESRCH)
		return 0;
	if (ret < 0)
		ret = look_running(l, tid);
	if (ret)
		l->inside = tid;
	return ret;
}

typedef int task_fn(void *arg, pid_t pid, pid_t tid);

static int each_task(pid_t pid, task_fn *fn, void *arg)
{
	char path[64];
	struct dirent *e;
	int ret = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	if (!d)
		return -ESRCH;
	while (!ret && (e = readdir(d)))
		if (atoi(e->d_name) > 0)
			ret = fn(arg, pid, (pid_t)atoi(e->d_name));
	closedir(d);
	return ret;
}

/* Calls @fn for each task that shares the memory, until it returns something else than 0. */
static int each_sharer(const struct look *l, task_fn *fn, void *arg)
{
	int ret = each_task(l->pid, fn, arg);
	DIR *d = ret ? NULL : opendir("/proc");
	struct dirent *e;

	while (d && !ret && (e = readdir(d))) {
		pid_t pid = (pid_t)atoi(e->d_name);

		if (pid > 0 && pid != l->pid && pid != l->agent && pid != getpid() &&
		    syscall(SYS_kcmp, l->pid, pid, KCMP_VM, 0, 0) == 0)
			ret = each_task(pid, fn, arg);
		if (ret == -ESRCH)
			ret = 0;
	}
	if (d)
		closedir(d);
	return ret;
}

static int look_fn(void *arg, pid_t pid, pid_t tid)
{
	return look_task(arg, pid, tid);
}

int look_at_tasks(struct look *l)
{
	return each_sharer(l, look_fn, l);
}

struct pointer_look {
	uint64_t at, bytes;
};

static int pointer_fn(void *arg, pid_t pid, pid_t tid)
{
	const struct pointer_look *p = arg;
	struct user_regs_struct regs;
	int sig = 0, ret = look_stop(tid, &sig), found = 1;

	(void)pid;
	if (ret)
		return ret != -ESRCH;
	if (ptrace(PTRACE_GETREGS, tid, 0, &regs) == 0)
		found = regs.fs_base - p->at < p->bytes;
	look_go(tid, sig);
	return found;
}

int look_for_thread_pointer(const struct look *l, uint64_t at, uint64_t bytes)
{
	struct pointer_look p = { at, bytes };

	return each_sharer(l, pointer_fn, &p) != 0;
}

/* ---- Holding -------------------------------------------------------------------------------- */

struct held_task {
	pid_t tid;
	int sig, is_stopped;
	int is_job_stopped;		/* by SIGSTOP and the like: it may not run */
};

struct held {
	struct held_task *task;
	unsigned n, room, nnew;
};

static int hold_fn(void *arg, pid_t pid, pid_t tid)
{
	struct held *h = arg;
	struct asleep a;

	for (unsigned i = 0; i < h->n; i++)
		if (h->task[i].tid == tid)
			return 0;
	/* The parent of a vfork child cannot be stopped, and goes nowhere while the child, which is held, lives. */
	if (read_asleep(pid, tid, &a) > 0 && (a.nr == SYS_vfork || a.nr == SYS_clone || a.nr == 435 /* clone3 */))
		return 0;
	if (h->n == h->room) {
		struct held_task *more = realloc(h->task, (2 * h->room + 16) * sizeof(*more));

		if (!more)
			return -EAGAIN;
		h->task = more;
		h->room = 2 * h->room + 16;
	}
	if (stop_begin(tid) == 0) {
		h->task[h->n++] = (struct held_task){ .tid = tid };
		h->nnew++;
	}
	return 0;
}

static int hold_wait(struct held *h)
{
	int ret = 0;

	for (unsigned i = 0; i < h->n; i++) {
		struct held_task *t = &h->task[i];
		int status, got;

		if (t->is_stopped)
			continue;
		got = wait_stop(t->tid, &status);
		t->is_stopped = got == 0;
		t->sig = !got && !(status >> 16) ? WSTOPSIG(status) : 0;
		t->is_job_stopped = !got && status >> 16 && WSTOPSIG(status) != SIGTRAP;
		if (got == -ESRCH)
			t->is_stopped = -1;
		else if (got)
			ret = got;
	}
	return ret;
}

int look_hold(const struct look *l, struct held **out)
{
	struct held *h = calloc(1, sizeof(*h));
	int ret = 0;

	*out = h;
	if (!h)
		return -ENOMEM;
	for (int i = 0; i < MAX_ROUNDS && !ret; i++) {	/* those that run may make others */
		h->nnew = 0;
		ret = each_sharer(l, hold_fn, h);
		if (!ret && !h->nnew)
			return 0;
		if (!ret)
			ret = hold_wait(h);
	}
	return ret ? ret : -EAGAIN;
}

/* What must not be done under the trap flag (it would be saved with the others), or is no single step. */
static int can_step(pid_t pid, const struct user_regs_struct *regs)
{
	uint8_t insn[2];

	return (int64_t)regs->orig_rax < 0 && !peek_mem(pid, regs->rip, insn, sizeof(insn)) && insn[0] != 0x9c &&
	       insn[1] != 0x9c;
}

/* Only whole instructions are few: no one stays there long. A signal that comes first is kept, and ends it. */
static void step_out(const struct look *l, struct held_task *t, struct user_regs_struct *regs)
{
	int status;

	for (int i = 0; i < STEPS && !t->sig && range_of(l, regs->rip) && can_step(l->pid, regs); i++) {
		t->is_stopped = 0;
		if (ptrace(PTRACE_SINGLESTEP, t->tid, 0, 0) < 0 || wait_stop(t->tid, &status))
			return;		/* look_release() sees to it */
		t->is_stopped = 1;
		t->sig = status >> 16 || WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
		if (status >> 16 || ptrace(PTRACE_GETREGS, t->tid, 0, regs) < 0)
			return;
	}
}

int look_held(struct look *l, struct held *h)
{
	for (unsigned i = 0; i < h->n; i++) {
		struct held_task *t = &h->task[i];
		struct user_regs_struct regs;

		if (t->is_stopped < 0 || ptrace(PTRACE_GETREGS, t->tid, 0, &regs) < 0)
			continue;		/* it is over */
		if (!t->is_job_stopped)
			step_out(l, t, &regs);
		if (!t->is_stopped)
			return -EAGAIN;
		leads_inside(l, regs.rip, regs.rsp);
	}
	return 0;
}

void look_release(struct held *h)
{
	if (!h)
		return;
	for (unsigned i = 0; i < h->n; i++) {
		struct held_task *t = &h->task[i];

		if (t->is_stopped > 0)
			look_go(t->tid, t->sig);
		else if (!t->is_stopped)
			late_add(t->tid);
	}
	free(h->task);
	free(h);
	look_reap();
}
