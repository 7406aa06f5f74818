// SPDX-License-Identifier: MIT
/*
 * target.c MODE - programs of known behaviour for the tracers that are made of events
 *
 * What should be found lasts hundreds of milliseconds, and what must not be found longer than that, except where only a machine
 * that stands still could make a short one as long.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#if __has_attribute(noclone)
#define TRACED __attribute__((noinline, noclone))
#else
#define TRACED __attribute__((noinline))
#endif

#define STOOD	75	/* exit status: to be tried again */

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t ready;
static volatile int quiet;

static TRACED void inside(int ms)
{
	struct timespec t = { .tv_nsec = ms * 1000000L };

	if (ms)
		nanosleep(&t, NULL);
	quiet++;
}

/* ---- Locks -------------------------------------------------------------------------------- */

static TRACED void briefly(void)
{
	pthread_mutex_lock(&m);
	inside(0);
	pthread_mutex_unlock(&m);
}

/* Two locks: held until the second is released. */
static TRACED void longest(void)
{
	pthread_mutex_lock(&m);
	pthread_rwlock_wrlock(&rw);
	inside(400);
	pthread_rwlock_unlock(&rw);
	pthread_mutex_unlock(&m);
}

static TRACED void second(void)
{
	while (pthread_spin_trylock(&spin))
		;
	inside(200);
	pthread_spin_unlock(&spin);
}

static TRACED void not_taken(void)
{
	pthread_mutex_trylock(&other);
	inside(800);
}

/* The wait gives the lock back. */
static TRACED void waits(void)
{
	struct timespec t;

	pthread_mutex_lock(&m);
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += 1;
	while (pthread_cond_timedwait(&c, &m, &t) != ETIMEDOUT)
		;
	pthread_mutex_unlock(&m);
}

static TRACED void reads(void)
{
	pthread_rwlock_rdlock(&rw);
	inside(800);
	pthread_rwlock_unlock(&rw);
}

static void *holder(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&other);
	sem_post(&ready);
	pause();
	return NULL;
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* 1: the machine stood still in what is to be the second longest: it may be longer than the longest. */
static int locks(void)
{
	long begin, took;
	pthread_t t;

	pthread_spin_init(&spin, 0);
	sem_init(&ready, 0, 0);
	pthread_create(&t, NULL, holder, NULL);
	sem_wait(&ready);
	briefly();
	longest();
	begin = now_ms();
	second();
	took = now_ms() - begin;
	not_taken();
	waits();
	reads();
	briefly();
	return took >= 350;
}

/* ---- Signals ------------------------------------------------------------------------------ */

static void on_cpu(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

/* Two short times on two CPUs: what the first alone has seen looks like one of 600 ms. */
static TRACED void moves(void)
{
	on_cpu(0);
	pthread_mutex_lock(&m);
	on_cpu(1);
	inside(200);		/* longer than the loader, and whoever reads the trace, hold theirs */
	pthread_mutex_unlock(&m);
	inside(400);
	pthread_mutex_lock(&m);
	on_cpu(0);
	pthread_mutex_unlock(&m);
}

static TRACED void masked(int ms)
{
	sigset_t one, two, old;

	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	sigemptyset(&two);
	sigaddset(&two, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &one, &old);
	pthread_sigmask(SIG_BLOCK, &two, NULL);
	inside(ms);
	pthread_sigmask(SIG_UNBLOCK, &two, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* Asks, and fails: the mask stays empty. */
static TRACED void not_masked(void)
{
	sigset_t set;

	pthread_sigmask(SIG_BLOCK, NULL, &set);
	sigfillset(&set);
	pthread_sigmask(99, &set, NULL);
	inside(800);
}

static void signals(void)
{
	masked(0);
	masked(400);
	not_masked();
	masked(0);
}

/* ---- Wakes -------------------------------------------------------------------------------- */

static int go;

static void *sleeper(void *arg)
{
	(void)arg;
	sched_setscheduler(0, SCHED_BATCH | SCHED_RESET_ON_FORK, &(struct sched_param){ 0 });
	pthread_mutex_lock(&m);
	printf("woken %d\n", (int)gettid());
	sem_post(&ready);
	while (!go)
		pthread_cond_wait(&c, &m);
	pthread_mutex_unlock(&m);
	return NULL;
}

/* The woken thread cannot return before the waker lets go of the mutex. */
static TRACED void waker(void)
{
	pthread_mutex_lock(&m);
	go = 1;
	pthread_cond_signal(&c);
	inside(400);
	pthread_mutex_unlock(&m);
}

static void wakes(void)
{
	pthread_t t;

	sem_init(&ready, 0, 0);
	pthread_create(&t, NULL, sleeper, NULL);
	sem_wait(&ready);
	printf("waker %d\n", (int)gettid());
	waker();
	pthread_join(t, NULL);
	fflush(stdout);
}

/* ---- Heap and files ----------------------------------------------------------------------- */

static void *volatile keep;

static TRACED void heap(void)
{
	void *map;

	keep = malloc(123);
	keep = realloc(keep, 4567);
	free(keep);
	keep = calloc(3, 7);
	free(keep);
	free(NULL);
	keep = aligned_alloc(64, 640);
	free(keep);
	map = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(map, 8192);
}

static TRACED int files(const char *path)
{
	char b[100] = "";
	struct iovec v[2] = { { b, 30 }, { b + 30, 40 } };
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (write(fd, b, 100) != 100 || pwrite(fd, b, 50, 100) != 50 || fsync(fd) || pread(fd, b, 64, 10) != 64 ||
	    lseek(fd, 0, SEEK_SET) || readv(fd, v, 2) != 70 || read(fd, b, 100) != 80 || read(-1, b, 5) != -1)
		return 1;
	return close(fd);
}

/* ---- A sandbox that comes later --------------------------------------------------------------- */

#ifdef SANDBOX
#define PRCTL prctl
#else
/* The function is not imported, so uft does not see it coming. */
static long PRCTL(long op, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
#ifdef __x86_64__
	register unsigned long r10 __asm__("r10") = c, r8 __asm__("r8") = d;
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(SYS_prctl), "D"(op), "S"(a), "d"(b), "r"(r10), "r"(r8) : "rcx",
			 "r11", "memory");
	return ret;
#else
	return op && a && b && c && d ? 0 : -1;
#endif
}
#endif

/* What asks for a policy gets @action. */
static int forbid(uint32_t action)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_getscheduler, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_getparam, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpriority, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, action),
	};
	struct sock_fprog prog = { sizeof(f) / sizeof(f[0]), f };

	return PRCTL(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       PRCTL(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (unsigned long)&prog, 0, 0);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (argc > 2 && !strcmp(argv[2], "killed") && forbid(SECCOMP_RET_KILL_PROCESS))
		return 3;
	if (argc > 2 && !strcmp(argv[2], "refused") && forbid(SECCOMP_RET_ERRNO | EPERM))
		return 3;

	if (!strcmp(mode, "locks"))
		return locks() ? STOOD : 0;
	else if (!strcmp(mode, "moves"))
		moves();
	else if (!strcmp(mode, "signals"))
		signals();
	else if (!strcmp(mode, "wakes"))
		wakes();
	else if (!strcmp(mode, "heap"))
		heap();
	else if (!strcmp(mode, "files") && argc > 2)
		return files(argv[2]);
	else
		return 2;
	return 0;
}
