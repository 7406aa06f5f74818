/* SPDX-License-Identifier: MIT */
/*
 * writers.c N THREADS - N times in all: `blk`, `function_graph`, `blk` into the file of old, as programs did;
 * what came of it
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_int refused, taken, other;
static int rounds;

static void put(const char *name)
{
	int fd = open("/sys/kernel/debug/tracing/current_tracer", O_WRONLY);
	ssize_t n = fd < 0 ? -1 : write(fd, name, strlen(name));

	if (n == (ssize_t)strlen(name))
		taken++;
	else if (n < 0 && fd >= 0 && errno == EINVAL)
		refused++;
	else
		other++;
	if (fd >= 0)
		close(fd);
}

static void *writer(void *arg)
{
	for (int i = 0; i < rounds; i++) {
		put("blk");
		put("function_graph");
		put("blk");
	}
	return arg;
}

int main(int argc, char **argv)
{
	int nthreads = argc > 2 ? atoi(argv[2]) : 4;
	pthread_t thread[64];

	rounds = (argc > 1 ? atoi(argv[1]) : 100) / nthreads;
	for (int i = 0; i < nthreads; i++)
		if (pthread_create(&thread[i], NULL, writer, NULL))
			return 2;
	for (int i = 0; i < nthreads; i++)
		pthread_join(thread[i], NULL);
	printf("taken %d refused %d other %d\n", taken, refused, other);
	return 0;
}
