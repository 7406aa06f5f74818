// SPDX-License-Identifier: MIT
/*
 * filter_tasks.c - filter_tasks PARITY: tasks of all sorts fire sample_one, each with a number of its own
 *
 * Prints the numbers of the tasks whose thread number is odd (1) or even (0): threads, fork children at their first
 * event, the parent behind that, and vfork children.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CREATE_TRACE_POINTS
#include "sample.h"

static int wanted;

static void *thread(void *arg)
{
	static int tid;

	trace_sample_one((int)(long)arg);
	tid = gettid();
	return &tid;
}

static void print(int tid, int number)
{
	if ((tid & 1) == wanted)
		dprintf(1, "%d\n", number);
}

int main(int argc, char **argv)
{
	wanted = argc > 1 && atoi(argv[1]);
	for (int i = 0; i < 12; i++) {
		pthread_t t;
		void *tid;
		pid_t pid;

		if (pthread_create(&t, NULL, thread, (void *)(long)(10 * i)) || pthread_join(t, &tid))
			return 1;
		print(*(int *)tid, 10 * i);
		pid = fork();
		if (!pid) {
			trace_sample_one(10 * i + 1);
			trace_sample_one(10 * i + 2);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		print(pid, 10 * i + 1);
		print(pid, 10 * i + 2);
		trace_sample_one(10 * i + 3);	/* and the parent, which is known by then */
		print(gettid(), 10 * i + 3);
		pid = vfork();
		if (!pid) {
			trace_sample_one(10 * i + 4);
			_exit(0);
		}
		print(pid, 10 * i + 4);
	}
	return 0;
}
