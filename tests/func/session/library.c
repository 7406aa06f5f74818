// SPDX-License-Identifier: MIT
/* library.c - a prepared library: linked to the test program, and loaded by it again and again */
#define PLAIN	__attribute__((noinline, noclone, patchable_function_entry(0)))

static volatile unsigned long sink;

__attribute__((noinline, noclone)) void lib_constructor_work(void) { sink++; }
__attribute__((noinline, noclone)) void lib_work(void) { sink++; }

/* Runs before main(), right after the loader has announced the library. */
__attribute__((constructor)) static PLAIN void lib_start(void)
{
	for (int i = 0; i < 3; i++)
		lib_constructor_work();
}
