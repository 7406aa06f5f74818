// SPDX-License-Identifier: MIT
/*
 * arena_users.c - the processes that have a session's memory mapped, by what /proc tells
 */
#include "control/proc/proc.h"
#include "control/arena/arena.h"
#include "control/proc/proc_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

struct looked_for {
	const struct stat *st;
	size_t n, found;		/* files; noted */
	uint8_t *mapped;
	int is_writable;
};

/*
 * FROM-TO PERM OFFSET MAJOR:MINOR INODE, without sscanf(): each fork child has its lines read. The permissions, four
 * characters; NULL: no file.
 */
static const char *parse_line(const char *line, dev_t *dev, unsigned long long *inode)
{
	const char *perms = strchr(line, ' '), *at = perms ? strchr(perms + 1, ' ') : NULL;
	unsigned long major;
	char *end;

	if (!at || at - perms != 5)
		return NULL;
	at = strchr(at + 1, ' ');
	if (!at)
		return NULL;
	major = strtoul(at, &end, 16);
	if (*end != ':')
		return NULL;
	*dev = makedev((unsigned int)major, (unsigned int)strtoul(end + 1, &end, 16));
	*inode = strtoull(end, NULL, 10);
	return *inode ? perms + 1 : NULL;
}

/* Ends the reading once all are noted. */
static int note_line(void *arg, char *line)
{
	struct looked_for *l = arg;
	unsigned long long inode;
	dev_t dev;
	const char *perms = parse_line(line, &dev, &inode);

	if (!perms)
		return 0;
	if (l->is_writable && (perms[1] != 'w' || perms[3] != 's') /* GUARD(arena_map_writable, 0) */)
		return 0;
	for (size_t i = 0; i < l->n; i++)
		if (!l->mapped[i] && inode == l->st[i].st_ino && dev == l->st[i].st_dev)
			l->found += l->mapped[i] = 1;
	return l->found == l->n;
}

/* Has process @pid the file @st mapped: writable and shared as a runtime has (@is_writable), or in any way? */
static int is_mapped(pid_t pid, int is_writable, const struct stat *st)
{
	uint8_t mapped = 0;
	struct looked_for l = { .st = st, .n = 1, .mapped = &mapped, .is_writable = is_writable };

	return proc_find_mapping(pid, note_line, &l);
}

/*
 * Notes in @mapped which of the files @st[@n] process @pid has mapped in any way; returns how many are news.
 * One reading: of all processes few have any, and arena_find_mapped_files() is called twice before a file is dropped.
 */
static size_t note_mapped(pid_t pid, const struct stat *st, size_t n, uint8_t *mapped)
{
	struct looked_for l = { .st = st, .n = n, .mapped = mapped };
	char *line = NULL, buffer[8192];
	size_t size = 0;
	FILE *f = proc_fopen(pid, "maps");

	if (f)
		setvbuf(f, buffer, _IOFBF, sizeof(buffer));
	while (f && getline(&line, &size, f) > 0)
		note_line(&l, line);
	free(line);
	if (f)
		fclose(f);
	return l.found;
}

int arena_is_mapped_by(const struct arena *a, pid_t pid)
{
	struct stat st;

	return fstat(a->board_fd, &st) == 0 && is_mapped(pid, 0, &st);
}

int arena_slice_is_mapped_by(const struct arena *a, uint32_t index, pid_t pid)
{
	struct stat st;
	/* The session and its guard have all families mapped, and are nobody's target. */
	int is_ours = pid == getpid() || pid == (pid_t)a->board->guard_pid || pid == (pid_t)a->board->session_pid;

	return index < a->map->nslices && pid > 0 && !is_ours && !arena_stat_family(a, index / a->map->per_file, &st) &&
	       is_mapped(pid, 1, &st);
}

int arena_may_be_mapped_by(const struct arena *a, pid_t pid)
{
	return pid > 0 && pid != getpid() && (!a->since || proc_start_ticks(pid) >= a->since);
}

void arena_find_mapped_files(const struct arena *a, const struct stat *st, size_t n, uint8_t *mapped)
{
	DIR *d = proc_list(0);
	size_t left = n;
	pid_t pid;

	while (left && (pid = proc_list_next(d)))
		if (arena_may_be_mapped_by(a, pid))
			left -= note_mapped(pid, st, n, mapped);
	proc_list_end(d);
}

int arena_is_mapped(const struct arena *a)
{
	DIR *d = proc_list(0);
	int found = 0;
	pid_t pid;

	while (!found && (pid = proc_list_next(d)))
		found = pid != getpid() && arena_is_mapped_by(a, pid);
	proc_list_end(d);
	return found;
}

pid_t arena_find_agentless(const struct arena *a)
{
	char comm[64] = "";
	uint64_t since = proc_start_name(getpid(), comm, sizeof(comm));
	DIR *d = proc_list(0);
	pid_t found = 0, pid;

	while (!found && (pid = proc_list_next(d))) {
		if (pid == getpid() || pid == (pid_t)a->board->guard_pid ||
		    proc_start_name(pid, comm, sizeof(comm)) < since || !strcmp(comm, "uft-agent"))
			continue;
		found = arena_is_mapped_by(a, pid) ? pid : 0;
	}
	proc_list_end(d);
	return found;
}
