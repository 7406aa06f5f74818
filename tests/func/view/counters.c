// SPDX-License-Identifier: MIT
/* counters.c - counts two things: queue goes from 0 to 9 and back to 2, heap is 1000 twice; work() is called between */
#define UFT_CREATE_MARKERS
#include <time.h>
#include <uft/marker.h>

__attribute__((noinline)) void work(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

int main(void)
{
	uft_counter("heap", 1000);
	for (int i = 0; i < 10; i++) {
		uft_counter("queue", i);
		work();
	}
	uft_counter("queue", 2);
	uft_counter("heap", 1000);
	work();
	return 0;
}
