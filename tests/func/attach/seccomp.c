/* SPDX-License-Identifier: MIT */
/*
 * seccomp.c - for seccomp.py: a program of two threads with a filter that denies one system call
 *
 *	seccomp NR kill|errno|trap|log [NR [ACTION]]	denies one or two, says ready, works until its input ends
 *
 * The threads exist before the filter, which is for all of them, and make no other call than read and futex meanwhile.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int is_over;
static volatile unsigned long turns;

__attribute__((noinline)) void turn(void)
{
	turns++;
}

static void *work(void *arg)
{
	while (!is_over)
		for (int i = 0; i < 1000; i++)
			turn();
	return arg;
}

static unsigned action_of(const char *name)
{
	return !strcmp(name, "errno") ? SECCOMP_RET_ERRNO | EPERM : !strcmp(name, "trap") ? SECCOMP_RET_TRAP :
	       !strcmp(name, "log") ? SECCOMP_RET_LOG : SECCOMP_RET_KILL_PROCESS;
}

int main(int argc, char **argv)
{
	const char *action = argc > 2 ? argv[2] : "kill";
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, argc > 1 ? (unsigned)atoi(argv[1]) : 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action_of(action)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, argc > 3 ? (unsigned)atoi(argv[3]) : ~0u, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action_of(argc > 4 ? argv[4] : action)),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };
	pthread_t thread;
	char byte;

	if (pthread_create(&thread, NULL, work, NULL))
		return 2;
	while (!turns)		/* what it calls at its start is behind it */
		;
	if (write(1, "ready\n", 6) != 6 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &prog))
		return 77;
	while (read(0, &byte, 1) > 0)
		;
	is_over = 1;
	_exit(turns ? 0 : 3);
}
