/* SPDX-License-Identifier: MIT */
/*
 * new_threads.c - threads that have just begun, beside others that fill the rings of their CPUs
 *
 * Until libc has registered it a new thread's rseq area names a CPU that nobody watches for it. Prints the number of calls of
 * step().
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int over;
static atomic_long calls;

__attribute__((noinline)) static void step(long *n)
{
	__asm__ volatile("" : : "r"(n) : "memory");
	++*n;
}

static void *busy(void *arg)
{
	long n = 0;

	while (!atomic_load_explicit(&over, memory_order_relaxed))
		for (int i = 0; i < 100; i++)
			step(&n);
	atomic_fetch_add(&calls, n);
	return arg;
}

static void *brief(void *arg)
{
	return arg;
}

int main(void)
{
	pthread_t worker[2], t;

	for (int i = 0; i < 2; i++)
		pthread_create(&worker[i], NULL, busy, NULL);
	for (int i = 0; i < 3000; i++)
		if (!pthread_create(&t, NULL, brief, NULL))
			pthread_join(t, NULL);
	over = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(worker[i], NULL);
	printf("%ld\n", atomic_load(&calls));
	return 0;
}
