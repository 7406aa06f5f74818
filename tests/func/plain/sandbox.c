/* SPDX-License-Identifier: MIT */
/*
 * sandbox.c MODE - a child forbids itself system calls, or the clock, in the middle of calls that are traced
 *
 *	jump	a filter as OpenSSH's, then longjmp over calls	deny	one that ends it for futex and rt_sigprocmask
 *	strict	SECCOMP_MODE_STRICT				clock	PR_SET_TSC
 *	fork	as clock, then a child				handler	as jump, in signal handlers on a stack of their own
 *	threads	as deny, for all threads, of which three are inside of calls and come back from them
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
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NTHREADS 3
#define ALLOW(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##nr, 0, 1), \
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define LOAD BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))

static jmp_buf env;
static sigjmp_buf sigenv;
static volatile int count, is_set, is_inside, nback;

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
			   !strcmp(mode, "threads"), !strcmp(mode, "threads") ? SECCOMP_FILTER_FLAG_TSYNC : 0), r = 0;
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
	sum(8);
	r = level(20, mode);
	is_set = 1;
	while (!strcmp(mode, "threads") && nback < NTHREADS)
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
	pid = fork();
	if (!pid) {
		if (!strcmp(argv[1], "strict")) {
			int r = level(20, argv[1]);

			syscall(SYS_exit, r == 105 && sum(12) == 144 ? 5 : 6);
		}
		child(argv[1]);
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
