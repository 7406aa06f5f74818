/* SPDX-License-Identifier: MIT */
/*
 * sleepers.c [THREADS [SIGTRAP]] - a program that notices any interruption
 *
 * Every kind of waiting has a thread that fails on EINTR and on a time-out that comes early; THREADS more are
 * in malloc() and free() most of the time, and one counts its calls of work(). SIGTRAP is `blocked`, `ignored` or
 * `handled`: it must be so to the end. Ends when standard input does: "ok" and the number of calls, exit status 0.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define BULK	(256u << 10)

static volatile int is_over;
static unsigned long calls;
static int pipe_small[2], pipe_bulk[2];
static sem_t sem_ping;
static volatile int trap_count;

static void fail(const char *what, long got, int error)
{
	printf("FAIL %s: %ld, %s\n", what, got, strerror(error));
	fflush(stdout);
	_exit(1);
}

static long now_ms(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

__attribute__((noinline)) unsigned long work(unsigned long n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

/* A wait of @ms that must answer @want (and, if negative, errno @error), not early by the clock that it is of. */
#define TIMED_BY(clock, name, ms, call, want, error)					\
	static void *name(void *arg)							\
	{										\
		while (!is_over) {							\
			long start = now_ms(clock);					\
			long got = (call);						\
			int why = errno;						\
			if (got != (want) || (got < 0 && why != (error)))		\
				fail(#name, got, why);					\
			if (now_ms(clock) - start < (ms) - 1)				\
				fail(#name " early", now_ms(clock) - start, 0);		\
		}									\
		return arg;								\
	}

#define TIMED(name, ms, call, want, error) TIMED_BY(CLOCK_MONOTONIC, name, ms, call, want, error)

static struct timespec ms5 = { .tv_nsec = 5000000 };
static int epoll_fd, sem_id, timed_socket[2];
static uint32_t futex_word;

static int select_5ms(void)
{
	struct timeval tv = { .tv_usec = 5000 };

	return select(0, NULL, NULL, NULL, &tv);
}

static int wait_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return sigtimedwait(&set, NULL, &ms5);
}

static int wait_sem(void)
{
	struct timespec ts;
	static sem_t never;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_nsec += 5000000;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_nsec -= 1000000000;
		ts.tv_sec++;
	}
	return sem_timedwait(&never, &ts);
}

static int wait_semop(void)
{
	struct sembuf down = { 0, -1, 0 };

	return semtimedop(sem_id, &down, 1, &ms5);
}

static char byte;
TIMED(t_nanosleep, 5, nanosleep(&ms5, NULL), 0, 0)
TIMED(t_poll, 5, poll(NULL, 0, 5), 0, 0)
TIMED(t_ppoll, 5, ppoll(NULL, 0, &ms5, NULL), 0, 0)
TIMED(t_select, 5, select_5ms(), 0, 0)
TIMED(t_epoll, 5, epoll_wait(epoll_fd, &(struct epoll_event){ 0 }, 1, 5), 0, 0)
TIMED(t_sigwait, 5, wait_signal(), -1, EAGAIN)
TIMED_BY(CLOCK_REALTIME, t_sem, 5, wait_sem(), -1, ETIMEDOUT)
TIMED(t_semop, 5, wait_semop(), -1, EAGAIN)
TIMED(t_futex, 5, syscall(SYS_futex, &futex_word, 0, 0, &ms5, NULL, 0), -1, ETIMEDOUT)
TIMED(t_recv, 5, recv(timed_socket[0], &byte, 1, 0), -1, EAGAIN)

static void *t_ping(void *arg)
{
	while (!is_over) {
		if (write(pipe_small[1], "x", 1) != 1)
			fail("ping", 0, errno);
		sem_post(&sem_ping);
		usleep(2000);
	}
	sem_post(&sem_ping);
	if (write(pipe_small[1], "x", 1) != 1)
		fail("last ping", 0, errno);
	return arg;
}

static void *t_pong(void *arg)
{
	while (!is_over) {
		long n = read(pipe_small[0], &byte, 1);

		if (n != 1)
			fail("read", n, errno);
		if (sem_wait(&sem_ping))
			fail("sem_wait", -1, errno);
	}
	return arg;
}

