/* SPDX-License-Identifier: MIT */
/*
 * program.c N - N times: a tracepoint of a signal handler within one of a thread, one of another thread, of a
 * fork child, and of a vfork child; at last of the program that it executes, itself
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CREATE_TRACE_POINTS
#include "tasks.h"

static int turn;

static void on_signal(int sig)
{
	(void)sig;
	trace_tasks_plain("handler", turn);
}

static void interrupt(void)
{
	raise(SIGUSR1);
}

static void *thread(void *unused)
{
	trace_tasks_plain("thread", turn);
	return unused;
}

static void children(void)
{
	pid_t pid = fork();

	if (!pid) {
		trace_tasks_plain("fork", turn);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	pid = vfork();
	if (!pid) {
		trace_tasks_plain("vfork", turn);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;
	pthread_t other;

	signal(SIGUSR1, on_signal);
	for (turn = 0; turn < n; turn++) {
		trace_tasks_interrupted(turn, interrupt);
		pthread_create(&other, NULL, thread, NULL);
		pthread_join(other, NULL);
		children();
	}
	if (n)
		execl("/proc/self/exe", argv[0], "0", NULL);
	trace_tasks_plain("exec", n);
	return 0;
}
