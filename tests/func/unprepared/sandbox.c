/* SPDX-License-Identifier: MIT */
/*
 * sandbox.c MODE - a child forbids itself system calls, or the clock, in the middle of calls that are traced
 *
 *	jump	a filter as OpenSSH's, then longjmp over calls	deny	one that ends it for futex and rt_sigprocmask
 *	strict	SECCOMP_MODE_STRICT				clock	PR_SET_TSC
 *	fork	as clock, then a child				handler	as jump, in signal handlers on a stack of their own
 *	threads	as deny, for all threads, of which three are inside of calls and come back from them
 *	event	as deny, for all threads, of which one is held before the first call of its first event in sum()
 *	raw	as deny, by syscall(SYS_seccomp)		wait	as clock, then waits for its input to end
 * The child ends with status 5, and the program with 0 if it did.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NTHREADS 3
#define HELD_LOOKS 100
#define STOP_ENTRY 1	/* PTRACE_SYSCALL_INFO_ENTRY */
#define ALLOW(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##nr, 0, 1), \
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define LOAD BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))

static jmp_buf env;
static sigjmp_buf sigenv;
static volatile int count, is_set, is_inside, nback;
static struct { volatile pid_t tid; volatile int is_held; } *shared;
static int go[2];

__attribute__((noinline)) int sum(int n)
{
	return n < 2 ? n : sum(n - 1) + sum(n - 2);
}

__attribute__((noinline)) void deep(int n)
{
	if (!n)
		longjmp(env, 1);
	deep(n - 1);
	count++;
}

__attribute__((noinline)) int jump(void)
{
	if (!setjmp(env))
		deep(10);
	return sum(3);
}

__attribute__((noinline)) void from_handler(int n)
{
	if (!n)
		siglongjmp(sigenv, 1);
	from_handler(n - 1);
	count++;
}

static void handler(int sig)
{
	if (count++ % 2)
		from_handler(5);
	sum(3);
}

static void set_filter(int is_list, int by_syscall, unsigned flags)
{
	struct sock_filter list[] = {
		LOAD, ALLOW(brk), ALLOW(clock_gettime), ALLOW(close), ALLOW(exit), ALLOW(exit_group), ALLOW(futex),
			ALLOW(getpid), ALLOW(gettid),
		ALLOW(madvise), ALLOW(mmap), ALLOW(munmap), ALLOW(nanosleep), ALLOW(read), ALLOW(rt_sigprocmask),
		ALLOW(rt_sigreturn),
		ALLOW(tgkill), ALLOW(write), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	}, deny[] = { LOAD, KILL(futex), KILL(rt_sigprocmask), KILL(gettid),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog p = { is_list ? sizeof(list) / sizeof(*list) : sizeof(deny) / sizeof(*deny),
		is_list ? list : deny };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (by_syscall ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &p) :
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))
		_exit(77);
}

static int is_for_all(const char *mode)
{
	return !strcmp(mode, "threads") || !strcmp(mode, "event");
}

/* The call that forbids it is made at the innermost level. */
__attribute__((noinline)) int level(int n, const char *mode)
{
	int r;

	if (n)
		r = level(n - 1, mode);
	else if (!strcmp(mode, "strict"))
		r = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	else if (!strcmp(mode, "clock") || !strcmp(mode, "fork") || !strcmp(mode, "wait"))
		r = prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
	else
		set_filter(!strcmp(mode, "jump") || !strcmp(mode, "handler"), !strcmp(mode, "raw") ||
			   is_for_all(mode), is_for_all(mode) ? SECCOMP_FILTER_FLAG_TSYNC : 0), r = 0;
	return r + sum(5);
}

/* Comes back from many levels when the filter is there. */
__attribute__((noinline)) int wait_inside(int n)
{
	int r = 0;

	if (n)
		return wait_inside(n - 1) + 1;
	__atomic_add_fetch(&is_inside, 1, __ATOMIC_SEQ_CST);
	while (!is_set)
		r = sum(2);
	return r + sum(8);
}

