/* SPDX-License-Identifier: MIT */
/*
 * confined.c - a thread that may make few system calls, or has them dispatched to the program, while the first may all
 *
 * Usage: confined MODE
 *	filter		a worker's filter kills the process for all but a few calls
 *	filters		the same, for all threads, when a session's memory is mapped
 *	strict		the worker is in seccomp's strict mode
 *	dispatch	the system calls of the first thread are dispatched to a handler while it works
 *	exec		it executes itself under a filter that kills for what an agent needs
 *	jumps		it does so under one that kills for sigaltstack(), and then leaves frames by longjmp()
 *	jump		only that
 *	plain		no thread confines itself
 *
 * Filters of exec and jumps are set by a call that no hook sees. Says "ready", works until its input ends, and says
 * "done". Exit 3: a call was dispatched that the program did not make; 77: that cannot be done here.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DISPATCH	59	/* PR_SET_SYSCALL_USER_DISPATCH */
#define ARRAY(a)	(sizeof(a) / sizeof((a)[0]))
#define IF(nr, what)	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, what)
#define ALLOW(nr)	IF(nr, SECCOMP_RET_ALLOW)
#define KILL(nr)	IF(nr, SECCOMP_RET_KILL_PROCESS)
#define NUMBER		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define ELSE(what)	BPF_STMT(BPF_RET | BPF_K, what)

static int turn[2];		/* a byte for each round of the worker */
static int confined[2];		/* a byte when it has confined itself */
static volatile char selector;	/* 1: system calls are dispatched */
static volatile int ndispatched;

__attribute__((noinline)) int work(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static int work_on(void)
{
	int n = 0;

	for (int i = 0; i < 100; i++)
		n = work(n);
	return n;
}

static int filter(unsigned flags)
{
	static struct sock_filter code[] = {
		NUMBER, ALLOW(SYS_read), ALLOW(SYS_write), ALLOW(SYS_poll), ALLOW(SYS_futex),
			ALLOW(SYS_restart_syscall),
		ALLOW(SYS_exit_group), ELSE(SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog p = { ARRAY(code), code };

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &p);
}

/* Is a session's memory mapped? */
static int is_attached(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[1024];
	int found = 0;

	while (f && fgets(line, sizeof(line), f))
		found |= strstr(line, "/session.") != NULL;
	if (f)
		fclose(f);
	return found;
}

static void await_session(void)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };

	while (!is_attached() && !poll(&in, 1, 0))
		;
}

static void *confine(void *mode)
{
	int ret = 0;
	char c;

	if (!strcmp(mode, "filters")) {
		ret = write(confined[1], "", 1) != 1;
		await_session();
		ret |= filter(SECCOMP_FILTER_FLAG_TSYNC);
	} else if (!strcmp(mode, "filter")) {
		ret = filter(0);
	} else if (!strcmp(mode, "strict")) {
		ret = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	}
	if (strcmp(mode, "filters") && write(confined[1], ret ? "x" : "", 1) != 1)
		syscall(SYS_exit_group, 77);
	while (read(turn[0], &c, 1) == 1)
		work_on();
	return NULL;
}

static void on_dispatch(int sig)
{
	(void)sig;
	selector = 0;
	ndispatched++;
}

static int dispatch(void)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };

	signal(SIGSYS, on_dispatch);
	if (prctl(DISPATCH, 1, 0, 0, &selector))
		return 77;
	puts("ready");
	while (!poll(&in, 1, 1)) {
		selector = 1;
		work_on();
		selector = 0;
	}
	puts("done");
	return ndispatched ? 3 : 0;
}

/* By a call that is made neither by a function of libc nor by its syscall(). */
static int filter_unseen(const struct sock_fprog *p)
{
	long ret = -1;
#if defined(__x86_64__)
	__asm__ volatile("syscall" : "=a"(ret) : "0"((long)SYS_seccomp), "D"((long)SECCOMP_SET_MODE_FILTER), "S"(0L),
			 "d"(p)
			 : "rcx", "r11", "memory");
#endif
	return (int)ret;
}

static int execute(const char *self, int is_soft)
{
	struct sock_filter agent[] = {
		NUMBER, KILL(SYS_membarrier), KILL(SYS_socketpair), KILL(SYS_setsid), KILL(SYS_close_range),
		KILL(SYS_pidfd_open), KILL(SYS_tkill), ELSE(SECCOMP_RET_ALLOW),
	}, stack[] = {
		NUMBER, KILL(SYS_sigaltstack), ELSE(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { ARRAY(agent), agent }, q = { ARRAY(stack), stack };

	if (filter_unseen(is_soft ? &q : &p))
		return 77;
	execl(self, self, is_soft ? "jump" : "plain", NULL);
	return 1;
}

static jmp_buf back;
static volatile int is_jumping = 1;

__attribute__((noinline)) int deep(int n)
{
	if (!n && is_jumping)
		longjmp(back, 1);
	n = n ? deep(n - 1) : 0;
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static int jump(void)
{
	for (volatile int i = 0; i < 50; i++)
		if (!setjmp(back))
			deep(10);
	puts("done");
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "plain";
	struct pollfd in = { .fd = 0, .events = POLLIN };
	pthread_t thread;
	char c = 1;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return 77;
	if (!strcmp(mode, "dispatch"))
		return dispatch();
	if (!strcmp(mode, "exec") || !strcmp(mode, "jumps"))
		return execute(argv[0], mode[0] == 'j');
	if (!strcmp(mode, "jump"))
		return jump();
	if (pipe(turn) || pipe(confined) || pthread_create(&thread, NULL, confine, (void *)mode) ||
	    read(confined[0], &c, 1) != 1 || c)
		return 77;
	puts("ready");
	while (!poll(&in, 1, 1)) {
		work_on();
		if (write(turn[1], "", 1) != 1)
			return 1;
	}
	puts("done");
	_exit(0);
}
