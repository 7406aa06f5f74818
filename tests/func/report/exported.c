/* SPDX-License-Identifier: MIT */
/*
 * exported.c - what export.sh and formats.sh record: a thread, recursion, calls that are left, and with an
 * argument one that is open at the end
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#define FN __attribute__((noinline, noclone))
static jmp_buf env;
FN void leaf(void) { __asm__ volatile("" ::: "memory"); }
FN void jumps(void) { leaf(); longjmp(env, 1); }
FN int down(int n) { leaf(); return n ? down(n - 1) + 1 : 0; }
FN void odd(void) { leaf(); }
FN void worse(void) { leaf(); }
static void *thread(void *arg) { down(5); return arg; }
int main(int argc, char **argv)
{
	pthread_t t;

	(void)argv;
	pthread_create(&t, 0, thread, 0);
	for (int i = 0; i < 100; i++) {
		odd();
		worse();
		if (!setjmp(env))
			jumps();
	}
	leaf();
	pthread_join(t, 0);
	if (argc > 1)
		raise(SIGKILL);
	return 0;
}
