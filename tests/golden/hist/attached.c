/* SPDX-License-Identifier: MIT */
/*
 * attached.c - fires req() in every way that events come to be: attached LIBRARY [unmap]
 *
 * Once req() is on, which the program asks again and again, it says `enabled` and waits for a byte or the end of its input. Then: id 1 by the program, 2 by a child, 3 by what a child executes (`attached -`),
 * 4 and 5 by LIBRARY, opened and closed twice, 6 by another thread, 7 by a signal handler, 8 at the end. Then it says so, and waits for
 * the end of its input. With `unmap`: 1, then 4 by LIBRARY, whose code it unmaps without closing it. `attached flow` says `ready` and
 * fires some thousand times a second until the end of its input. Built twice: with LIBRARY defined it is that library.
 */
#define CREATE_TRACE_POINTS
#include "events.h"

#ifdef LIBRARY
void fire(int id)
{
	trace_req(id, 1, "library");
}
#else
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void *in_thread(void *arg)
{
	trace_req(6, 1, "thread");
	return arg;
}

static void on_signal(int sig)
{
	(void)sig;
	trace_req(7, 1, "handler");
}

static int of_child(const char *self)
{
	int status = 1;
	pid_t pid = fork();

	if (!pid && self) {
		execl(self, self, "-", (char *)NULL);
		_exit(1);
	}
	if (!pid) {
		trace_req(2, 1, "child");
		_exit(0);
	}
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

static int of_library(const char *path, int id, int is_unmapped)
{
	void *lib = dlopen(path, RTLD_NOW);
	void (*fire)(int) = lib ? (void (*)(int))(size_t)dlsym(lib, "fire") : NULL;
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	if (!fire)
		return 1;
	fire(id);
	if (is_unmapped)
		return munmap((void *)((uintptr_t)fire & -page), page);
	dlclose(lib);
	return dlopen(path, RTLD_NOW | RTLD_NOLOAD) != NULL;
}

static int flow(void)
{
	char byte;

	if (fcntl(0, F_SETFL, O_NONBLOCK) || puts("ready") < 0 || fflush(stdout))
		return 1;
	do {
		trace_req(1, 1, "flow");
		usleep(100);
	} while (read(0, &byte, 1) < 0);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char byte;

	if (argc < 2)
		return 2;
	if (argv[1][0] == '-') {
		trace_req(3, 1, "executed");
		return 0;
	}
	if (!strcmp(argv[1], "flow"))
		return flow();
	if (puts("ready") < 0 || fflush(stdout))
		return 1;
	while (!trace_req_enabled())
		usleep(1000);
	if (puts("enabled") < 0 || fflush(stdout) || read(0, &byte, 1) < 0)
		return 1;
	trace_req(1, 1, "program");
	if (argc > 2)	/* its destructors are gone, too */
		_exit(of_library(argv[1], 4, 1) || puts("fired") < 0 || fflush(stdout) || read(0, &byte, 1) != 0);
	if (of_child(NULL) || of_child("/proc/self/exe") || of_library(argv[1], 4, 0) || of_library(argv[1], 5, 0) ||
	    pthread_create(&thread, NULL, in_thread, NULL) || pthread_join(thread, NULL) ||
	    signal(SIGUSR1, on_signal) == SIG_ERR ||
	    raise(SIGUSR1))
		return 1;
	trace_req(8, 1, "end");
	return puts("fired") < 0 || fflush(stdout) || read(0, &byte, 1) != 0;
}
#endif
