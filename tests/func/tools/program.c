/* SPDX-License-Identifier: MIT */
/* program.c [N [US]] - N times work(), which calls helper() twice, which calls leaf(); US microseconds between */
#include <stdlib.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile int sink;

NOINLINE static int leaf(int x)
{
	return sink + x;
}

NOINLINE static int helper(int x)
{
	return leaf(x) * 2 + sink;
}

NOINLINE static int work(int x)
{
	return helper(x) + helper(x + 1);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1, us = argc > 2 ? atoi(argv[2]) : 0;

	while (n--) {
		sink = work(n) & 1;
		if (us)
			usleep((useconds_t)us);
	}
	return 0;
}
