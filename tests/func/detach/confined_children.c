/* SPDX-License-Identifier: MIT */
/*
 * confined_children.c - for confined_children.py: a server whose children confine themselves, as sshd's do
 *
 * Until its input ends it forks children. Each sets a filter that kills for any call that is not in its list, calls and
 * sleeps for a while, and ends. Prints how many there were, and how many a signal ended.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PERMIT(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static volatile unsigned long turns;

__attribute__((noinline)) void turn(void)
{
	turns++;
}

__attribute__((noinline)) void confine(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		PERMIT(SYS_read), PERMIT(SYS_write), PERMIT(SYS_close), PERMIT(SYS_brk), PERMIT(SYS_mmap),
		PERMIT(SYS_munmap),
		PERMIT(SYS_mprotect), PERMIT(SYS_madvise), PERMIT(SYS_futex), PERMIT(SYS_getpid),
		PERMIT(SYS_rt_sigprocmask),
		PERMIT(SYS_nanosleep), PERMIT(SYS_clock_nanosleep), PERMIT(SYS_restart_syscall), PERMIT(SYS_exit),
		PERMIT(SYS_exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(77);
}

__attribute__((noinline)) void serve(void)
{
	confine();
	for (int i = 0; i < 60; i++) {
		turn();
		nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
	}
	_exit(0);
}

int main(void)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	unsigned n = 0, killed = 0;

	printf("ready\n");
	fflush(stdout);
	while (poll(&in, 1, 0) == 0) {
		int status;

		for (int i = 0; i < 3; i++)
			if (!fork())
				serve();
		for (int i = 0; i < 3; i++) {
			if (wait(&status) < 0)
				break;
			n++;
			killed += WIFSIGNALED(status);
			if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
				return 77;
		}
	}
	printf("%u children, %u killed\n", n, killed);
	return 0;
}
