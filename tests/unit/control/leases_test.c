/* SPDX-License-Identifier: MIT */
/*
 * leases_test.c - a process with leases on its own files in /proc: those who read them do not wait
 *
 * A read that waits for the lease succeeds when the kernel has taken that away, 45 s later; one that does not wait fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control/proc/map_files.h"
#include "control/proc/proc.h"

#define OTHER	65534		/* a user */
#define CHECK(c) do { if (!(c)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #c); exit(1); } } while (0)

/* A child with leases, of another user if we may make one; it ends with us. 0: the kernel gives none there. */
static pid_t start(void)
{
	static const char *const files[] = { "maps", "status", "stat", "auxv", "comm" };
	char path[64], has_all = 1;
	pid_t pid;
	int up[2];

	CHECK(!pipe2(up, O_CLOEXEC));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		if (!geteuid() && (setgid(OTHER) || setuid(OTHER)))
			_exit(1);
		prctl(PR_SET_DUMPABLE, 1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGIO, SIG_IGN);
		for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
			snprintf(path, sizeof(path), "/proc/self/%s", files[i]);
			has_all &= !fcntl(open(path, O_RDONLY), F_SETLEASE, F_WRLCK);
		}
		if (write(up[1], &has_all, 1) == 1)
			pause();
		_exit(1);
	}
	CHECK(read(up[0], &has_all, 1) == 1);
	return has_all ? pid : 0;
}

static int count(void *arg, char *line)
{
	++*(int *)arg;
	return !line[0];
}

int main(void)
{
	uint8_t raw[UFT_AUXV_MAX];
	struct auxv auxv;
	pid_t pid = start();
	struct map_files files = { .pid = pid };
	int nlines = 0;
	char text[512];
	size_t bytes;

	if (!pid)
		return 77;
	CHECK(!proc_fopen(pid, "maps") && errno == EAGAIN);
	CHECK(!proc_find_mapping(pid, count, &nlines) && !nlines);
	CHECK(!strcmp(map_files_name_at(&files, (uintptr_t)count), "?"));
	CHECK(proc_read_file(pid, "status", text, sizeof(text)) == -EAGAIN);
	CHECK(!proc_start_ticks(pid));
	CHECK(auxv_read(pid, raw, &bytes, &auxv) == -EAGAIN);
	map_files_close(&files);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}
