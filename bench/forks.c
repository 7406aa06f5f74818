// SPDX-License-Identifier: MIT
/*
 * forks.c - what a fork child costs
 *
 *	forks N [PROCESSES]
 *
 * Three times N children, one after the other: one that ends at once, one that calls work() first (its first
 * event, where that is traced), one that executes /bin/true. Prints `NAME us_median us_best children_a_second`
 * for each: from before fork() until the child was waited for. With PROCESSES so many fork at once, N children
 * each, and `NAME children_a_second` of all is printed; none executes a program.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "median.h"

__attribute__((noinline)) int work(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static double now_us(void)
{
	return clock_seconds(CLOCK_MONOTONIC) * 1e6;
}

static void live(int how)
{
	if (how == 1)
		work(how);
	if (how == 2)
		execl("/bin/true", "true", (char *)NULL);
	_exit(how == 2);
}

static int fork_one(int how)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		live(how);
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

static int fork_at_once(int how, int n, int processes)
{
	int failed = 0, status;

	for (int k = 0; k < processes; k++) {
		pid_t pid = fork();

		for (int i = 0; !pid && i < n; i++)
			failed |= fork_one(how);
		if (!pid)
			_exit(failed);
		failed |= pid < 0;
	}
	while (wait(&status) > 0)
		failed |= status;
	return failed;
}

static int rates(int n, int processes)
{
	static const char *const name[] = { "fork", "event" };
	int failed = 0;

	for (int how = 0; how < 2; how++) {
		double begin = now_us();

		failed |= fork_at_once(how, n, processes);
		printf("%s %.0f\n", name[how], 1e6 * n * processes / (now_us() - begin));
		fflush(stdout);
	}
	return failed;
}

int main(int argc, char **argv)
{
	static const char *const name[] = { "fork", "event", "exec" };
	int n = argc > 1 ? atoi(argv[1]) : 0;
	double *us = n > 0 ? calloc((size_t)n, sizeof(*us)) : NULL;

	if (!us)
		return 2;
	if (argc > 2)
		return rates(n, atoi(argv[2]));
	for (int how = 0; how < 3; how++) {
		double begin = now_us(), all;

		for (int i = 0; i < n; i++) {
			double t = now_us();

			if (fork_one(how))
				return 1;
			us[i] = now_us() - t;
		}
		all = now_us() - begin;
		median(us, (size_t)n);
		printf("%s %.0f %.0f %.0f\n", name[how], us[n / 2], us[0], n * 1e6 / all);
	}
	free(us);
	return 0;
}
