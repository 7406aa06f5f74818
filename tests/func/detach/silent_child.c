/* SPDX-License-Identifier: MIT */
/*
 * silent_child.c - a child that makes no call of its program before it is told to; prints `PARENT CHILD`, and
 * `end` of both. With an argument it waits to be told once more before it ends.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t told;
static volatile long sink;

static void on_signal(int sig)
{
	told = sig;
}

__attribute__((noinline)) static void work(long n)
{
	sink += n;
}

int main(int argc, char **argv)
{
	sigset_t usr1, none;
	pid_t child;
	char c;

	/* Blocked but while it waits: a signal between the look at `told` and the wait would never be seen. */
	sigemptyset(&none);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	signal(SIGUSR1, on_signal);
	work(1);
	child = (pid_t)syscall(SYS_fork);
	if (!child) {
		while (!told)
			sigsuspend(&none);
		for (int i = 0; i < 10; i++)
			work(i);
		told = 0;
		while (argv[argc - 1] != argv[0] && !told)
			sigsuspend(&none);
		printf("child %ld\n", sink);
		return 0;
	}
	printf("%d %d\n", getpid(), child);
	fflush(stdout);
	if (read(0, &c, 1) < 0)
		return 1;
	work(5);
	kill(child, SIGUSR1);
	waitpid(child, NULL, 0);
	printf("parent %ld\n", sink);
	return 0;
}
