/* SPDX-License-Identifier: MIT */
/* calls.c - for gdb.sh: makes the same nested calls again and again, until go_on; says when it begins */
#include <stdio.h>
#include <unistd.h>

static volatile int go_on, sink;

__attribute__((noinline, noclone)) static int inner(int n)
{
	volatile int local = n;

	sink = sink + local;
	return sink;
}

__attribute__((noinline, noclone)) static int middle(int n)
{
	return inner(n) + 1;
}

int main(void)
{
	puts("here");
	fflush(stdout);
	while (!go_on) {
		sink += middle(1);
		usleep(1000);
	}
	puts("done");
	return 0;
}
