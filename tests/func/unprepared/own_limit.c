/* SPDX-License-Identifier: MIT */
/*
 * own_limit.c - a program limits its own address space (RLIMIT_AS), and says what it then has and gets
 *
 * Without argument in all ways; "executed": as what it executes; "wait": a byte of input before and behind that; "shell": it
 * executes a shell that prints its limits, after an exec that fails; "little": the same, and there may be little data.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MB (1ul << 20)

static volatile long sum;

static __attribute__((noinline)) void *work(void *arg)
{
	for (long i = 0; i < 10; i++)
		sum += i;
	return arg;
}

static __attribute__((noinline)) int threads(int n)
{
	pthread_attr_t a;
	pthread_t t[16];
	int made = 0;

	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, MB);
	while (made < n && !pthread_create(&t[made], &a, work, NULL))
		made++;
	for (int i = 0; i < made; i++)
		pthread_join(t[i], NULL);
	return made;
}

static __attribute__((noinline)) void say(const char *when)
{
	struct rlimit a, b, c, d;
	void *much = malloc(200 * MB), *some = malloc(20 * MB);

	getrlimit(RLIMIT_AS, &a);
	prlimit(0, RLIMIT_AS, NULL, &b);
	prlimit(getpid(), RLIMIT_AS, NULL, &c);
	syscall(SYS_getrlimit, RLIMIT_AS, &d);
	printf("%s: %lu %lu%s, 200 MB: %s, 20 MB: %s, threads: %d\n", when, a.rlim_cur / MB, a.rlim_max / MB,
	       memcmp(&a, &b, sizeof(a)) || memcmp(&a, &c, sizeof(a)) || memcmp(&a, &d, sizeof(a)) ? " or not" : "",
	       much ? "got" : "none", some ? "got" : "none", threads(12));
	fflush(stdout);
	free(much);
	free(some);
}

/* A program that is followed by no session has the limits that this one sets. */
static int become_shell(int has_little)
{
	struct rlimit r = { 100 * MB, 120 * MB }, data = { 12 * MB, 12 * MB };

	if (setrlimit(RLIMIT_AS, &r))
		return 3;
	execl("/etc/passwd", "passwd", (char *)0);
	printf("not executed, threads: %d\n", threads(12));
	fflush(stdout);
	if (has_little && setrlimit(RLIMIT_DATA, &data))
		return 3;
	execl("/bin/sh", "sh", "-c", "ulimit -Sv; ulimit -Hv", (char *)0);
	return 9;
}

int main(int argc, char **argv)
{
	struct rlimit r = { 100 * MB, 120 * MB }, was, wrong = { 2, 1 };
	int status, refused;
	pid_t child;
	char byte;

	if (argc > 1 && !strcmp(argv[1], "executed")) {
		say("executed");
		return 5;
	}
	if (argc > 1 && strcmp(argv[1], "wait"))
		return become_shell(!strcmp(argv[1], "little"));
	if (argc > 1 && read(0, &byte, 1) != 1)
		return 2;
	if (prlimit(0, RLIMIT_AS, &r, &was))
		return 3;
	printf("it was %lu\n", was.rlim_cur / MB);
	say("limited");
	if (argc > 1)
		return read(0, &byte, 1) != 1;
	refused = setrlimit(RLIMIT_AS, &wrong) ? errno : 0;
	printf("refused: %d, ", refused);
	printf("%d\n", syscall(SYS_prlimit64, 0, RLIMIT_AS, NULL, 8l) ? errno : 0);
	r.rlim_cur = 110 * MB;
	syscall(SYS_setrlimit, RLIMIT_AS, &r);
	say("raised");
	if (!(child = fork())) {
		say("forked");
		r.rlim_cur = r.rlim_max = 90 * MB;
		setrlimit(RLIMIT_AS, &r);
		say("forked, limited");
		execl(argv[0], argv[0], "executed", (char *)0);
		_exit(9);
	}
	waitpid(child, &status, 0);
	printf("status %d\n", WEXITSTATUS(status));
	say("still");
	if (!(child = vfork())) {
		struct rlimit less = { 80 * MB, 80 * MB };

		setrlimit(RLIMIT_AS, &less);
		execl(argv[0], argv[0], "executed", (char *)0);
		_exit(9);
	}
	waitpid(child, &status, 0);
	printf("status %d\n", WEXITSTATUS(status));
	say("last");
	return 7;
}
