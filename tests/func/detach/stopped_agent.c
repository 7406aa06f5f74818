/* SPDX-License-Identifier: MIT */
/* stopped_agent.c - preloaded: the process stands still, as by SIGSTOP, when it is to sleep for the first time */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <signal.h>
#include <time.h>

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
	static int has_stood;
	int (*real)(const struct timespec *, struct timespec *);

	if (!has_stood++)
		raise(SIGSTOP);
	*(void **)&real = dlsym(RTLD_NEXT, "nanosleep");
	return real(wanted, left);
}
