/* SPDX-License-Identifier: MIT */
/* median.h - what the programs here print of many runs */
#ifndef UFT_BENCH_MEDIAN_H
#define UFT_BENCH_MEDIAN_H

#include <stdlib.h>

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
