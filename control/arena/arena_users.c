// SPDX-License-Identifier: MIT
/*
 * arena_users.c - the processes that have a session's memory mapped, by what /proc tells
 */
#include "control/proc/proc.h"
#include "control/arena/arena.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

int peek_maps(const struct arena *a, pid_t pid)
{
	char path[64], *line = NULL;
	struct stat st;
	size_t size = 0;
	int found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	if (!f || fstat(a->board_fd, &st) < 0) {
		if (f)
			fclose(f);
		return 0;
	}
	while (!found && getline(&line, &size, f) > 0) {
		unsigned int major, minor;
		unsigned long long inode;

		found = sscanf(line, "%*x-%*x %*s %*x %x:%x %llu", &major, &minor, &inode) == 3 &&
			inode == st.st_ino && makedev(major, minor) == st.st_dev;
	}
	free(line);
	fclose(f);
	return found;
}

int peek_anybody_maps(const struct arena *a)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int found = 0;

	while (d && !found && (e = readdir(d)))
		found = atoi(e->d_name) > 0 && atoi(e->d_name) != getpid() && peek_maps(a, (pid_t)atoi(e->d_name));
	if (d)
		closedir(d);
	return found;
}

pid_t peek_any_silent(const struct arena *a)
{
	char comm[64] = "";
	uint64_t since = peek_start_name(getpid(), comm, sizeof(comm));
	DIR *d = opendir("/proc");
	struct dirent *e;
	pid_t found = 0;

	while (d && !found && (e = readdir(d))) {
		pid_t pid = (pid_t)atoi(e->d_name);

		if (pid <= 0 || pid == getpid() || pid == (pid_t)a->board->guard_pid || peek_start_name(pid, comm, sizeof(comm)) < since || !strcmp(comm, "uft-agent"))
			continue;
		found = peek_maps(a, pid) ? pid : 0;
	}
	if (d)
		closedir(d);
	return found;
}
