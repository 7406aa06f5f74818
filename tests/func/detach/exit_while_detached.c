// SPDX-License-Identifier: MIT
/*
 * exit_while_detached.c - preloaded into a recorder: the process $ENDING is killed when its agent has just
 * been stopped to unmap what is ours
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

static int is_running(pid_t pid)
{
	char path[32], text[64] = "", *state;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (f) {
		if (!fgets(text, sizeof(text), f))
			text[0] = '\0';
		fclose(f);
	}
	state = strrchr(text, ')');
	return state && state[2] != 'Z';
}

typedef long ptrace_fn(enum __ptrace_request request, pid_t pid, void *addr, void *data);

long ptrace(enum __ptrace_request request, ...)
{
	ptrace_fn *real = (ptrace_fn *)dlsym(RTLD_NEXT, "ptrace");
	const char *ending = getenv("ENDING");
	void *addr, *data;
	va_list ap;
	pid_t pid;
	long ret;

	va_start(ap, request);
	pid = va_arg(ap, pid_t);
	addr = va_arg(ap, void *);
	data = va_arg(ap, void *);
	va_end(ap);
	ret = real(request, pid, addr, data);
	if (ending && request == PTRACE_SETOPTIONS && data == (void *)PTRACE_O_SUSPEND_SECCOMP && pid != atoi(ending)) {
		printf("killed\n");
		fflush(stdout);
		kill(atoi(ending), SIGKILL);
		while (is_running(atoi(ending)))
			usleep(1000);
	}
	return ret;
}
