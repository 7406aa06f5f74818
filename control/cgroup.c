// SPDX-License-Identifier: MIT
/* cgroup.c - the control group of a process */
#include "control/cgroup.h"

#include "control/internal.h"

#include <stdio.h>
#include <string.h>

int cgroup_dir(pid_t pid, const char *controller, char *dir, size_t size)
{
	char groups[4096], of_v1[64], *line, *names, *path, *next;
	int version = 0;

	if (peek_file(pid, "cgroup", groups, sizeof(groups)) <= 0)
		return 0;
	snprintf(of_v1, sizeof(of_v1), ":%s:/", controller);
	for (line = strtok_r(groups, "\n", &next); line && version != 1; line = strtok_r(NULL, "\n", &next)) {
		names = strchr(line, ':');
		path = names ? strchr(names + 1, ':') : NULL;
		if (!path || (strncmp(line, "0::/", 4) && strncmp(names, of_v1, strlen(of_v1))))
			continue;
		version = *line == '0' ? 2 : 1;
		path += path[1] == '/' && !path[2] ? 2 : 1;		/* the uppermost of those that it sees */
		snprintf(dir, size, "/sys/fs/cgroup%s%s%s", version == 2 ? "" : "/", version == 2 ? "" : controller, path);
	}
	return version;
}

/* Both tell of a group above it as well. */
int cgroup_is_frozen(pid_t pid, char *dir, size_t size)
{
	int version = cgroup_dir(pid, "freezer", dir, size), is_frozen = 0;
	char path[4200], line[64];
	FILE *f;

	if (!version)
		return 0;
	snprintf(path, sizeof(path), "%s/%s", dir, version == 2 ? "cgroup.events" : "freezer.state");
	f = fopen(path, "re");
	while (f && !is_frozen && fgets(line, sizeof(line), f))
		is_frozen = !strcmp(line, "frozen 1\n") || !strcmp(line, "FROZEN\n") || !strcmp(line, "FREEZING\n");
	if (f)
		fclose(f);
	return is_frozen;
}
