// SPDX-License-Identifier: MIT
/*
 * punned_jump.c - for punned_jump.sh: calls the functions of punned_jump.S from everywhere, in a program or
 * (-DLIBRARY) a library; `pun CASE`
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS	20

int one(int, long), one_more(int, long), one_taken(int, long), one_inside(int, long), two(int, long), three(int, long),
	four(int, long);
long calls(int n);

#if defined(LIBRARY) || !defined(LOADER)
/* As long as all return what they should: 7 * n. */
long calls(int n)
{
	long good = 0;

	for (int i = 0; i < n; i++)
		good += (one(i, i) == i + 1) + (one_more(i, i) == i + 1) + (one_taken(i, 1) == i + 1) +
			(one_inside(i, 2) == i + 1) +
			(two(i, i) == i + 2) + (three(i, i) == i + 3) + (four(i, i) == i + 4);
	return good;
}
#endif

#ifndef LIBRARY
static volatile sig_atomic_t stop;
static long (*work)(int) = NULL;
static volatile long nsignals;

static void on_signal(int sig)
{
	if (sig == SIGTERM)
		stop = 1;
	else if (work(1) != 7)
		abort();
	nsignals++;
}

static void *thread(void *n)
{
	return (void *)work((int)(long)n);
}

static void *hot(void *arg)
{
	for (int i = 1; !stop; i++) {
		if (work(1) != 7)
			abort();
		if (i % 20 == 0)	/* recordings have a size */
			usleep(500);
	}
	return arg;
}

static long threads(void *(*fn)(void *), long n)
{
	pthread_t t[3];
	long sum = 0;
	void *got;

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, fn, (void *)n);
	for (int i = 0; i < 3; i++) {
		pthread_join(t[i], &got);
		sum += (long)got;
	}
	return sum;
}

static long child(void)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(work(ROUNDS) == 7 * ROUNDS ? 7 : 1);
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

#ifndef LOADER
/* The mapping there is not ours: a jump of one_taken() could lead nowhere else. */
static int take(void)
{
	char *page = (char *)(((unsigned long)one_taken + 5 - 0x26efeffbul) & ~4095ul);

	return mmap(page, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == page;
}

/* Where its own jump leads somebody writes what cannot be executed. */
static long spoil(void)
{
	const unsigned char *p = (const unsigned char *)three;
	char *to;
	int rel, at = 0;

	while (p[at] == 0x2e)
		at++;
	if (p[at] != 0xe9)
		return work(1);
	memcpy(&rel, p + at + 1, 4);
	to = (char *)p + at + 5 + rel;
	if (mprotect((void *)((unsigned long)to & ~4095ul), 4096, PROT_READ | PROT_WRITE | PROT_EXEC))
		return -1;
	to[0] = 0x0f;
	to[1] = 0x0b;
	return work(1);
}
#endif

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "all";
	long sum = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
#ifdef LOADER
	for (int i = 0; i < 8; i++) {
		void *lib = dlopen(argv[1], RTLD_NOW);

		work = lib ? (long (*)(int))dlsym(lib, "calls") : NULL;
		if (!work)
			return 1;
		sum += work(ROUNDS) + (i == 3 ? child() : 0);
		dlclose(lib);
	}
	printf("%ld %s\n", sum, what + strlen(what));
	return 0;
#else
	work = calls;
	if (!strcmp(what, "spoil"))
		return printf("%ld\n", spoil()) < 0;
	if (!strcmp(what, "taken") && !take())
		return 1;
	signal(SIGPROF, on_signal);
	signal(SIGTERM, on_signal);
	if (strcmp(what, "all")) {
		setitimer(ITIMER_PROF, &(struct itimerval){ { 0, 1000 }, { 0, 1000 } }, NULL);
		printf("ready %d\n", getpid());
		threads(hot, 1);
		printf("well\n");
		return 0;
	}
	sum = work(ROUNDS) + threads(thread, ROUNDS);
	printf("%ld %ld\n", sum, child());
	return 0;
#endif
}
#endif
