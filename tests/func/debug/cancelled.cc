/* SPDX-License-Identifier: MIT */
/* cancelled.cc - for unwind.sh: threads are cancelled at any instruction of what they do; a caller's destructor runs each time */
#include <cstdio>
#include <ctime>
#include <pthread.h>

#define ROUNDS	400
static volatile long sink;
static volatile int started;
static int cleaned;

__attribute__((noinline)) static long leaf(long n)
{
	sink = sink + n;
	return n + sink;
}

__attribute__((noinline)) static long middle(long n)
{
	return leaf(n) + leaf(n + 1);
}

/* Has nothing to clean up, so it may be left anywhere. */
__attribute__((noinline)) static void spin(void)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
	started = 1;
	for (volatile long n = 0; n >= 0; n = (n + 1) & 0xffff)
		sink = sink + middle(n);
}

struct guard {
	~guard() { cleaned++; }
};

static void *body(void *)
{
	guard g;

	spin();
	sink = sink + 1;
	return nullptr;
}

int main()
{
	for (int i = 0; i < ROUNDS; i++) {
		const struct timespec soon = { 0, 1000 }, later = { 0, i % 50 * 1000 };
		pthread_t t;

		started = 0;
		pthread_create(&t, nullptr, body, nullptr);
		while (!started)
			nanosleep(&soon, nullptr);
		nanosleep(&later, nullptr);
		pthread_cancel(t);
		pthread_join(t, nullptr);
	}
	printf("%d of %d cleaned\n", cleaned, ROUNDS);
	return cleaned != ROUNDS;
}
