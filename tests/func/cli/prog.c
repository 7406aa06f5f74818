/* SPDX-License-Identifier: MIT */
/* prog.c - what the tests of uft record run: one mode per promise of record.c */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE	__attribute__((noinline, noclone))

NOINLINE int work(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

NOINLINE int outer(int x)
{
	return work(x) + 1;
}

static NOINLINE int copy(void)
{
	int c;

	while ((c = getchar()) != EOF)
		putchar(c);
	fprintf(stderr, "copied\n");
	return 0;
}

/* Works until file @name exists, then says in @name.done that it went on. */
static NOINLINE int wait_for(const char *name)
{
	char done[4096];
	FILE *f;

	printf("ready\n");
	fflush(stdout);
	/* At its ease: should nobody ever make the file, 3 MB a second are recorded and not 100. */
	for (; access(name, F_OK) != 0; usleep(1000))
		for (int i = 0; i < 100; i++)
			outer(i);
	snprintf(done, sizeof(done), "%s.done", name);
	f = fopen(done, "w");
	return !f || fclose(f);
}

static NOINLINE int children(int n)
{
	int status = 0, bad = 0;

	for (int i = 0; i < n; i++) {
		if (fork() == 0)
			_exit(outer(i) != i + 2);
		wait(&status);
		bad |= status;
	}
	return bad != 0;
}

static NOINLINE int calls(int n)
{
	for (int i = 0; i < n; i++)
		outer(i);
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 0;

	if (strcmp(mode, "calls") == 0)
		return calls(n);
	if (strcmp(mode, "exit") == 0)
		return n;
	if (strcmp(mode, "signal") == 0)
		return raise(n);
	if (strcmp(mode, "copy") == 0)
		return copy();
	if (strcmp(mode, "wait") == 0)
		return wait_for(argv[2]);
	if (strcmp(mode, "children") == 0)
		return children(n);
	return 2;
}
