// SPDX-License-Identifier: MIT
/*
 * tight.c - for int3.sh: calls the functions of tight.S from where a trap would be deadly if nobody took it; `tight CASE [N]`
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int next(int), same(int), count(int), onward(int), forward(int);
void nothing(void);

static long calls(int n)
{
	long sum = 0;

	for (int i = 0; i < n; i++) {
		sum += next(i) + same(i) + count(i % 7 + 1) + onward(i) + forward(i);
		nothing();
	}
	return sum;
}

static void *thread(void *n)
{
	return (void *)calls((int)(long)n);
}

static long threads(int n)
{
	pthread_t t[4];
	long sum = 0;
	void *got;

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, thread, (void *)(long)n);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &got);
		sum += (long)got;
	}
	return sum;
}

/* As libc does it around the making of threads and processes. The mask is as it was in the end, and in between. */
static long blocked(int n)
{
	sigset_t all, old, now;
	long sum;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	sum = calls(n);
	sigprocmask(SIG_SETMASK, &old, &now);
	return sum + 1000000 * sigismember(&now, SIGTRAP);
}

static int child(void *n)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	_exit((int)calls((int)(long)n) & 0x7f);
}

static long end_of(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, __WALL);
	return status;
}

/* What posix_spawn() does: memory is shared, all is blocked, and the parent waits. */
static long spawned(int n)
{
	static char stack[65536] __attribute__((aligned(16)));

	return end_of(clone(child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, (void *)(long)n));
}

static long forked(int n)
{
	pid_t pid = fork();

	if (!pid)
		child((void *)(long)n);
	return end_of(pid);
}

/* Its parent is gone when the child calls, and had no traced function that the child could be known by. */
static long orphan(int n)
{
	int fd[2];
	long got = -1;

	if (pipe(fd))
		return -1;
	if (!fork()) {
		pid_t parent = getpid();

		if (fork())
			_exit(0);
		while (getppid() == parent)
			usleep(1000);
		got = calls(n);
		if (write(fd[1], &got, sizeof(got)) < 0)
			_exit(1);
		_exit(0);
	}
	close(fd[1]);
	if (read(fd[0], &got, sizeof(got)) != sizeof(got))
		got = -2;
	wait(NULL);
	return got;
}

/* Until it is told to end, or the clock that only bounds it. */
static volatile sig_atomic_t is_over;
static void on_term(int sig)
{
	is_over = sig;
}

static void *for_long(void *unused)
{
	(void)unused;
	for (time_t end = time(NULL) + 120; !is_over && time(NULL) < end;)
		calls(10);
	return NULL;
}

static long hot(void)
{
	pthread_t t[3];

	signal(SIGTERM, on_term);
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, for_long, NULL);
	puts("ready");
	fflush(stdout);
	while (!is_over) {
		pid_t pid = fork();

		if (!pid)
			_exit((int)calls(3) & 1);
		end_of(pid);
		usleep(1000);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return calls(1);
}

/* Each makes the next one and ends. */
static volatile int has_chain_ended;
static void *chain(void *unused)
{
	pthread_attr_t detached;
	pthread_t next_one;

	calls(10);
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	if (is_over || pthread_create(&next_one, &detached, chain, unused))
		has_chain_ended = 1;
	pthread_attr_destroy(&detached);
	return NULL;
}

static int sharer(void *unused)
{
	for_long(unused);
	_exit(0);
}

/* A process that has this one's memory, and threads that come and go, are there already when somebody attaches. */
static long shared(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	pid_t pid;
	int status;

	signal(SIGTERM, on_term);
	chain(NULL);
	pid = clone(sharer, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
	printf("%d\nready\n", pid);
	fflush(stdout);
	while (waitpid(pid, &status, __WALL) < 0)
		;
	while (!has_chain_ended)
		usleep(1000);
	return status;
}

int main(int argc, char **argv)
{
	static const struct { const char *name; long (*fn)(int); } all[] = {
		{ "threads", threads }, { "blocked", blocked }, { "spawned", spawned }, { "forked", forked },
		{ "orphan", orphan },
	};
	int n = argc > 2 ? atoi(argv[2]) : 20;

	if (argc > 1 && !strcmp(argv[1], "hot")) {
		printf("hot %ld\n", hot());
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "shared")) {
		printf("shared %ld\n", shared());
		return 0;
	}
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (argc < 2 || !strcmp(argv[1], all[i].name))
			printf("%s %ld\n", all[i].name, all[i].fn(n));
	return 0;
}
