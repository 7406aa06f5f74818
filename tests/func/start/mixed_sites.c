/* SPDX-License-Identifier: MIT */
/*
 * mixed_sites.c - 512 functions of one kind of site, 64 each of two others and 64 with a pad that nothing can be made of
 *
 * Calls each once. Prints how many can be traced of those: all but the last 64.
 */
#include <stdio.h>

#include "../../lib/functions.h"

#define QUIET __attribute__((patchable_function_entry(0)))
#define BODY(n) static int f##n(int x) { __asm__ volatile("" : "+r"(x)); return x + 1; }
#define F(n) __attribute__((noinline, patchable_function_entry(5))) BODY(n)
F512(1)
#undef F
#define F(n) __attribute__((noinline, patchable_function_entry(8))) BODY(n)
F64(20)
#undef F
#define F(n) __attribute__((noinline, patchable_function_entry(7))) BODY(n)
F64(30)
#undef F
#define F(n) __attribute__((noinline, patchable_function_entry(3))) BODY(n)
F64(40)

QUIET int main(void)
{
	int (*const all[])(int) = { T64(40) T512(1) T64(20) T64(30) }, n = (int)(sizeof(all) / sizeof(all[0])), sum = 0;

	for (int i = 0; i < n; i++)
		sum = all[i](sum);
	printf("%d\n", sum - 64);
	return sum != n;
}
