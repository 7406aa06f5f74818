/* SPDX-License-Identifier: MIT */
/* proc_list.h - the numbers of processes, or of one's tasks, as /proc lists them */
#ifndef UFT_CONTROL_PROC_PROC_LIST_H
#define UFT_CONTROL_PROC_PROC_LIST_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

/* The tasks of @pid; 0: all processes. NULL if it is gone, which the others take for an empty list. */
static inline DIR *proc_list(pid_t pid)
{
	char path[64] = "/proc";

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/task", pid);
	return opendir(path);
}

/* 0: that were all. */
static inline pid_t proc_list_next(DIR *d)
{
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (atoi(e->d_name) > 0)
			return (pid_t)atoi(e->d_name);
	return 0;
}

static inline void proc_list_end(DIR *d)
{
	if (d)
		closedir(d);
}

#endif
