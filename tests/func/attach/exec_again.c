/* SPDX-License-Identifier: MIT */
/*
 * exec_again.c - executes itself, after a while that is another one each time, until there is a file "stop": again [N]
 *
 * What it is after all this is what it was: it ends with 7.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) int beat(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0, ms = n * 7 % 41;
	char next[16], *args[] = { argv[0], next, NULL };

	while (beat(ms--) > 0)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	if (!access("stop", F_OK))
		return 7;
	snprintf(next, sizeof(next), "%d", n + 1);
	execv("/proc/self/exe", args);
	return 1;
}
