/* SPDX-License-Identifier: MIT */
/*
 * many.c - 1,024 functions, called again and again by two threads and by fork children, until standard input ends
 *
 * Exit status 0: each call gave what it had to, in every child as well.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/functions.h"

#define QUIET __attribute__((patchable_function_entry(0)))
#define F(n) __attribute__((noinline, aligned(16))) static int f##n(int x) { \
	__asm__ volatile("" : "+r"(x)); return x + 1; }
F512(1) F512(2)

static int (*const all[])(int) = { T512(1) T512(2) };
#define NALL (int)(sizeof(all) / sizeof(all[0]))

static atomic_int stop, failed;

QUIET static void call_all(void)
{
	int sum = 0;

	for (int i = 0; i < NALL; i++)
		sum = all[i](sum);
	if (sum != NALL)
		atomic_store(&failed, 1);
}

QUIET static void *caller(void *arg)
{
	while (!atomic_load(&stop)) {
		call_all();
		usleep(200);
	}
	return arg;
}

QUIET int main(void)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	int status, children = 0;
	pthread_t th[2];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&th[i], NULL, caller, NULL))
			return 2;
	while (poll(&in, 1, 5) <= 0) {
		pid_t pid = fork();

		if (!pid) {
			for (int i = 0; i < 20; i++) {
				call_all();
				usleep(500);
			}
			_exit(atomic_load(&failed));
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			return 3;
		children++;
	}
	atomic_store(&stop, 1);
	for (int i = 0; i < 2; i++)
		pthread_join(th[i], NULL);
	printf("%d children\n", children);
	return atomic_load(&failed);
}
