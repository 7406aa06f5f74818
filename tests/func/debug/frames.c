/* SPDX-License-Identifier: MIT */
/*
 * frames.c - for perfmap.sh: walks its own stack by frame pointers; `frames spin` uses CPU time where it would
 * walk, from the file `go` on
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile long sink;
static int is_spinning;

__attribute__((noinline)) static void walk(void)
{
	for (uintptr_t *fp = __builtin_frame_address(0), n = 0; n < 5; fp = (uintptr_t *)fp[0], n++)
		printf("%lx\n", (unsigned long)fp[1]);
	sink++;
}

__attribute__((noinline)) static void spin(void)
{
	clock_t end;

	while (access("go", F_OK))
		usleep(10000);
	end = clock() + CLOCKS_PER_SEC * 2;
	while (clock() < end)
		for (int i = 0; i < 1000000; i++)
			sink++;
}

__attribute__((noinline)) static void inner(void)
{
	if (is_spinning)
		spin();
	else
		walk();
	sink++;
}

__attribute__((noinline)) static void middle(void)
{
	inner();
	sink++;
}

__attribute__((noinline)) static void outer(void)
{
	middle();
	sink++;
}

int main(int argc, char **argv)
{
	is_spinning = argc == 2;
	printf("%d\n", getpid());
	if (argc > 2) {		/* as a just-in-time compiler would */
		FILE *f;
		char path[64];

		/* Not as one text: a program that has the name in its data is taken for a maker of code. */
		snprintf(path, sizeof(path), "/tmp/%s-%d.map", "perf", getpid());
		f = fopen(path, "w");
		fputs(argv[2], f);
		fclose(f);
	}
	fflush(stdout);
	outer();
	return 0;
}
