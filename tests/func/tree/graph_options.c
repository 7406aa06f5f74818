/* SPDX-License-Identifier: MIT */
/* graph_options.c WHAT [N] - calls whose arguments, results, times and handlers a test knows: see main() */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

volatile long sink;

__attribute__((noinline)) long answer(long a, long b, long c, long d)
{
	sink += a + b + c + d;
	return a + b;
}

__attribute__((noinline)) int failing(void)
{
	sink++;
	return -2;
}

__attribute__((noinline)) long outside(long a)
{
	long n = answer(a, 0x20, 0x30, 0x40);

	failing();
	sink++;
	return n;
}

__attribute__((noinline)) void in_handler(void)
{
	sink++;
}

__attribute__((noinline)) void on_signal(int sig)
{
	in_handler();
	sink += sig;
}

__attribute__((noinline)) void direct(void)
{
	on_signal(0);		/* the same function, and no handler now */
	sink++;
}

__attribute__((noinline)) void asleep(void)
{
	struct timespec t = { .tv_nsec = 50000000 };

	while (nanosleep(&t, &t))
		;
	sink++;
}

__attribute__((noinline)) void parent(void)
{
	asleep();
	sink++;
}

__attribute__((noinline)) long deep(long n)
{
	return n ? deep(n - 1) + sink : 0;
}

__attribute__((noinline)) void child(void)
{
	sink++;
}

static void fork_one(void)
{
	pid_t pid = fork();

	if (!pid) {
		child();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[2]) : 1;

	if (!strcmp(what, "calls"))
		outside(0x10);
	if (!strcmp(what, "signal")) {
		signal(SIGUSR1, on_signal);
		raise(SIGUSR1);
		direct();
	}
	if (!strcmp(what, "sleep"))
		parent();
	if (!strcmp(what, "deep"))
		sink = deep(n);
	if (!strcmp(what, "fork"))
		fork_one();
	return 0;
}
