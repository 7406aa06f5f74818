/* SPDX-License-Identifier: MIT */
/* median.h - what the programs here measure a run with, and print of many */
#ifndef UFT_BENCH_MEDIAN_H
#define UFT_BENCH_MEDIAN_H

#include <stdlib.h>
#include <time.h>

/* CPU time of this thread: other work on the machine does not count. */
static inline double thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
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
