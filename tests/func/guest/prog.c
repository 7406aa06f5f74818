/* SPDX-License-Identifier: MIT */
/*
 * prog.c - what is traced in the guest: three threads (or THREADS), and a child made by fork, whose calls are counted in session.c
 *
 * With VFORK the child is made by that, and has its memory and thread pointer in common with its maker. With LATE it is so, too, but what makes it is a library
 * that is loaded then (this file with SPAWNER, /lib/spawner.so): nobody knows before, and main() has made 1,000 calls already. With an argument it waits
 * then until its standard input ends, as its child does, and makes one call more.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef VFORK
#define vfork fork
#endif
#ifndef THREADS
#define THREADS 3
#endif

#ifdef SPAWNER

pid_t spawn(int (*child)(void));
pid_t spawn(int (*child)(void))
{
	pid_t pid = (vfork)();

	if (!pid)
		_exit(child());
	return pid;
}

#else

static pthread_barrier_t all;	/* none begins or ends without the others */

__attribute__((noinline)) long leaf(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

__attribute__((noinline)) long mid(long x)
{
	return leaf(x) + leaf(x + 1);
}

__attribute__((patchable_function_entry(0))) static void *work(void *arg)
{
	long sum = 0;

	pthread_barrier_wait(&all);
	for (long i = 0; i < 1000; i++)
		sum += mid(i) - 2 * i - 3;
	pthread_barrier_wait(&all);
	return sum ? arg : NULL;
}

#ifdef LATE
__attribute__((patchable_function_entry(0))) static int child(void)
{
	return mid(1) != 5;
}

__attribute__((patchable_function_entry(0))) static pid_t make_child(void)
{
	pid_t (*spawn)(int (*)(void));
	void *library;
	long sum = 0;

	for (long i = 0; i < 1000; i++)
		sum += mid(i) - 2 * i - 3;
	library = dlopen("/lib/spawner.so", RTLD_NOW);
	spawn = library ? (pid_t (*)(int (*)(void)))dlsym(library, "spawn") : NULL;
	return spawn && !sum ? spawn(child) : -1;
}
#endif

__attribute__((patchable_function_entry(0))) int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	int status;
	pid_t pid;

	if (pthread_barrier_init(&all, NULL, THREADS))
		return 1;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, work, argv))
			return 1;
#ifdef LATE
	pid = make_child();
#else
	pid = vfork();
	if (!pid) {
		int bad = mid(1) != 5;

		if (argc > 1)
			getchar();
		_exit(bad);
	}
#endif
	if (waitpid(pid, &status, 0) != pid || status)
		return 2;
	for (int i = 0; i < THREADS; i++) {
		void *bad;

		if (pthread_join(thread[i], &bad) || bad)
			return 3;
	}
	if (argc > 1) {
		getchar();	/* the end of its standard input */
		mid(1);
	}
	return 0;
}

#endif
