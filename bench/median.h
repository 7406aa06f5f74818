/* SPDX-License-Identifier: MIT */
/* median.h - what the programs here measure a run with, and print of many */
#ifndef UFT_BENCH_MEDIAN_H
#define UFT_BENCH_MEDIAN_H

#include <stdlib.h>
#include <time.h>

static inline double clock_seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* CPU time of this thread: other work on the machine does not count. */
static inline double thread_ns(void)
{
	return clock_seconds(CLOCK_THREAD_CPUTIME_ID) * 1e9;
}

static inline int median_order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Puts them in order: the least is v[0] then. */
static inline double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), median_order);
	return v[n / 2];
}

#endif
