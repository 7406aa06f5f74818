/* SPDX-License-Identifier: MIT */
/* main.c - the matrix program: see count.h for what is called how often */
#include <stdarg.h>
#include <stdlib.h>

#include "count.h"

struct big { long v[6]; };

static __attribute__((constructor)) TRACED void before_main(void)
{
	COUNT(before_main);
}

TRACED int leaf(int x)
{
	COUNT(leaf);
	return x ^ 1;
}

static TRACED int local_step(int x)
{
	COUNT(main_step);
	return leaf(x) + 1;
}

/* Through a pointer that the compiler cannot follow: recursion stays calls at every -O. */
TRACED int fib(int n);
static int (*volatile fib_again)(int) = fib;
TRACED int fib(int n)
{
	COUNT(fib);
	return n < 2 ? n : fib_again(n - 1) + fib_again(n - 2);
}

/* Jumps from one to the other when optimised: tail calls. */
TRACED int odd(unsigned int n);
TRACED int even(unsigned int n)
{
	COUNT(even);
	return n ? odd(n - 1) : 1;
}

TRACED int odd(unsigned int n)
{
	COUNT(odd);
	return n ? even(n - 1) : 0;
}

TRACED int sum(int n, ...)
{
	va_list ap;
	int s = 0;

	COUNT(sum);
	va_start(ap, n);
	while (n--)
		s += va_arg(ap, int);
	va_end(ap);
	return s;
}

TRACED struct big big_struct(long x)
{
	struct big b = { { x, x + 1, x + 2, x + 3, x + 4, x + 5 } };

	COUNT(big_struct);
	return b;
}

TRACED double many_args(int a, int b, int c, int d, int e, int f, int g, int h, int i, double x)
{
	COUNT(many_args);
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + x;
}

static TRACED int compare(const void *a, const void *b)
{
	COUNT(compare);
	return *(const int *)a - *(const int *)b;
}

/* Called by nobody: --gc-sections may drop it, and its entry in any list with it. */
TRACED int never_called(int x)
{
	return leaf(x) + 17;
}

#ifdef __cplusplus
TRACED int over(int x)
{
	COUNT(over_int);
	return x + 1;
}

TRACED int over(double x)
{
	COUNT(over_double);
	return (int)x;
}

TRACED void thrower(int x)
{
	COUNT(thrower);
	if (x & 1)
		throw x;
}

static shape global_shape(7);

static int cxx_part(void)
{
	int caught = 0;

	for (int i = 0; i < 5; i++) {
		try {
			thrower(i);
		} catch (int x) {
			caught += x;
		}
	}
	square a(2), b(3);
	return caught == 4 && a.area() + b.area() + a.area() + b.area() == 26 && twice(4) + twice(5) + twice(6) == 30 &&
	       twice(1l) + twice(2l) == 6 && over(1) + over(2) == 5 && over(1.5) + over(2.5) + over(3.5) == 6 &&
	       global_shape.side == 7;
}
#else
static int cxx_part(void)
{
	return 1;
}
#endif

int main(int argc, char **argv)
{
	int values[4] = { 3, 1, 2, 0 }, ok = 1;
	struct big b;

	(void)argv;
	COUNT(main);
	for (int i = 0; i < 4; i++)
		ok &= local_step(i) == (i ^ 1) + 1;
	for (int i = 0; i < 8; i++)
		ok &= leaf(i) == (i ^ 1);
	ok &= fib(10) == 55;
	ok &= even(20) == 1;
	for (int i = 0; i < 5; i++)
		ok &= sum(6, 1, 2, 3, 4, 5, i) == 15 + i;
	for (int i = 0; i < 3; i++) {
		b = big_struct(argc);
		ok &= b.v[5] == argc + 5;
	}
	for (int i = 0; i < 7; i++)
		ok &= many_args(1, 2, 3, 4, 5, 6, 7, 8, 9, i) == 285 + i;
	qsort(values, 4, sizeof(values[0]), compare);
	ok &= values[0] == 0 && values[3] == 3;
	ok &= work(1) == 47 && work(2) == 50;
	for (int i = 0; i < 3; i++)
		ok &= lib_work(i) == 10 + 3 * i + 3;
	ok &= cxx_part();
	return !ok;
}
