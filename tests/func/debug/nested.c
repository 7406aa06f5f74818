/* SPDX-License-Identifier: MIT */
/* nested.c - for gdb.sh: stands in the innermost of nested calls, in main's thread or in another; says so and waits */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile int go_on, sink;

__attribute__((noinline)) static void stand_here(void)
{
	puts("here");
	fflush(stdout);
	while (!go_on)
		usleep(1000);
	sink++;
}

/* A tail call: its frame is gone when stand_here() runs. */
__attribute__((noinline)) static void tail(void)
{
	sink++;
	__asm__ volatile("");
	stand_here();
}

__attribute__((noinline)) static int inner(int depth)
{
	if (depth)
		return inner(depth - 1) + 1;
	tail();
	return sink;
}

__attribute__((noinline)) static int middle(int n)
{
	char buf[64];

	memset(buf, n, sizeof(buf));
	return inner(2) + buf[n & 63];
}

__attribute__((noinline)) static int outer(int n)
{
	return middle(n + 1) + 1;
}

static void *thread(void *arg)
{
	sink = outer(*(int *)arg);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t;
	int n = argc;

	(void)argv;
	if (argc > 1) {
		pthread_create(&t, NULL, thread, &n);
		pthread_join(t, NULL);
	} else {
		thread(&n);
	}
	puts("done");
	return 0;
}
