/* SPDX-License-Identifier: MIT */
/*
 * rescue.c - makes calls in a fixed order, says so and waits: rescue N READY GO [child]
 *
 * N times step0 to step4, one after the other. File READY is made then, and it waits for file GO to appear. child: before that
 * a child makes the same calls and waits as well; for that it makes GO.here and waits for GO.fork.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEP(n)	static __attribute__((noinline, noclone)) int step##n(int x) { \
	__asm__ volatile("" : "+r"(x)); return x + n; }
STEP(0)
STEP(1)
STEP(2)
STEP(3)
STEP(4)

#define UNTRACED __attribute__((noinline, patchable_function_entry(0)))

UNTRACED static void steps(int n)
{
	for (int i = 0; i < n; i++)
		step4(step3(step2(step1(step0(i)))));
}

UNTRACED static void await(const char *name)
{
	while (access(name, F_OK))
		usleep(10000);
}

UNTRACED int main(int argc, char **argv)
{
	FILE *f;

	if (argc < 4)
		return 2;
	if (argc > 4) {
		char before[4096];
		int p[2];
		char c;

		snprintf(before, sizeof(before), "%s.here", argv[3]);
		f = fopen(before, "w");
		if (!f || fclose(f))
			return 1;
		snprintf(before, sizeof(before), "%s.fork", argv[3]);
		await(before);		/* the recorder looks away by then */
		if (pipe(p))
			return 1;
		if (!fork()) {
			steps(atoi(argv[1]));
			if (write(p[1], "x", 1) != 1)
				return 1;
			await(argv[3]);
			return 0;
		}
		if (read(p[0], &c, 1) != 1)
			return 1;
	}
	steps(atoi(argv[1]));
	f = fopen(argv[2], "w");
	if (!f || fclose(f))
		return 1;
	await(argv[3]);
	return 0;
}
