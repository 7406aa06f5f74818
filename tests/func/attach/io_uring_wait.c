// SPDX-License-Identifier: MIT
/*
 * io_uring_wait.c - a program whose only thread waits in io_uring_enter(), for an event that never comes
 *
 * The kernel ends that wait with EINTR whenever a tracer stops the thread. Such an answer without a signal is counted and printed, with
 * how the wait ended otherwise, when SIGTERM ends the program. Exit status 77: there is no io_uring here.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile sig_atomic_t is_over;

static void end(int sig)
{
	(void)sig;
	is_over = 1;
}

int main(void)
{
	struct io_uring_params params;
	unsigned interrupted = 0;
	long ring, got;
	int why;

	memset(&params, 0, sizeof(params));
	ring = syscall(SYS_io_uring_setup, 4, &params);
	if (ring < 0)
		return 77;
	signal(SIGTERM, end);
	puts("waits");
	fflush(stdout);
	for (;;) {
		got = syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
		why = errno;
		if (is_over)
			break;
		if (got >= 0 || why != EINTR) {
			printf("answered %ld: %s\n", got, strerror(why));
			return 1;
		}
		interrupted++;
	}
	printf("interrupted %u\n", interrupted);
	return 0;
}
