/* SPDX-License-Identifier: MIT */
/* worker.c - works a little all the time, until it is ended */
#include <unistd.h>

static volatile unsigned long calls;

__attribute__((noinline)) static void work(void)
{
	calls++;
}

int main(void)
{
	for (;;) {
		work();
		usleep(5000);
	}
}
