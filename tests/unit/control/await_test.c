// SPDX-License-Identifier: MIT
/* await_test.c - a wait for the end of a process, while a signal arrives each millisecond */
#include "control/base/base.h"

#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t signals;

static void count(int sig)
{
	(void)sig;
	signals = signals + 1;
}

int main(void)
{
	struct sigaction action = { .sa_handler = count };
	int gate[2], is_late, is_over, fd;
	pid_t child;
	char byte;

	if (pipe(gate))
		return 1;
	child = fork();
	if (!child) {
		close(gate[1]);
		_exit(read(gate[0], &byte, 1) != 0);
	}
	close(gate[0]);
	fd = (int)syscall(SYS_pidfd_open, child, 0);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &(struct itimerval){ { 0, 1000 }, { 0, 1000 } }, NULL);
	is_late = !fd_await(fd, 50) && signals > 1;
	if (!is_late)
		fprintf(stderr, "await: the wait for a process that runs on did not last over %d signals\n", (int)signals);
	close(gate[1]);
	is_over = fd_await(fd, 60000);
	if (!is_over)
		fprintf(stderr, "await: a signal ended the wait for a process that ends\n");
	setitimer(ITIMER_REAL, &(struct itimerval){ { 0, 0 }, { 0, 0 } }, NULL);
	waitpid(child, NULL, 0);
	return !is_late || !is_over;
}
