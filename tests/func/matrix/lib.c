/* SPDX-License-Identifier: MIT */
/* lib.c - the part of the matrix program that is a shared library in the cells that have one */
#include "count.h"

TRACED int lib_depth(int n);
static int (*volatile lib_deeper)(int) = lib_depth;
TRACED int lib_depth(int n)
{
	COUNT(lib_depth);
	return n ? 1 + lib_deeper(n - 1) : 1;
}

static TRACED int lib_static(int x)
{
	COUNT(lib_static);
	return x + 1;
}

TRACED int lib_work(int x)
{
	int s = lib_depth(9);

	COUNT(lib_work);
	for (int i = 0; i < 3; i++)
		s += lib_static(x);
	return s;
}
