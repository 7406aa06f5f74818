/* SPDX-License-Identifier: MIT */
/* thread.c - see thread.h */
#include "symbol/thread.h"

#include <signal.h>

#include "symbol/guard_map.h"

int thread_start(pthread_t *thread, void *(*fn)(void *arg), void *arg)
{
	sigset_t all, before;
	int ret;

	guard_fill_mask(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = -pthread_create(thread, NULL, fn, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ret;
}
