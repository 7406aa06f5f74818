/* SPDX-License-Identifier: MIT */
/* seed.c - a small program to mutate; built in several modes */
#include <stdio.h>

static __attribute__((noinline)) int helper(int x) { return x * 3 + 1; }
__attribute__((noinline)) int f(int x) { return helper(x) + 2; }

int main(int argc, char **argv)
{
	(void)argv;
	return printf("%d\n", f(argc)) < 0;
}
