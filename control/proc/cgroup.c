// SPDX-License-Identifier: MIT
/*
 * cgroup.c - the control group of a process
 *
 * A group is a folder in a hierarchy of groups, and /proc/PID/cgroup has a line for each hierarchy:
 * `N:CONTROLLERS:/PATH` in version 1, where each controller has its own, `0::/PATH` in version 2, which has
 * all in one. Many machines have both (systemd calls that hybrid): then the controllers are with version 1,
 * mostly, and the other hierarchy is mounted in a folder of its own. So a controller's group is looked for in
 * version 1 first. But freezing is no controller in version 2: every group there can be frozen, whatever
 * version 1 has, so whether a process is at rest is asked of both.
 *
 * Where hierarchies are mounted is what everybody does, not what /proc/mounts says: /sys/fs/cgroup itself or
 * unified in it, and /sys/fs/cgroup/CONTROLLER. In a container the path may be another's, of which there is
 * no folder here; then nothing is known.
 */
#include "control/proc/cgroup.h"

#include "control/proc/proc.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ROOT		"/sys/fs/cgroup"

/* The path in the hierarchy of which the line begins so, or has that behind its number; NULL: there is none. */
static char *path_in(char *groups, const char *begin, const char *behind)
{
	for (char *line = groups, *next; line && *line; line = next) {
		const char *names = strchr(line, ':');
		char *path = NULL;

		next = strchr(line, '\n');
		if (begin && !strncmp(line, begin, strlen(begin)))
			path = line + strlen(begin);
		else if (behind && names && names < (next ? next : names + 1) &&
			 !strncmp(names, behind, strlen(behind)))
			path = line + (names - line) + strlen(behind);
		if (path && next)
			*next = '\0';
		if (path)
			return path;
		next = next ? next + 1 : NULL;
	}
	return NULL;
}

static int dir_of(pid_t pid, const char *controller, char *dir, size_t size)
{
	char groups[4096], behind[64], *path;

	if (proc_read_file(pid, "cgroup", groups, sizeof(groups)) <= 0)
		return 0;
	if (controller)
		snprintf(behind, sizeof(behind), ":%s:/", controller);
	path = path_in(groups, controller ? NULL : "0::/", controller ? behind : NULL);
	if (!path)
		return 0;
	/* The uppermost of those that it sees has no name; version 2 beside version 1 has a folder in it. */
	snprintf(dir, size, ROOT "%s%s%s%s", controller ? "/" : access(ROOT "/unified/cgroup.procs", F_OK) ? "" :
		 "/unified", controller ? controller : "", *path ? "/" : "", path);
	return 1;
}

int cgroup_dir(pid_t pid, const char *controller, char *dir, size_t size)
{
	return dir_of(pid, controller, dir, size) ? 1 : dir_of(pid, NULL, dir, size) ? 2 : 0;
}

static int says_frozen(const char *dir, const char *name)
{
	char path[4200], line[64];
	int is_frozen = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "re");
	while (f && !is_frozen && fgets(line, sizeof(line), f))
		is_frozen = !strcmp(line, "frozen 1\n") || !strcmp(line, "FROZEN\n") || !strcmp(line, "FREEZING\n");
	if (f)
		fclose(f);
	return is_frozen;
}

/* Both tell of a group above it as well. */
int cgroup_is_frozen(pid_t pid, char *dir, size_t size)
{
	return (dir_of(pid, "freezer", dir, size) && says_frozen(dir, "freezer.state")) ||
	       (dir_of(pid, NULL, dir, size) && says_frozen(dir, "cgroup.events"));
}
