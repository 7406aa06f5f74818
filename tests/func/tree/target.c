/* SPDX-License-Identifier: MIT */
/* target.c N [wait|each] - outer() calls inner() twice, N times; with `wait`, first until a line comes from standard input;
 * with `each`, for each such line, which is answered */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;

	if (argc > 2 && !strcmp(argv[2], "wait"))
		getchar();
	while (argc > 2 && !strcmp(argv[2], "each") && getchar() != EOF) {
		for (int i = 0; i < n; i++)
			outer(i);
		puts("done");
		fflush(stdout);
	}
	lonely();
	for (int i = 0; i < n; i++)
		outer(i);
	return 0;
}
