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

/*
 * Notes in @mapped which of the files @st[@n] process @pid has mapped, writable and shared as a runtime has
 * (@is_writable), or in any way; returns how many were not noted before.
 */
static size_t note_mapped(pid_t pid, int is_writable, const struct stat *st, size_t n, uint8_t *mapped)
{
	char path[64], perms[8], *line = NULL, buffer[8192];
	size_t size = 0, found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	if (f)
		setvbuf(f, buffer, _IOFBF, sizeof(buffer));	/* the kernel gives a page at once, stdio would take a quarter */
	while (f && getline(&line, &size, f) > 0) {
		unsigned int major, minor;
		unsigned long long inode;

		if (sscanf(line, "%*x-%*x %7s %*x %x:%x %llu", perms, &major, &minor, &inode) != 4 || !inode)
			continue;
		if (is_writable && (perms[1] != 'w' || perms[3] != 's'))
			continue;
		for (size_t i = 0; i < n; i++)
			if (!mapped[i] && inode == st[i].st_ino && makedev(major, minor) == st[i].st_dev)
				found += mapped[i] = 1;
	}
	free(line);
	if (f)
		fclose(f);
	return found;
}

int arena_is_mapped_by(const struct arena *a, pid_t pid)
{
	uint8_t mapped = 0;
	struct stat st;

	return fstat(a->board_fd, &st) == 0 && note_mapped(pid, 0, &st, 1, &mapped);
}

int arena_slice_is_mapped_by(const struct arena *a, uint32_t index, pid_t pid)
{
	int fd = index < a->map->nslices ? arena_open_family(a, index / a->map->per_file) : -1;
	uint8_t mapped = 0;
	struct stat st;
	/* The session and its guard have all families mapped, and are nobody's target. */
	int is_ours = pid == getpid() || pid == (pid_t)a->board->guard_pid || pid == (pid_t)a->board->session_pid;
	int found = fd >= 0 && pid > 0 && !is_ours && fstat(fd, &st) == 0 && note_mapped(pid, 1, &st, 1, &mapped);

	if (fd >= 0)
		close(fd);
	return found;
}

int arena_may_be_mapped_by(const struct arena *a, pid_t pid)
{
	return pid > 0 && pid != getpid() && (!a->since || proc_start_ticks(pid) >= a->since);
}

void arena_find_mapped_files(const struct arena *a, const struct stat *st, size_t n, uint8_t *mapped)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	size_t left = n;

	while (d && left && (e = readdir(d)))
		if (arena_may_be_mapped_by(a, (pid_t)atoi(e->d_name)))
			left -= note_mapped((pid_t)atoi(e->d_name), 0, st, n, mapped);
	if (d)
		closedir(d);
}

int arena_is_mapped(const struct arena *a)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int found = 0;

	while (d && !found && (e = readdir(d)))
		found = atoi(e->d_name) > 0 && atoi(e->d_name) != getpid() && arena_is_mapped_by(a, (pid_t)atoi(e->d_name));
	if (d)
		closedir(d);
	return found;
}

pid_t arena_find_agentless(const struct arena *a)
{
	char comm[64] = "";
	uint64_t since = proc_start_name(getpid(), comm, sizeof(comm));
	DIR *d = opendir("/proc");
	struct dirent *e;
	pid_t found = 0;

	while (d && !found && (e = readdir(d))) {
		pid_t pid = (pid_t)atoi(e->d_name);

		if (pid <= 0 || pid == getpid() || pid == (pid_t)a->board->guard_pid || proc_start_name(pid, comm, sizeof(comm)) < since || !strcmp(comm, "uft-agent"))
			continue;
		found = arena_is_mapped_by(a, pid) ? pid : 0;
	}
	if (d)
		closedir(d);
	return found;
}
