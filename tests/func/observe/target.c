/* SPDX-License-Identifier: MIT */
/*
 * target.c - for sysprof and sched_switch: functions that take known shares of the CPU, threads and processes that wait a known
 * number of times
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A few milliseconds. */
static __attribute__((noinline)) void round_of(unsigned n)
{
	for (unsigned i = 0; i < 1000000; i++)
		sink += i * n;
}

__attribute__((noinline)) void hot(double s)
{
	for (double end = cpu_s() + s; cpu_s() < end; )
		for (unsigned i = 0; i < 1000000; i++)
			sink += i;
}

__attribute__((noinline)) void warm(double s)
{
	for (double end = cpu_s() + s; cpu_s() < end; )
		for (unsigned i = 0; i < 1000000; i++)
			sink += i * 3;
}

__attribute__((noinline)) void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 3000000 }, NULL);
	sink++;
}

static void *worker(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "worker");
	warm(0.1);
	return NULL;
}

static void *sleeper(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "sleeper");
	for (int i = 0; i < 20; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	return NULL;
}

static void run_thread(void *(*fn)(void *))
{
	pthread_t t;

	if (!pthread_create(&t, NULL, fn, NULL))
		pthread_join(t, NULL);
}

static void *napper(void *arg)
{
	(void)arg;
	for (int i = 0; i < 5; i++)
		nap();
	return NULL;
}

static void *spawner(void *arg)
{
	(void)arg;
	for (;;) {
		pthread_t t;

		if (pthread_create(&t, NULL, napper, NULL))
			return NULL;
		pthread_detach(t);
		nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
	}
}

static void run_child(void (*fn)(const char *), const char *arg)
{
	pid_t pid = fork();

	if (!pid) {
		fn(arg);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void child(const char *arg)
{
	(void)arg;
	prctl(PR_SET_NAME, "child");
	hot(0.1);
}

static void again(const char *self)
{
	execl(self, self, "late", (char *)NULL);
}

/* A child that ends with its parent. */
static void be_born(int sig)
{
	(void)sig;
	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "child");
	for (;;)
		nap();
}

/* Not the first thread: it takes that one's number. */
static void *executes(void *self)
{
	sigset_t usr1;
	int sig;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigwait(&usr1, &sig);
	execl(self, self, "napper", (char *)NULL);
	return NULL;
}

static void mark(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (f)
		fputs(text, f);
	if (f)
		fclose(f);
}

/* Runs @argv so that it may not ask the kernel for events. */
static int deny(char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		return 77;
	execvp(argv[0], argv);
	return 127;
}

/* With the recorder stopped no task takes the kernel's events, and one CPU's ring has them all. */
static int run_beside_stopped(void)
{
	cpu_set_t one;
	int cpu = sched_getcpu();

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (cpu < 0 || sched_setaffinity(0, sizeof(one), &one))
		return 1;
	kill(getppid(), SIGSTOP);
	hot(0.6);
	kill(getppid(), SIGCONT);
	hot(0.1);
	return 0;
}

/* Children that all live at once. */
static void run_children(void)
{
	pid_t pid[200];

	for (int i = 0; i < 200; i++) {
		pid[i] = fork();
		if (!pid[i])
			for (;;)
				pause();
	}
	nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	for (int i = 0; i < 200; i++)
		if (pid[i] > 0)
			kill(pid[i], SIGKILL);
	while (wait(NULL) > 0)
		;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "spin")) {
		hot(0.4);
		run_thread(worker);
		run_child(child, NULL);
		run_child(again, argv[0]);
	} else if (!strcmp(what, "late")) {
		prctl(PR_SET_NAME, "late");
		warm(0.1);
	} else if (!strcmp(what, "stopped")) {
		return run_beside_stopped();
	} else if (!strcmp(what, "sleep")) {
		run_thread(sleeper);
	} else if (!strcmp(what, "naps")) {
		for (int i = 0; i < 20; i++)
			nap();
	} else if (!strcmp(what, "many")) {
		run_children();
	} else if (!strcmp(what, "mark") && argc > 2) {
		round_of(1);
		mark(argv[2], "before\n");
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
		mark(argv[2], "after\n");
	} else if (!strcmp(what, "forever")) {
		pthread_t t;

		if (pthread_create(&t, NULL, worker, NULL))
			return 1;
		for (;;) {
			hot(0.05);
			run_child(child, NULL);
		}
	} else if (!strcmp(what, "spawn")) {	/* threads that make threads */
		for (int i = 0; i < 7; i++) {
			pthread_t t;

			if (!pthread_create(&t, NULL, spawner, NULL))
				pthread_detach(t);
		}
		puts("ready");		/* all who make others are there */
		fflush(stdout);
		spawner(NULL);
	} else if (!strcmp(what, "second")) {
		pthread_t t;
		sigset_t usr1;

		sigemptyset(&usr1);
		sigaddset(&usr1, SIGUSR1);
		pthread_sigmask(SIG_BLOCK, &usr1, NULL);
		if (pthread_create(&t, NULL, executes, argv[0]))
			return 1;
		for (;;)
			nap();
	} else if (!strcmp(what, "napper")) {
		prctl(PR_SET_NAME, "napper");
		for (;;)
			nap();
	} else if (!strcmp(what, "family")) {
		signal(SIGUSR1, be_born);
		for (;;)
			nap();
	} else if (!strcmp(what, "deny") && argc > 2) {
		return deny(argv + 2);
	}
	return 0;
}
