// SPDX-License-Identifier: MIT
/*
 * setuid_exec.c - for setuid_exec.sh: executes FILE in each way that there is, and the last time for good; `rights FILE`. As it can be no more than
 * tried if FILE is BUSY, which cannot be executed: the functions of tight.S are called behind that.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int next(int), forward(int);

static char *const *args;

static int calls(void)
{
	int sum = 0;

	for (int i = 0; i < 100; i++)
		sum += next(i) + forward(i);
	return sum;
}

/* What it was is back if it comes back. */
static int executes(void *unused)
{
	(void)unused;
	calls();
	execv(args[0], args);
	_exit(calls() == 10100 ? 3 : 4);
}

static void say_end(const char *how, pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, __WALL);
	printf("%s: %d\n", how, status);
	fflush(stdout);
}

static void *executes_in_thread(void *unused)
{
	execv(args[0], args);
	return unused;
}

int main(int argc, char **argv)
{
	static char stack[65536] __attribute__((aligned(16)));
	pthread_t t;
	pid_t pid;

	(void)argc;
	args = argv + 1;
	calls();
	pid = fork();
	if (!pid)
		executes(NULL);
	say_end("fork", pid);
	say_end("vfork", clone(executes, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL));
	pid = fork();
	if (!pid) {		/* has said nothing so far */
		execv(args[0], args);
		_exit(5);
	}
	say_end("at once", pid);
	pthread_create(&t, NULL, executes_in_thread, NULL);
	pthread_join(t, NULL);
	printf("not executed: %d\n", calls());
	return 0;
}
