/* SPDX-License-Identifier: MIT */
/*
 * time_options.c - the traced program of time_options.sh: calls that are long, or many, by its own clock
 *
 * limits times	calls that sleep 30 ms, 5 ms and not at all. Prints how many of each there were, and how many of those that are short
 *		took LIMIT all the same, seen from their callers: a machine that is busy makes calls long.
 * limits often	calls tiny() until its entry is not any more what it was, which is when the session has dropped it; then LEFT times again.
 *		Prints 1, or 0 if that did not happen within two minutes.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#define LIMIT	20000000
#define TIMES	4
#define LEFT	1000
#ifdef __riscv
#define PAD	16	/* bytes */
#else
#define PAD	8
#endif

static unsigned long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ul + t.tv_nsec;
}

#define FN __attribute__((noinline))

FN void leaf(void) { __asm__ volatile("" ::: "memory"); }
FN void nap(long ms) { nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL); leaf(); }
FN void slow(void) { nap(30); }
FN void middle(void) { nap(5); }
FN void quick(void) { leaf(); }
FN int tiny(int x) { __asm__ volatile("" : "+r"(x)); return x; }

static unsigned long was_long(void (*fn)(void))
{
	unsigned long begin = now();

	fn();
	return now() - begin >= LIMIT;
}

static int times(void)
{
	unsigned long middles = 0, quicks = 0;

	for (int i = 0; i < TIMES; i++) {
		quicks += was_long(quick);
		slow();
		middles += was_long(middle);
	}
	printf("%d %lu %lu\n", TIMES, middles, quicks);
	return 0;
}

static int often(void)
{
	unsigned char armed[PAD], seen[PAD];
	unsigned long end = now() + 120000000000ul;
	int gone = 0;

	memcpy(armed, (const void *)tiny, sizeof(armed));
	while (!gone && now() < end) {
		for (int i = 0; i < LEFT; i++)
			tiny(i);
		memcpy(seen, (const void *)tiny, sizeof(seen));
		gone = memcmp(seen, armed, sizeof(seen)) != 0;
	}
	for (int i = 0; i < LEFT; i++)
		tiny(i);
	printf("%d\n", gone);
	return 0;
}

int main(int argc, char **argv)
{
	return argc > 1 && !strcmp(argv[1], "often") ? often() : times();
}
