// SPDX-License-Identifier: MIT
/*
 * args.c - calls whose arguments and results are known: every register that may hold one, full width, and what a tail call passes on
 *
 * Built for several machines, traced on each: the report has the same lines. One thread, no C library but its exit.
 */
#if __has_attribute(noipa)
#define STEP __attribute__((noipa))	/* all arguments are passed, used or not */
#else
#define STEP __attribute__((noinline))
#endif

STEP long four(long a, long b, long c, long d)
{
	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
	return a + b + c + d;
}

/* More than are recorded: those that are not, in registers and on the stack, come through. */
STEP long ten(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j)
{
	__asm__ volatile("" : "+r"(e), "+r"(f), "+r"(g), "+r"(h), "+r"(i), "+r"(j));
	return (a + b + c + d) * 1000 + e * 6 + f * 5 + g * 4 + h * 3 + i * 2 + j;
}

/* Doubles are in registers of their own, which nobody touches. */
STEP long half(double x, long a, long b, long c, long d)
{
	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
	return (long)(x * 10) / 2;
}

STEP long fails(long a, long b, long c, long d)
{
	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
	return a < b ? -22 : 0;
}

STEP long deep(long n, long b, long c, long d)
{
	long below = n ? deep(n - 1, b + 1, c, d) : 100;

	__asm__ volatile("" : "+r"(below));
	return below + 1;
}

STEP long passes_on(long a, long b, long c, long d)
{
	return four(d, c, b, a);
}

int main(void)
{
	long wrong = four(1, 0x1234567890abcdefl, -1, 4) != 0x1234567890abcdf3l;

	wrong |= ten(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) != 10140;
	wrong |= half(2.5, 5, 6, 7, 8) != 12;
	wrong |= fails(-3, 3, 0x7fffffff, 0x80000000l) != -22;
	wrong |= deep(2, 10, 20, 30) != 103;
	wrong |= passes_on(1, 2, 3, 4) != 10;
	return (int)wrong;
}
