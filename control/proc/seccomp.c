// SPDX-License-Identifier: MIT
/*
 * seccomp.c - would a seccomp filter end the program for what we call in it?
 *
 * A filter that refuses a call with an error is met by the runtime. One that kills, or raises SIGSYS, ends
 * the task that makes the call: our agent or, worse, a thread of the program, perhaps an hour later. So the filters
 * of the thread that an attach uses are read while it stands (PTRACE_SECCOMP_GET_FILTER) and run here, each
 * on each call that we make. Reading takes CAP_SYS_ADMIN, and no filter of our own. Who may not and has the
 * same number of them, as in a container, has the same ones and lives.
 *
 * Each thread has filters of its own, so an attach looks at those of all (control/start/attach_threads.c).
 *
 * A program that sets a filter itself asks first, by the hook of the system call (runtime/trace/hooks/seccomp.c):
 * of that filter is known what the runtime has to do without, or that it has to be out. A program that is executed
 * under filters, which may have come by a call that no hook saw, is judged in its exec's stop.
 *
 * Not seen: what depends on arguments that we do not know here.
 */
#include "control/proc/seccomp.h"

#include "control/proc/proc.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PTRACE_SECCOMP_GET_FILTER_ 0x420c
#define MAX_FILTERS	256		/* more than 32768 instructions in all the kernel does not take */

/*
 * What we call, with the arguments that filters ask for. `denied`: in the program's threads, at any time;
 * what the runtime does without if a filter that the program sets itself would end it for that (enum
 * uft_denied). 0: it cannot do without. NOT_AGAIN: by the session's hand when it attaches, or by an agent
 * that it can lose, but not in a program that sets a filter later.
 */
#define NOT_AGAIN	0x80000000u
static const struct call {
	const char *name;
	int nr;
	uint64_t arg[3];
	uint32_t denied;
} calls[] = {
	{ "futex", SYS_futex, { 0 }, 0 }, { "futex", SYS_futex, { 0, 1 }, 0 },
	{ "futex", SYS_futex, { 0, 134 /* LOCK_PI_PRIVATE */ }, 0 },
	{ "rt_sigprocmask", SYS_rt_sigprocmask, { 0 }, 0 },
	{ "mmap", SYS_mmap, { 0, 4096, 3 }, UFT_DENIED_MEMORY },
	{ "mmap", SYS_mmap, { 0, 4096, 5 }, UFT_DENIED_CHILDREN },
	{ "munmap", SYS_munmap, { 0 }, UFT_DENIED_MEMORY },
	{ "mprotect", SYS_mprotect, { 0, 4096, 3 }, UFT_DENIED_MEMORY },
	{ "mprotect", SYS_mprotect, { 0, 4096, 5 }, UFT_DENIED_CHILDREN },	/* stubs */
	{ "mprotect", SYS_mprotect, { 0, 4096, 7 }, UFT_DENIED_CHILDREN },	/* text, while it is written */
	{ "madvise", SYS_madvise, { 0 }, UFT_DENIED_MEMORY },
	{ "pidfd_open", SYS_pidfd_open, { 0 }, UFT_DENIED_CHILDREN },
	{ "lseek", SYS_lseek, { 0 }, UFT_DENIED_CHILDREN },
	{ "pread64", SYS_pread64, { 0 }, UFT_DENIED_CHILDREN }, { "tkill", SYS_tkill, { 0 }, UFT_DENIED_GONE },
	{ "kill", SYS_kill, { 0 }, UFT_DENIED_GONE },
	{ "prlimit64", SYS_prlimit64, { 0, RLIMIT_AS }, UFT_DENIED_LIMIT },
	{ "process_vm_readv", SYS_process_vm_readv, { 0 }, UFT_DENIED_PEEK },
	{ "process_vm_writev", SYS_process_vm_writev, { 0 }, UFT_DENIED_PEEK },
	{ "sigaltstack", SYS_sigaltstack, { 0 }, UFT_DENIED_STACK }, { "getcpu", SYS_getcpu, { 0 }, UFT_DENIED_CPU },
	{ "getppid", SYS_getppid, { 0 }, UFT_DENIED_CHILDREN },
	{ "getpid", SYS_getpid, { 0 }, UFT_DENIED_ASK }, { "gettid", SYS_gettid, { 0 }, UFT_DENIED_ASK },
	{ "nanosleep", SYS_nanosleep, { 0 }, UFT_DENIED_ASK }, { "kcmp", SYS_kcmp, { 0 }, NOT_AGAIN },
	{ "openat", SYS_openat, { 0 }, UFT_DENIED_CHILDREN }, { "read", SYS_read, { 0 }, UFT_DENIED_CHILDREN },
	{ "close", SYS_close, { 0 }, UFT_DENIED_CHILDREN },
	{ "close_range", SYS_close_range, { 0 }, UFT_DENIED_CHILDREN },
	{ "membarrier", SYS_membarrier, { 0 }, UFT_DENIED_CHILDREN }, { "poll", SYS_poll, { 0 }, UFT_DENIED_CHILDREN },
	{ "socketpair", SYS_socketpair, { 1 /* AF_UNIX */, 02000005 /* SOCK_SEQPACKET | SOCK_CLOEXEC */ }, NOT_AGAIN },
	{ "recvmsg", SYS_recvmsg, { 0 }, NOT_AGAIN },
	{ "clone", SYS_clone, { 0x800100 /* CLONE_VM | CLONE_UNTRACED */ }, UFT_DENIED_CHILDREN },
	{ "wait4", SYS_wait4, { 0 }, UFT_DENIED_CHILDREN },
	{ "prctl", SYS_prctl, { 15 /* PR_SET_NAME */ }, UFT_DENIED_CHILDREN },
	{ "setsid", SYS_setsid, { 0 }, UFT_DENIED_CHILDREN }, { "access", SYS_access, { 0 }, UFT_DENIED_CHILDREN },
	{ "chdir", SYS_chdir, { 0 }, UFT_DENIED_CHILDREN },
	{ "rt_sigaction", SYS_rt_sigaction, { 11 }, UFT_DENIED_CHILDREN },
	{ "exit", SYS_exit, { 0 }, UFT_DENIED_CHILDREN },
};
_Static_assert(sizeof(calls) / sizeof(calls[0]) <= 64, "seccomp_check_task()'s bits");

