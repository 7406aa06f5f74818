/* SPDX-License-Identifier: MIT */
/*
 * count.h - programs that count their own calls
 *
 * HIT() at the top of a function counts the call under the function's name in shared memory, so that
 * calls in fork children count too. count_dump() writes `calls NAME N` lines to the file named by the environment
 * variable HAZARD_COUNTS (nothing when it is not set), so that the program's own output stays the
 * same. What is marked OFF has no patchable entry and is never traced.
 */
#ifndef HAZARD_COUNT_H
#define HAZARD_COUNT_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define OFF __attribute__((patchable_function_entry(0), no_instrument_function))
#ifdef __clang__
#define NI __attribute__((noinline))
#else
#define NI __attribute__((noinline, noclone, noipa))
#endif

struct count_name { const char *name; };
#ifdef __cplusplus
extern "C" {
#endif
extern struct count_name __start_hcount[], __stop_hcount[];
#ifdef __cplusplus
}
#endif
extern unsigned long *count_shared;

#define HIT()										\
	do {										\
		static struct count_name hit_ __attribute__((section("hcount"), used)) = { __func__ }; \
		__atomic_fetch_add(&count_shared[&hit_ - __start_hcount], 1, __ATOMIC_RELAXED);	\
	} while (0)

#ifdef COUNT_MAIN
unsigned long *count_shared;
/* Before every other constructor: those may HIT() already. */
__attribute__((constructor(101))) OFF static void count_init(void)
{
	count_shared = (unsigned long *)mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

OFF static void count_dump(void)
{
	const char *path = getenv("HAZARD_COUNTS");
	FILE *f = path ? fopen(path, "w") : 0;
	long n = __stop_hcount - __start_hcount;

	for (long i = 0; f && i < n; i++)
		if (count_shared[i])
			fprintf(f, "calls %s %lu\n", __start_hcount[i].name, count_shared[i]);
	if (f)
		fclose(f);
}
#endif
#endif
