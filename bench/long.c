/* SPDX-License-Identifier: MIT */
/*
 * long.c - a program that runs for long: what does a traced call cost in its first minute, and in its last?
 *
 *	long SECONDS [THREADS [PROCESSES]]
 *
 * One thread makes a million calls each second and prints ten times `AGE NS`: seconds since the start, and nanoseconds
 * of thread CPU time a call in the fastest of the pieces since the line before. All other threads, THREADS in each of
 * PROCESSES, make a thousand calls every ten seconds, so that all of them stay known and few run at once.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NI __attribute__((noinline, noclone, noipa))
#define OFF NI __attribute__((patchable_function_entry(0)))
#define PIECE	5000
#define BURST	1000000
#define STACK	65536

NI long leaf(long x) { __asm__ volatile(""); return x + 1; }

static double end;

OFF static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

OFF static void rest(double seconds)
{
	usleep((useconds_t)(seconds * 1e6));
}

OFF static void *sleeper(void *number)
{
	rest((double)((long)number % 1000) / 100);
	while (now(CLOCK_MONOTONIC) < end) {
		for (int i = 0; i < 1000; i++)
			leaf(i);
		rest(10);
	}
	return NULL;
}

OFF static void start_threads(long n)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (long i = 1; i < n; i++)
		if (pthread_create(&thread, &attr, sleeper, (void *)i)) {
			perror("pthread_create");
			exit(1);
		}
}

OFF int main(int argc, char **argv)
{
	const double seconds = argc > 1 ? atof(argv[1]) : 60, began = now(CLOCK_MONOTONIC);
	const long threads = argc > 2 ? atol(argv[2]) : 1, processes = argc > 3 ? atol(argv[3]) : 1;
	double best = 1e9, next = seconds / 10;

	end = began + seconds;
	for (long i = 1; i < processes; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("fork");
			return 1;
		}
		if (pid)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		start_threads(threads);
		sleeper((void *)i);
		_exit(0);
	}
	start_threads(threads);
	while (now(CLOCK_MONOTONIC) < end) {
		for (int i = 0; i < BURST / PIECE; i++) {
			double from = now(CLOCK_THREAD_CPUTIME_ID), ns;

			for (int k = 0; k < PIECE; k++)
				leaf(k);
			ns = (now(CLOCK_THREAD_CPUTIME_ID) - from) / PIECE * 1e9;
			if (ns < best)
				best = ns;
		}
		rest(1);
		if (now(CLOCK_MONOTONIC) - began < next)
			continue;
		printf("%.0f %.2f\n", now(CLOCK_MONOTONIC) - began, best);
		fflush(stdout);
		next += seconds / 10;
		best = 1e9;
	}
	while (processes > 1 && wait(NULL) > 0)
		;
	return 0;
}
