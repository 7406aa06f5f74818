/* SPDX-License-Identifier: MIT */
/*
 * program.c - what an event of three integers costs: `NAME NANOSECONDS` a line, the best of many short loops, the
 * loop itself taken off. With -DLTTNG of LTTng-UST; with a path that of a write to trace_marker.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef LTTNG
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_events.h"
#else
#define CREATE_TRACE_POINTS
#include "bench_events.h"
#endif

#define CALLS	20000
#define LOOPS	1500

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static __attribute__((noinline)) void plain(int i) { __asm__ volatile("" : : "r"(i)); }
__attribute__((noinline, patchable_function_entry(5, 0))) void traced(int i);
__attribute__((noinline, patchable_function_entry(5, 0))) void traced(int i) { __asm__ volatile("" : : "r"(i)); }

#define BEST(into, what)									\
	for (int l = 0; l < LOOPS; l++) {							\
		double t = now();								\
												\
		for (int i = 0; i < CALLS; i++) {						\
			what;									\
		}										\
		t = (now() - t) / CALLS;							\
		if (t < (into))									\
			(into) = t;								\
	}

int main(int argc, char **argv)
{
	double loop = 1e9, event = 1e9, function = 1e9;

	BEST(loop, plain(i))
#ifdef LTTNG
	BEST(event, lttng_ust_tracepoint(uft_bench, three, i, 2, 3); plain(i))
	(void)argc, (void)argv, (void)traced;
#else
	BEST(event, trace_three(i, 2, 3); plain(i))
	BEST(function, traced(i))
	printf("function %.1f\n", function - loop);
	if (argc > 1) {
		int fd = open(argv[1], O_WRONLY);
		double marker = 1e9;

		for (int l = 0; l < 200 && fd >= 0; l++) {
			double t = now();

			for (int i = 0; i < 500; i++)
				if (write(fd, "a=1 b=2 c=3", 11) < 0)
					return 1;
			t = (now() - t) / 500;
			marker = t < marker ? t : marker;
		}
		printf("marker %.1f\n", marker);
	}
#endif
	printf("event %.1f\n", event - loop);
	return 0;
}
