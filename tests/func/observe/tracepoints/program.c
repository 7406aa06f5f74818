/* SPDX-License-Identifier: MIT */
/*
 * program.c - COUNT [LIBRARY]: calls its tracepoints, or those of a library it loads, that often, and says how
 * often arguments were evaluated
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef NO_TRACEPOINTS
#define CREATE_TRACE_POINTS
#include "sample.h"

static int evaluated;

static int count(int i)
{
	evaluated++;
	return i;
}

void run(int n);
__attribute__((visibility("default"))) void run(int n)
{
	static char large[4000];
	int list[] = { 1, 2, 3 };

	for (int i = 0; i < n; i++) {
		trace_sample_request(i, "hello", 42ul + (unsigned long)i, list, i % 4, SAMPLE_IDLE + i % 3,
				     (unsigned)i);
		trace_sample_one(i);
		trace_sample_two(i);
		trace_sample_odd(i);
		UFT_TRACE(sample_text, count(i) ? "some" : "");
	}
	for (size_t i = 0; i + 1 < sizeof(large); i++)
		large[i] = 'x';
	trace_sample_text(large);
	printf("evaluated %d enabled %d\n", evaluated, trace_sample_one_enabled());
}
#endif

#ifndef IS_LIBRARY
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
#ifdef NO_TRACEPOINTS
	void *library = dlopen(argv[2], RTLD_NOW);
	void (*run)(int) = library ? (void (*)(int))dlsym(library, "run") : NULL;

	if (!run)
		return 3;
#endif
	run(n);
	return 0;
}
#endif
