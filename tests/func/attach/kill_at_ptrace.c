/* SPDX-License-Identifier: MIT */
/*
 * kill_at_ptrace.c - preloaded: the process ends by SIGKILL just before, with UFT_KILL_AFTER just behind, its
 * UFT_KILL_AT-th call of ptrace(); of those that it makes while there is a file UFT_KILL_WHILE, if that is set. With
 * UFT_KILL_PID another process ends, and the call waits until that is a zombie. The first UFT_GUARD_FAILS seizures of its
 * forks (the guard) fail.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEIZE	0x4206		/* <sys/ptrace.h> declares ptrace() in another way */

static long calls, at, guard_fails;
static int is_after;
static const char *file;
static pid_t self, victim;
static long (*next)(long, long, long, long);

__attribute__((constructor)) static void begin(void)
{
	const char *text = getenv("UFT_KILL_AT");

	at = text ? atol(text) : 0;
	is_after = getenv("UFT_KILL_AFTER") != NULL;
	file = getenv("UFT_KILL_WHILE");
	guard_fails = getenv("UFT_GUARD_FAILS") ? atol(getenv("UFT_GUARD_FAILS")) : 0;
	self = getpid();		/* not the guard, which is a fork */
	victim = getenv("UFT_KILL_PID") ? atoi(getenv("UFT_KILL_PID")) : self;
	next = (long (*)(long, long, long, long))dlsym(RTLD_NEXT, "ptrace");
}

static int has_ended(pid_t pid)
{
	char path[64], text[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return 1;
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	fclose(f);
	return strstr(text, ") Z") || strstr(text, ") X");
}

static void end_victim(void)
{
	kill(victim, SIGKILL);
	while (victim != self && !has_ended(victim))
		usleep(1000);
}

long ptrace(long request, long pid, long addr, long data)
{
	int is_it = at && getpid() == self && (!file || access(file, F_OK) == 0) && ++calls == at, error;
	long ret;

	if (is_it && !is_after)
		end_victim();
	if (request == SEIZE && getpid() != self && guard_fails > 0) {
		guard_fails--;
		errno = EPERM;
		return -1;
	}
	ret = next(request, pid, addr, data);
	error = errno;
	if (is_it)
		end_victim();
	errno = error;
	return ret;
}
