/* SPDX-License-Identifier: MIT */
/*
 * kill_at_ptrace.c - preloaded: the process ends by SIGKILL just before, with UFT_KILL_AFTER just behind, its
 * UFT_KILL_AT-th call of ptrace(); of those that it makes while there is a file UFT_KILL_WHILE, if that is set
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static long calls, at;
static int is_after;
static const char *file;
static pid_t self;
static long (*next)(long, long, long, long);

__attribute__((constructor)) static void begin(void)
{
	const char *text = getenv("UFT_KILL_AT");

	at = text ? atol(text) : 0;
	is_after = getenv("UFT_KILL_AFTER") != NULL;
	file = getenv("UFT_KILL_WHILE");
	self = getpid();		/* not the guard, which is a fork */
	next = (long (*)(long, long, long, long))dlsym(RTLD_NEXT, "ptrace");
}

long ptrace(long request, long pid, long addr, long data)
{
	int is_it = at && getpid() == self && (!file || access(file, F_OK) == 0) && ++calls == at, error;
	long ret;

	if (is_it && !is_after)
		kill(self, SIGKILL);
	ret = next(request, pid, addr, data);
	error = errno;
	if (is_it)
		kill(self, SIGKILL);
	errno = error;
	return ret;
}