static void *t_bulk_out(void *arg)
{
	static char bulk[BULK];

	/* A short count is the one thing that may happen: what was written cannot be taken back (uft-attach(1)). */
	while (!is_over) {
		long n = write(pipe_bulk[1], bulk, BULK);

		if (n <= 0)
			fail("write", n, errno);
	}
	close(pipe_bulk[1]);
	return arg;
}

static void *t_bulk_in(void *arg)
{
	static char part[32 << 10];
	long n;

	while ((n = read(pipe_bulk[0], part, sizeof(part))) > 0)
		if (n > 20000)
			usleep(1000);
	if (n < 0)
		fail("bulk read", n, errno);
	return arg;
}

static void *t_malloc(void *arg)
{
	unsigned n = 0;

	while (!is_over) {
		void *p = malloc(64), *q = malloc(5000);

		__asm__ volatile("" : : "r"(p), "r"(q) : "memory");
		free(p);
		free(q);
		if (++n % 500 == 0)
			usleep(2000);		/* others want to run as well */
	}
	return arg;
}

static void *t_work(void *arg)
{
	while (!is_over) {
		calls = work(calls);
		if (calls % 200 == 0)
			usleep(500);
	}
	return arg;
}

static void on_trap(int sig)
{
	(void)sig;
	trap_count++;
}

static void set_trap(const char *how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	if (!strcmp(how, "blocked"))
		sigprocmask(SIG_BLOCK, &set, NULL);
	else if (!strcmp(how, "ignored"))
		signal(SIGTRAP, SIG_IGN);
	else if (!strcmp(how, "handled"))
		signal(SIGTRAP, on_trap);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* Is it still what set_trap() made of it? */
static void check_trap(const char *how)
{
	struct sigaction now;
	sigset_t mask;

	sigaction(SIGTRAP, NULL, &now);
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	if (sigismember(&mask, SIGTRAP) != !strcmp(how, "blocked"))
		fail("SIGTRAP mask", 0, 0);
	if ((now.sa_handler == SIG_IGN) != !strcmp(how, "ignored") ||
	    (now.sa_handler == on_trap) != !strcmp(how, "handled"))
		fail("SIGTRAP handler", 0, 0);
	if (trap_count)
		fail("SIGTRAP came", trap_count, 0);
}

int main(int argc, char **argv)
{
	static void *(*const kinds[])(void *) = {
		t_nanosleep, t_poll, t_ppoll, t_select, t_epoll, t_sigwait, t_sem, t_semop, t_futex, t_recv, t_ping,
		t_pong,
		t_bulk_out, t_bulk_in, t_work,
	};
	enum { NKINDS = sizeof(kinds) / sizeof(kinds[0]) };
	int extra = argc > 1 ? atoi(argv[1]) : 0;
	const char *trap = argc > 2 ? argv[2] : "";
	pthread_t *thread = calloc((size_t)extra + NKINDS, sizeof(*thread));
	struct timeval tv = { .tv_usec = 5000 };
	pthread_attr_t small;

	set_trap(trap);
	epoll_fd = epoll_create1(0);
	sem_id = semget(IPC_PRIVATE, 1, 0600);
	if (pipe(pipe_small) || pipe(pipe_bulk) || socketpair(AF_UNIX, SOCK_STREAM, 0, timed_socket) ||
	    setsockopt(timed_socket[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)))
		fail("set-up", 0, errno);
	sem_init(&sem_ping, 0, 0);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (int i = 0; i < NKINDS; i++)
		if (pthread_create(&thread[i], &small, kinds[i], NULL))
			fail("thread", i, errno);
	for (int i = 0; i < extra; i++)
		if (pthread_create(&thread[NKINDS + i], &small, t_malloc, NULL))
			fail("thread", i, errno);
	puts("ready");
	fflush(stdout);
	if (read(0, &byte, 1) != 0)
		fail("main read", 1, errno);
	is_over = 1;
	for (int i = 0; i < NKINDS + extra; i++)
		pthread_join(thread[i], NULL);
	semctl(sem_id, 0, IPC_RMID);
	check_trap(trap);
	printf("ok %lu\n", calls);
	return 0;
}
