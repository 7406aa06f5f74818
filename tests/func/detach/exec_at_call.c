/* SPDX-License-Identifier: MIT */
/*
 * exec_at_call.c - preloaded: just before the UFT_EXEC_AT-th call of ptrace() and open() that this process makes while
 * there is a file UFT_EXEC_WHILE, process UFT_EXEC_PID gets SIGUSR1 and up to 100 ms to execute a program, or, if there is
 * UFT_EXEC_ENDS, SIGKILL and that time to end. Then the file is gone. From then on a file UFT_EXEC_WHILE.naps has a byte for each sleep of
 * 20 ms: the time between two tries of the detach to stop all tasks
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NAP_NS	20000000

static long calls, at;
static const char *file;
static char naps[4096];		/* the file of them; "" before the call */
static pid_t self, target;
static long (*next_ptrace)(long, long, long, long);
static int (*next_open)(const char *, int, ...);

__attribute__((constructor)) static void begin(void)
{
	const char *text = getenv("UFT_EXEC_AT"), *pid = getenv("UFT_EXEC_PID");

	at = text ? atol(text) : 0;
	target = pid ? (pid_t)atol(pid) : 0;
	file = getenv("UFT_EXEC_WHILE");
	self = getpid();		/* not the guard, which is a fork */
	next_ptrace = (long (*)(long, long, long, long))dlsym(RTLD_NEXT, "ptrace");
	next_open = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
}

static int has_executed(void)
{
	char path[64], args[256] = "";
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", target);
	fd = next_open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, args, sizeof(args) - 1);
	close(fd);
	return getenv("UFT_EXEC_ENDS") ? n <= 0 : n > 0 && memmem(args, (size_t)n, "second", 6);
}

static void count(void)
{
	int error = errno;

	if (at && file && target && getpid() == self && access(file, F_OK) == 0 && ++calls == at) {
		kill(target, getenv("UFT_EXEC_ENDS") ? SIGKILL : SIGUSR1);
		for (int i = 0; i < 100 && !has_executed(); i++)
			usleep(1000);
		snprintf(naps, sizeof(naps), "%s.naps", file);
		unlink(file);
	}
	errno = error;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
	int (*next)(const struct timespec *, struct timespec *);
	int fd = -1;

	if (*naps && getpid() == self && !wanted->tv_sec && wanted->tv_nsec == NAP_NS)
		fd = next_open(naps, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0) {
		if (write(fd, "x", 1) != 1)
			abort();
		close(fd);
	}
	*(void **)&next = dlsym(RTLD_NEXT, "nanosleep");
	return next(wanted, left);
}

long ptrace(long request, long pid, long addr, long data)
{
	count();
	return next_ptrace(request, pid, addr, data);
}

int open(const char *path, int flags, ...)
{
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, int) : 0;
	va_end(ap);
	count();
	return next_open(path, flags, mode);
}