/* Does not end: libc ends a thread with rt_sigprocmask. */
static void *thread(void *arg)
{
	wait_inside(20);
	__atomic_add_fetch(&nback, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
}

static void *begin_event(void *arg)
{
	char byte;

	shared->tid = syscall(SYS_gettid);
	read(go[0], &byte, 1);
	sum(2);
	nback = 1;
	for (;;)
		pause();
}

/*
 * Holds the thread at the first call that it makes behind its read(), until the filter is there or should be: its own
 * is the pause() at the end, in which it is no harm.
 */
static int hold(pid_t child)
{
	struct { unsigned char op, pad[3]; unsigned arch; unsigned long long ip, sp, nr, args[6]; } info;
	char name[64], text[4096] = "";
	pid_t tid;
	int status, is_going = 0;

	while (!(tid = shared->tid))
		if (waitpid(child, &status, WNOHANG))
			return 0;
	if (ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACESYSGOOD) || ptrace(PTRACE_INTERRUPT, tid, 0, 0))
		return 77;
	do {
		if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
			return 77;
		if (!is_going++)
			write(go[1], "", 1);
		info.op = 0;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80) && ptrace(0x420e, tid, sizeof(info), &info) > 0 &&
		    info.op == STOP_ENTRY && info.nr != SYS_read && info.nr != SYS_restart_syscall)
			break;
	} while (!ptrace(PTRACE_SYSCALL, tid, 0, 0));
	shared->is_held = 1;
	snprintf(name, sizeof(name), "/proc/%d/task/%d/status", child, tid);
	for (int i = 0; i < HELD_LOOKS && !strstr(text, "Seccomp:\t2"); i++) {
		FILE *f = fopen(name, "r");

		if (f) {
			text[fread(text, 1, sizeof(text) - 1, f)] = 0;
			fclose(f);
		}
		usleep(10000);
	}
	if (ptrace(PTRACE_DETACH, tid, 0, 0))	/* the child has ended */
		waitpid(tid, &status, __WALL);
	return 0;
}

static void child(const char *mode)
{
	pthread_t t[NTHREADS];
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	char byte;
	int r;

	if (!strcmp(mode, "handler")) {
		/* Above what it interrupts, or below. */
		stack_t ss = { .ss_size = 65536 };
		ss.ss_sp = mmap(NULL, ss.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		sigaltstack(&ss, NULL);
		sigaction(SIGUSR1, &sa, NULL);
	}
	for (int i = 0; !strcmp(mode, "threads") && i < NTHREADS; i++)
		pthread_create(&t[i], NULL, thread, NULL);
	while (!strcmp(mode, "threads") && is_inside < NTHREADS)
		;
	if (!strcmp(mode, "event"))
		pthread_create(&t[0], NULL, begin_event, NULL);
	while (!strcmp(mode, "event") && !shared->is_held)
		;
	sum(8);
	r = level(20, mode);
	is_set = 1;
	while (!strcmp(mode, "threads") && nback < NTHREADS)
		;
	while (!strcmp(mode, "event") && !nback)
		;
	for (int i = 0; !strcmp(mode, "jump") && i < 50; i++)
		jump();
	for (int i = 0; !strcmp(mode, "handler") && i < 50; i++)
		if (!sigsetjmp(sigenv, 1))
			syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1);
	if (!strcmp(mode, "fork")) {
		int status;
		pid_t pid = fork();

		if (!pid)
			_exit(sum(10) == 55 ? 0 : 1);
		r += waitpid(pid, &status, 0) != pid || status;
	}
	if (!strcmp(mode, "wait")) {
		write(1, "ready\n", 6);
		while (read(0, &byte, 1) > 0)
			;
	}
	if (sum(12) != 144 || r != 105)		/* 21 times sum(5) */
		r = -1;
	syscall(SYS_exit_group, r == 105 ? 5 : 6);
}

int main(int argc, char **argv)
{
	int status = 0;
	pid_t pid;

	if (argc < 2)
		return 2;
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pipe(go);
	pid = fork();
	if (!pid) {
		if (!strcmp(argv[1], "strict")) {
			int r = level(20, argv[1]);

			syscall(SYS_exit, r == 105 && sum(12) == 144 ? 5 : 6);
		}
		child(argv[1]);
	}
	if (!strcmp(argv[1], "event") && hold(pid)) {
		kill(pid, SIGKILL);
		return 77;
	}
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		return 77;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 5)
		printf("%s: the child ended by %s %d\n", argv[1], WIFSIGNALED(status) ? "signal" : "status",
		       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	else
		puts("done");
	return 0;
}
