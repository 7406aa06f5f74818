/* SPDX-License-Identifier: MIT */
/*
 * no_pidfd.c - loaded into uft: it gets no pidfd of a fork child of the program NO_PIDFD_OF (EMFILE)
 *
 * The agent of that program is its child, too, but has its memory.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>

static long (*next)(long number, ...);

static int is_called(int pid, const char *name)
{
	char path[64], comm[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "re");
	if (!f || !fgets(comm, sizeof(comm), f))
		comm[0] = 0;
	if (f)
		fclose(f);
	comm[strcspn(comm, "\n")] = 0;
	return !strcmp(comm, name);
}

static int is_fork_child(int pid)
{
	const char *name = getenv("NO_PIDFD_OF");
	char path[64];
	int parent = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%*d (%*[^)]) %*c %d", &parent) != 1)
		parent = 0;
	fclose(f);
	return name && parent > 0 && is_called(pid, name) && is_called(parent, name) &&
	       next(SYS_kcmp, pid, parent, KCMP_VM, 0, 0) > 0;
}

long syscall(long number, ...)
{
	long arg[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);
	if (!next)
		next = dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_pidfd_open && is_fork_child((int)arg[0])) {
		errno = EMFILE;
		return -1;
	}
	return next(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}
