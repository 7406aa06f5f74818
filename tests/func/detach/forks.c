/* SPDX-License-Identifier: MIT */
/*
 * forks.c - has children all the time, without libc's help, that call plain functions at once: forks
 *
 * Entries of every alignment, so that some jumps lie over two blocks. Each child must end; one that does not
 * within STUCK_MS is told of. Prints `ready`; a byte or the end of its input ends it: `N children, M stuck`.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STUCK_MS	20000

static volatile long sink;

#define ONE(n)	__attribute__((noinline, aligned(1))) void plain_##n(void) { sink += n; } __asm__(".byte 0x90");
#define TEN(n)	ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)
#define CALL(n)	plain_##n();
#define CALLS(n) CALL(n##0) CALL(n##1) CALL(n##2) CALL(n##3) CALL(n##4) \
	CALL(n##5) CALL(n##6) CALL(n##7) CALL(n##8) CALL(n##9)
TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6)

static void call_all(void)
{
	CALLS(1) CALLS(2) CALLS(3) CALLS(4) CALLS(5) CALLS(6)
}

static int is_stuck(pid_t pid)
{
	for (int ms = 0; ms < STUCK_MS; ms++) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return 0;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 1;
}

int main(void)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	long children = 0, stuck = 0;

	puts("ready");
	fflush(stdout);
	while (!poll(&in, 1, 0)) {
		pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

		if (!pid) {
			call_all();
			syscall(SYS_exit_group, 0);
		}
		call_all();
		children++;
		stuck += pid > 0 && is_stuck(pid);
	}
	printf("%ld children, %ld stuck\n", children, stuck);
	return 0;
}
