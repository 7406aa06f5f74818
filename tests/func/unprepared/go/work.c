/* SPDX-License-Identifier: MIT */
/*
 * work.c - the C side of main.go: plain calls, a call of libc with a callback, and calls back into Go
 */
#include <stdlib.h>

#include "_cgo_export.h"

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

__attribute__((noinline)) int c_leaf(int x)
{
	__asm__ volatile("");
	return x * 3 + 1;
}

__attribute__((noinline)) int c_sum(int n)
{
	int *v = malloc((size_t)n * sizeof(*v)), s = 0;

	for (int i = 0; i < n; i++)
		v[i] = c_leaf(n - i);
	qsort(v, (size_t)n, sizeof(*v), compare);
	for (int i = 0; i < n; i++)
		s += v[i] * (i + 1);
	free(v);
	return s;
}

__attribute__((noinline)) int c_back(int n)
{
	return n ? goBack(n - 1) + 1 : 0;
}
