/* SPDX-License-Identifier: MIT */
/*
 * target.c N [wait|each|crash|FILE] - outer() calls inner() twice, N times; with `wait`, first until a line
 * comes from standard input; with `each`, for each such line, which is answered; with `crash`, and crashes
 * then; with `fork`, in a child that a child has made; with `late`, in a child that has done nothing until
 * that line comes, and whose parent has ended; with `deep`, the same, once in each of N children one below the other;
 * with `forks`, N times: lonely(), a child, outer(), another;
 * with a FILE, between writing 1 and 0 into it, and then tells what it says
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

volatile int sink;

__attribute__((noinline)) void inner(int i)
{
	sink += i;
}

__attribute__((noinline)) void outer(int i)
{
	inner(i);
	inner(i + 1);
	sink++;
}

__attribute__((noinline)) void lonely(void)
{
	sink++;
}

static void switched(const char *path, int n)
{
	int fd = open(path, O_RDWR);
	char is_on = 0;

	for (int i = 0; i < n; i++) {
		if (write(fd, "1", 1) == 1)
			lonely();
		if (write(fd, "0", 1) == 1 && pread(fd, &is_on, 1, 0) == 1)
			putchar(is_on);
	}
	putchar('\n');
}

static void child(void)
{
	if (!fork())
		_exit(0);
	wait(NULL);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;

	if (argc > 2 && (!strcmp(argv[2], "late") || !strcmp(argv[2], "deep")) && fork())
		return 0;
	if (argc > 2 && (!strcmp(argv[2], "wait") || !strcmp(argv[2], "late") || !strcmp(argv[2], "deep")))
		getchar();
	for (; argc > 2 && !strcmp(argv[2], "deep") && n; n--) {
		outer(n);
		if (n == 1 || fork())
			return 0;
	}
	while (argc > 2 && !strcmp(argv[2], "each") && getchar() != EOF) {
		for (int i = 0; i < n; i++)
			outer(i);
		puts("done");
		fflush(stdout);
	}
	if (argc > 2 && argv[2][0] == '/')
		switched(argv[2], n), n = 0;
	for (; argc > 2 && !strcmp(argv[2], "forks") && n; n--) {
		lonely();
		child();
		outer(n);
		child();
	}
	lonely();
	if (argc > 2 && !strcmp(argv[2], "fork") && (fork() || fork()))
		return wait(NULL) < 0;
	for (int i = 0; i < n; i++)
		outer(i);
	if (argc > 2 && !strcmp(argv[2], "crash"))
		raise(SIGSEGV);
	return 0;
}
