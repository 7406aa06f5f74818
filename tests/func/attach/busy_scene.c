/* SPDX-License-Identifier: MIT */
/*
 * busy_scene.c - a program that forks, executes itself, makes threads and loads a library, once for each t of its input
 *
 *	busy_scene LIBRARY	a line for each turn, with the sum of what it computed; ends with status 7 at the end of input
 *	busy_scene leaf		what it executes itself as: ends with status 3; in each other turn it executes busy_leaf.c
 *
 * Between turns it has no children, no library, and beside the first two threads of its own: one that waits for nothing, and
 * one that calls functions now and then. What it writes is the same whoever traces it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __x86_64__
#define CREATE_TRACE_POINTS
#include "busy_scene.h"
#else
#define trace_turn(n)	((void)(n))
#endif

#define NOINLINE	__attribute__((noinline, noclone))

volatile long watched;		/* for --watch */
static volatile sig_atomic_t signals;

/* Too small for a jump: an int3 site. */
NOINLINE int tiny(void)
{
	__asm__ volatile("");
	return 1;
}

NOINLINE long step(long n)
{
	watched = n;
	return n < 2 ? n + tiny() : step(n - 1) + step(n - 2);
}

NOINLINE long many(long n)
{
	long sum = 0;

	for (long i = 0; i < n; i++)
		sum += step(i % 7);
	return sum;
}

NOINLINE void *thread(void *arg)
{
	return (void *)many((long)arg);
}

NOINLINE void *idle(void *arg)
{
	for (;;)
		poll(NULL, 0, -1);
	return arg;
}

NOINLINE void *restless(void *arg)
{
	for (;; usleep(1000))
		many(7);
	return arg;
}

NOINLINE void on_signal(int sig)
{
	signals += sig == SIGUSR1;
}

NOINLINE int status_of(pid_t pid)
{
	int status = 0;

	return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

NOINLINE int forked(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(many(50) == 50 * many(1) ? 1 : 5);
	return status_of(pid);
}

/* Before that two fail: for want of a file, and, once the kernel has begun, for an argument that is too long. */
NOINLINE int executed(char *self, int n)
{
	static char other[4096], large[256 << 10];
	pid_t pid;

	snprintf(other, sizeof(other), "%.*sbusy_leaf", (int)(strrchr(self, '/') - self + 1), self);
	memset(large, 'x', sizeof(large) - 1);
	pid = vfork();
	if (!pid) {
		execl("/nonexistent", "nonexistent", NULL);
		execl(self, self, large, NULL);
		execl(n % 2 ? self : other, self, "leaf", NULL);
		_exit(99);
	}
	return status_of(pid);
}

NOINLINE long loaded(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW);
	long (*fn)(long) = lib ? (long (*)(long))dlsym(lib, "library_work") : NULL;
	long sum = fn ? fn(100) : -1;

	if (lib)
		dlclose(lib);
	return sum;
}

NOINLINE void turn(char *self, const char *path, int n)
{
	pthread_t t[3];
	void *sum;
	long all = 0;

	trace_turn(n);
	for (long i = 0; i < 3; i++)
		if (pthread_create(&t[i], NULL, thread, (void *)(i * 100)))
			exit(98);
	for (int i = 0; i < 3; i++) {
		pthread_join(t[i], &sum);
		all += (long)sum;
	}
	raise(SIGUSR1);
	printf("%d: %ld, %#x, %#x, %ld, %d\n", n, all, forked(), executed(self, n), loaded(path), (int)signals);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	pthread_t beside[2];
	int n = 0;

	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "leaf"))
		return many(20) > 0 ? 3 : 4;
	signal(SIGUSR1, on_signal);
	if (pthread_create(&beside[0], NULL, idle, NULL) || pthread_create(&beside[1], NULL, restless, NULL))
		return 97;
	for (char c; read(0, &c, 1) == 1 && c == 't';)
		turn(argv[0], argv[1], ++n);
	return 7;
}
