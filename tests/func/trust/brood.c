// SPDX-License-Identifier: MIT
/*
 * brood.c - a program with a child, which it forks and waits for
 *
 * Usage: brood. The child does not end before it was looked at: it reads standard input to its end.
 */
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) int work(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

int main(void)
{
	int status;
	char c;

	work(1);
	if (!fork()) {
		work(2);
		while (read(0, &c, 1) > 0)
			work(3);
		_exit(0);
	}
	return wait(&status) < 0 || status;
}
