// SPDX-License-Identifier: MIT
/*
 * orphan_child.c - `orphan [DIR]`: a child has its first traced call long after its parent has ended, in DIR
 * if it is given
 */
#include <poll.h>
#include <unistd.h>

__attribute__((noinline)) int work(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

int main(int argc, char **argv)
{
	int parent[2];
	char c;

	work(0);
	if (pipe(parent) || (argc > 1 && chroot(argv[1])))
		return 1;
	if (fork() == 0) {
		close(parent[1]);
		if (read(parent[0], &c, 1) != 0)	/* the end of the parent */
			_exit(1);
		poll(0, 0, 300);			/* for a recorder that gives up what the parent had */
		for (int i = 0; i < 10; i++)
			work(i);
		_exit(0);
	}
	return 0;
}
