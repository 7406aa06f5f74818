// SPDX-License-Identifier: MIT
/*
 * target.c - stacks of every shape that rows have to know: no frame pointer, an aligned stack, a large frame, a signal
 * handler, recursion, a callback through libc
 *
 *	stacks-target plain|recurse N [back]|callback|signal|read
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noipa))

static volatile unsigned sink;

NOINLINE void leaf(void)
{
	sink++;
}

NOINLINE void large(int n)
{
	volatile char room[5000];

	room[n] = 1;
	leaf();
	sink += (unsigned)room[n];
}

/* Its stack is aligned and of a size known when it runs: the frame address lies in memory. */
NOINLINE void aligned(int n)
{
	volatile char vector[64] __attribute__((aligned(64)));
	volatile char *some = __builtin_alloca((size_t)n + 1);

	vector[n] = some[n] = 1;
	large(n);
	sink += (unsigned)vector[n] + (unsigned)some[n];
}

NOINLINE void many(int a, int b, int c, int d, int e, int f, int g, int h)
{
	aligned(a);
	sink += (unsigned)(a + b + c + d + e + f + g + h);
}

NOINLINE void outer(int n)
{
	many(n, 1, 2, 3, 4, 5, 6, 7);
	sink++;
}

NOINLINE void recurse(int n)
{
	if (n)
		recurse(n - 1);
	else
		leaf();
	sink++;
}

NOINLINE int compare(const void *a, const void *b)
{
	leaf();
	sink++;
	return memcmp(a, b, 1);
}

NOINLINE void handler(int signo)
{
	leaf();
	sink += (unsigned)signo;
}

NOINLINE void interrupted(void)
{
	raise(SIGUSR1);
	sink++;
}

NOINLINE void reader(int fd)
{
	char c;

	sink += (unsigned)read(fd, &c, 1);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "plain";
	char text[] = "ba";
	int fds[2];

	if (!strcmp(what, "plain")) {
		outer(argc);
	} else if (!strcmp(what, "recurse")) {
		recurse(argc > 2 ? atoi(argv[2]) : 3);
		if (argc > 3)		/* less deep, and last */
			leaf();
	} else if (!strcmp(what, "callback")) {
		qsort(text, 2, 1, compare);
	} else if (!strcmp(what, "signal")) {
		signal(SIGUSR1, handler);
		interrupted();
	} else if (!strcmp(what, "read")) {
		if (pipe(fds) || write(fds[1], "x", 1) != 1)
			return 1;
		reader(fds[0]);
	}
	return 0;
}