static uint32_t calculate(uint32_t a, uint32_t op, uint32_t b)
{
	switch (op) {
	case BPF_ADD: return a + b;
	case BPF_SUB: return a - b;
	case BPF_MUL: return a * b;
	case BPF_DIV: return b ? a / b : 0;
	case BPF_OR: return a | b;
	case BPF_AND: return a & b;
	case BPF_XOR: return a ^ b;
	case BPF_LSH: return b < 32 ? a << b : 0;
	case BPF_RSH: return b < 32 ? a >> b : 0;
	default: return -a;		/* BPF_NEG */
	}
}

static int is_true(uint32_t a, uint32_t op, uint32_t b)
{
	return op == BPF_JEQ ? a == b : op == BPF_JGT ? a > b : op == BPF_JGE ? a >= b : (a & b) != 0;
}

uint32_t seccomp_run(const struct sock_filter *code, unsigned n, const struct seccomp_data *data)
{
	uint32_t a = 0, x = 0, mem[BPF_MEMWORDS] = { 0 };

	for (unsigned pc = 0; pc < n; pc++) {	/* jumps lead forward only */
		const struct sock_filter *f = &code[pc];
		uint32_t operand = BPF_SRC(f->code) == BPF_X ? x : f->k, value = f->k;

		switch (BPF_CLASS(f->code)) {
		case BPF_LD: case BPF_LDX:
			if (BPF_MODE(f->code) == BPF_ABS && f->k <= sizeof(*data) - 4)
				memcpy(&value, (const uint8_t *)data + f->k, 4);
			else if (BPF_MODE(f->code) == BPF_MEM)
				value = mem[f->k % BPF_MEMWORDS];
			else if (BPF_MODE(f->code) == BPF_LEN)
				value = sizeof(*data);
			*(BPF_CLASS(f->code) == BPF_LD ? &a : &x) = value;
			break;
		case BPF_ST: mem[f->k % BPF_MEMWORDS] = a; break;
		case BPF_STX: mem[f->k % BPF_MEMWORDS] = x; break;
		case BPF_ALU: a = calculate(a, BPF_OP(f->code), operand); break;
		case BPF_JMP:
			pc += BPF_OP(f->code) == BPF_JA ? f->k : is_true(a, BPF_OP(f->code), operand) ? f->jt : f->jf;
			break;
		case BPF_RET: return BPF_RVAL(f->code) == BPF_A ? a : f->k;
		case BPF_MISC:
			if (BPF_MISCOP(f->code) == BPF_TAX)
				x = a;
			else
				a = x;
			break;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

static uint32_t action_for(const struct sock_filter *code, unsigned n, int nr, const uint64_t *arg)
{
	struct seccomp_data data = { .nr = nr, .arch = AUDIT_ARCH_X86_64, .args = { arg[0], arg[1], arg[2] } };

	return seccomp_run(code, n, &data) & SECCOMP_RET_ACTION_FULL;
}

static int ends_it(const struct sock_filter *code, unsigned n, const struct call *c)
{
	uint32_t action = action_for(code, n, c->nr, c->arg);

	/*
	 * Made before execve() only: no harm if that ends as badly. The kernel orders actions as signed
	 * numbers, too.
	 */
	/* GUARD(only_exec_asks) */
	if (c->nr == SYS_access && (int32_t)action_for(code, n, SYS_execve, c->arg) <= (int32_t)action)
		return 0;
	return action == SECCOMP_RET_KILL_PROCESS || action == SECCOMP_RET_KILL_THREAD || action == SECCOMP_RET_TRAP;
}

#define NCALLS	(sizeof(calls) / sizeof(calls[0]))

/* Bit k: it would be ended for calls[k]. */
static uint64_t ended_by(const struct sock_filter *code, unsigned n)
{
	uint64_t ended = 0;

	for (size_t k = 0; k < NCALLS; k++)
		ended |= (uint64_t)ends_it(code, n, &calls[k]) << k;
	return ended;
}

/* System calls of one name are one after the other, and named once. */
static void put_names(uint64_t ended, char *names, size_t size)
{
	const char *last = "";

	names[0] = '\0';
	for (size_t k = 0; k < NCALLS; k++) {
		size_t at = strlen(names);

		if (!(ended >> k & 1) || !strcmp(calls[k].name, last))
			continue;
		last = calls[k].name;
		snprintf(names + at, size - at, "%s%s", at ? ", " : "", last);
	}
}

/* Sets bit k of *@ended if a filter of the stopped task would end it for calls[k]. 0; -EACCES: we may not read them. */
static int read_filters(pid_t tid, uint64_t *ended)
{
	struct sock_filter code[BPF_MAXINSNS];		/* 32 KB */
	long n = 0, i;

	*ended = 0;
	for (i = 0; i < MAX_FILTERS && (n = ptrace(PTRACE_SECCOMP_GET_FILTER_, tid, i, code)) > 0; i++)
		*ended |= ended_by(code, (unsigned)n);
	return n < 0 && !i && errno != EINVAL && errno != ENOENT /* it has none */ ? -errno : 0;
}

int seccomp_has_ours_only(pid_t tid)
{
	return proc_status_number(tid, "Seccomp_filters", 10) <= proc_status_number(getpid(), "Seccomp_filters", 10);
}

int seccomp_may_end_task(pid_t tid, char *names, size_t size)
{
	uint64_t ended;

	if (!read_filters(tid, &ended)) {
		put_names(ended, names, size);
		return ended != 0;
	}
	if (seccomp_has_ours_only(tid))
		return 0;
	snprintf(names, size, "?");
	return 1;
}

int seccomp_permits_children(const struct sock_filter *code, unsigned n)
{
	static const uint64_t fork_flags[3] = { 0x1200011 /* glibc's fork() */ }, none[3] = { 0 };
	static const int makers[] = { SYS_clone, SYS_clone3, SYS_fork, SYS_vfork, SYS_execve, SYS_execveat };

	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
		if (action_for(code, n, makers[i], makers[i] == SYS_clone ? fork_flags : none) == SECCOMP_RET_ALLOW)
			return 1;
	return 0;
}

int seccomp_judge(const struct sock_filter *code, unsigned n, uint32_t *denied, char *names, size_t size)
{
	uint64_t ended = ended_by(code, n), vital = 0, later = 0;

	*denied = 0;
	for (size_t k = 0; k < NCALLS; k++) {
		if (!(ended >> k & 1) || calls[k].denied == NOT_AGAIN)
			continue;
		*denied |= calls[k].denied;
		vital |= (uint64_t)!calls[k].denied << k;
		later |= (uint64_t)(calls[k].denied == UFT_DENIED_CHILDREN) << k;
	}
	if (*denied & UFT_DENIED_ASK)
		*denied |= UFT_DENIED_PEEK;	/* which asks for the process's own number */
	put_names(vital ? vital : later, names, size);
	return vital ? -EPERM : 0;
}

int seccomp_judge_fresh(pid_t tid, uint32_t *denied, char *names, size_t size)
{
	const uint32_t avoided = UFT_DENIED_STACK | UFT_DENIED_PEEK | UFT_DENIED_GONE | UFT_DENIED_CPU |
				 UFT_DENIED_LIMIT;
	uint64_t ended, vital = 0;

	*denied = 0;
	if (read_filters(tid, &ended))
		return 0;
	for (size_t k = 0; k < NCALLS; k++) {
		if (!(ended >> k & 1))
			continue;
		*denied |= calls[k].denied & avoided;
		vital |= (uint64_t)!(calls[k].denied & avoided) << k;
	}
	put_names(vital, names, size);
	return vital ? -EPERM : 0;
}
