/* SPDX-License-Identifier: MIT */
/*
 * reopened.c - fires req() of a library that it opens and closes again: reopened LIBRARY ROUNDS TIMES [wait]
 *
 * Each round opens it, fires TIMES, of eight keys by turns, and closes it. With `wait` the program says so behind each
 * round but the last, and waits for a byte on standard input. Built twice: with LIBRARY defined it is that library.
 */
#ifdef LIBRARY
#define CREATE_TRACE_POINTS
#include "events.h"

void fire(long times)
{
	for (long i = 0; i < times; i++)
		trace_req((int)(i % 8), (unsigned long)i, "x");
}
#else
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	for (long i = 0, rounds = argc > 3 ? atol(argv[2]) : 0; i < rounds; i++) {
		void *lib = dlopen(argv[1], RTLD_NOW);
		void (*fire)(long) = lib ? (void (*)(long))(size_t)dlsym(lib, "fire") : NULL;

		if (!fire) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		fire(atol(argv[3]));
		dlclose(lib);
		if (dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD)) {
			fputs("the library stays\n", stderr);
			return 1;
		}
		if (argc > 4 && i < rounds - 1 && (write(1, "closed\n", 7) != 7 || read(0, &(char){ 0 }, 1) != 1))
			return 1;
	}
	return argc < 4;
}
#endif
