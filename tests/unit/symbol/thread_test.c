/* SPDX-License-Identifier: MIT */
/* thread_test.c - a thread of uft takes no signals, and reads a file that is cut off while it is mapped */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbol/guard_map.h"
#include "symbol/thread.h"

#define CHECK(c) do { if (!(c)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c); exit(1); } } while (0)

struct file { const unsigned char *p; size_t size; };

static void *read_all(void *arg)
{
	const struct file *f = arg;

	for (size_t i = 0; i < f->size; i++)
		CHECK(f->p[i] == 0);
	return NULL;
}

static void *look_at_mask(void *arg)
{
	CHECK(pthread_sigmask(SIG_SETMASK, NULL, arg) == 0);
	return NULL;
}

static void test_mask(void)
{
	sigset_t own, before, after;
	pthread_t thread;

	sigemptyset(&before);
	sigaddset(&before, SIGUSR1);
	CHECK(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
	CHECK(thread_start(&thread, look_at_mask, &own) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(pthread_sigmask(SIG_SETMASK, NULL, &after) == 0);
	for (int sig = 1; sig < 32; sig++) {
		CHECK(sigismember(&after, sig) == (sig == SIGUSR1));
		CHECK(sigismember(&own, sig) == (sig != SIGBUS && sig != SIGKILL && sig != SIGSTOP));
	}
}

static void test_cut_file(void)
{
	char path[] = "/tmp/uft-thread-XXXXXX";
	int fd = mkstemp(path);
	struct file f = { .size = 1 << 16 };
	pthread_t thread;

	CHECK(fd >= 0 && ftruncate(fd, (off_t)f.size) == 0);
	f.p = guard_map(fd, f.size);
	CHECK(f.p && ftruncate(fd, 0) == 0);
	CHECK(thread_start(&thread, read_all, &f) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	guard_unmap(f.p, f.size);
	close(fd);
	unlink(path);
}

int main(void)
{
	test_mask();
	test_cut_file();
	return 0;
}
