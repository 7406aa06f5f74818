/* SPDX-License-Identifier: MIT */
/*
 * split_stack.c - threads whose stacks grow piece by piece, at other depths each round (-fsplit-stack)
 */
#include <pthread.h>
#include <stdio.h>

__attribute__((noinline)) long deep(int n, long *acc)
{
	volatile char b[300];

	b[0] = (char)n;
	return n ? deep(n - 1, acc) + b[0] : b[0];
}

__attribute__((noinline)) long big(int n)
{
	volatile char b[5000];

	b[n] = (char)n;
	return b[n];
}

static void *work(void *sum)
{
	long s = 0;

	for (int i = 0; i < 200; i++)
		s += deep(1000 + i, &s) + big(i);
	*(long *)sum = s;
	return NULL;
}

int main(void)
{
	long r[4], s = 0;
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, work, &r[i]);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], NULL);
		s += r[i];
	}
	printf("%ld\n", s);
	return 0;
}
