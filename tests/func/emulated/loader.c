/* SPDX-License-Identifier: MIT */
/*
 * loader.c - loads a library again and again, here or in a child, and calls it
 *
 *	loader LIBRARY TIMES [child | wait FILE]
 *
 * Built with -DLIBRARY it is that library. wait: says ready, and loads when FILE is there.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEP __attribute__((noinline))

#ifdef LIBRARY

STEP int inner(int x) { __asm__ volatile("" : "+r"(x)); return x + 1; }
__attribute__((constructor)) void opened(void) { inner(0); }
__attribute__((destructor)) void closed(void) { inner(0); }
int entry(int x) { return inner(x) + inner(x); }

#else

STEP int step(int x) { __asm__ volatile("" : "+r"(x)); return x; }

/* @path: one, or two with a comma between, by turns; says so if they are not at one place. */
static int load(const char *path, int times)
{
	const char *comma = strchr(path, ',');
	char first[256];
	uintptr_t place = 0;
	int ok = 1;

	snprintf(first, sizeof(first), "%.*s", (int)strcspn(path, ","), path);
	for (int i = 0; i < times; i++) {
		void *handle = dlopen(comma && i % 2 ? comma + 1 : first, RTLD_NOW);
		int (*entry)(int) = handle ? (int (*)(int))dlsym(handle, "entry") : NULL;

		if (comma && place && (uintptr_t)entry != place)
			puts("elsewhere");
		place = (uintptr_t)entry;
		ok &= entry && entry(i) == 2 * (i + 1) && step(i) == i;
		if (handle)
			dlclose(handle);
	}
	return ok;
}

int main(int argc, char **argv)
{
	int times = atoi(argv[2]), status = 0;

	if (argc > 4) {
		puts("ready");
		fflush(stdout);
		for (int i = 0; access(argv[4], F_OK) && i < 6000; i++)
			usleep(10000);
	} else if (argc > 3) {
		if (!fork())
			_exit(!load(argv[1], times));
		wait(&status);
		return status != 0;
	}
	if (!load(argv[1], times))
		return 1;
	puts("done");
	return 0;
}

#endif
