// SPDX-License-Identifier: MIT
/* nofork.c - preloaded into uft: who was forked cannot fork */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

static pid_t first;

__attribute__((constructor)) static void begin(void)
{
	first = getpid();
}

pid_t fork(void)
{
	pid_t (*real)(void);

	if (getpid() != first) {
		errno = EAGAIN;
		return -1;
	}
	*(void **)&real = dlsym(RTLD_NEXT, "fork");
	return real();
}
