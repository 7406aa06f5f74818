/* SPDX-License-Identifier: MIT */
/*
 * program.c - what an event of three integers costs: `NAME NANOSECONDS` a line, the best of many short loops, the
 * loop itself taken off. Time is the thread's own on its CPU, which a loaded machine spoils less. `scale`: how much
 * more two threads fire than one. With -DLTTNG of LTTng-UST; with a path that of a write to trace_marker.
 * `-n COUNT`: the event so many times within fire() and nothing else, for bench/events-instructions.sh.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../median.h"

#ifdef LTTNG
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_events.h"
#else
#define CREATE_TRACE_POINTS
#include "bench_events.h"
#endif

#define CALLS	20000
#define LOOPS	600

static __attribute__((noinline)) void plain(int i) { __asm__ volatile("" : : "r"(i)); }
__attribute__((noinline, patchable_function_entry(5, 0))) void traced(int i);
__attribute__((noinline, patchable_function_entry(5, 0))) void traced(int i) { __asm__ volatile("" : : "r"(i)); }

#ifdef LTTNG
#define EVENT(i)	lttng_ust_tracepoint(uft_bench, three, i, 2, 3)
#else
#define EVENT(i)	trace_three(i, 2, 3)
#endif

#define BEST(into, what)									\
	for (int l = 0; l < LOOPS; l++) {							\
		double t = thread_ns();								\
												\
		for (int i = 0; i < CALLS; i++) {						\
			what;									\
		}										\
		t = (thread_ns() - t) / CALLS;							\
		if (t < (into))									\
			(into) = t;								\
	}

__attribute__((noinline)) void fire(long n);
__attribute__((noinline)) void fire(long n)
{
	for (int i = 0; i < n; i++)
		EVENT(i);
}

static pthread_barrier_t both;

/* The mean of the better half of its loops, as both threads have to run at once. */
static void *fire_much(void *out)
{
	double v[LOOPS], sum = 0;

	pthread_barrier_wait(&both);
	for (int l = 0; l < LOOPS; l++) {
		double t = thread_ns();

		fire(CALLS);
		v[l] = (thread_ns() - t) / CALLS;
	}
	median(v, LOOPS);
	for (int l = 0; l < LOOPS / 2; l++)
		sum += v[l];
	*(double *)out = sum / (LOOPS / 2);
	return NULL;
}

/* Events a second of @n threads. */
static double rate_of(unsigned n)
{
	pthread_t thread[2];
	double ns[2], rate = 0;

	pthread_barrier_init(&both, NULL, n);
	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&thread[i], NULL, fire_much, &ns[i]))
			abort();
	for (unsigned i = 0; i < n; i++) {
		pthread_join(thread[i], NULL);
		rate += 1 / ns[i];
	}
	return rate;
}

static void show_marker(const char *path)
{
	int fd = open(path, O_WRONLY);
	double marker = 1e9;

	for (int l = 0; l < 200 && fd >= 0; l++) {
		double t = thread_ns();

		for (int i = 0; i < 500; i++)
			if (write(fd, "a=1 b=2 c=3", 11) < 0)
				exit(1);
		t = (thread_ns() - t) / 500;
		marker = t < marker ? t : marker;
	}
	printf("marker %.1f\n", marker);
}

int main(int argc, char **argv)
{
	double loop = 1e9, event = 1e9, one;

	if (argc > 2 && !strcmp(argv[1], "-n")) {
		EVENT(0);
		fire(atol(argv[2]));
		return 0;
	}
	BEST(loop, plain(i))
	BEST(event, EVENT(i); plain(i))
#ifdef LTTNG
	(void)traced;
#else
	double function = 1e9;

	BEST(function, traced(i))
	printf("function %.1f\n", function - loop);
#endif
	if (argc > 1)
		show_marker(argv[1]);
	printf("event %.1f\n", event - loop);
	one = rate_of(1);
	printf("scale %.2f\n", rate_of(2) / one);
	return 0;
}
