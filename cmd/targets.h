/* SPDX-License-Identifier: MIT */
/* targets.h - running processes as the user names them */
#ifndef UFT_CMD_TARGETS_H
#define UFT_CMD_TARGETS_H

#include <stddef.h>
#include <sys/types.h>

#include "symbol/error.h"

struct cmd_targets {
	struct target_pid {
		pid_t pid;
		int is_found;		/* by a name or a cgroup: it may end before the attach */
	} *item;
	size_t n, nfound;		/* nfound: each as often as it was named */
	struct target_search {
		const char *text;
		int kind;		/* enum target_kind */
	} *search;
	size_t nsearches;
};

enum target_kind { TARGET_ANY, TARGET_NAME, TARGET_CGROUP };

/*
 * Adds what @text means: `1200`, `1200,1204`, the name of a program (its comm, or the last part of its file's
 * path), or a cgroup (a path below /sys/fs/cgroup, with or without that, or as in /proc/PID/cgroup).
 * TARGET_NAME and TARGET_CGROUP: only that. 0, or -errno and a sentence; -ESRCH: nobody.
 */
int cmd_targets_add(struct cmd_targets *t, int kind, const char *text, struct uft_error *err);
/* Searches again for processes of the names and cgroups. Returns how many are new. */
size_t cmd_targets_renew(struct cmd_targets *t);
/*
 * Counts the children of the process that have its name, as a server's workers, and are not in @t. @name: gets that
 * name.
 */
unsigned cmd_targets_left_out(const struct cmd_targets *t, pid_t pid, char *name, size_t size);
void cmd_targets_free(struct cmd_targets *t);

#endif
