/* SPDX-License-Identifier: MIT */
/* cgroup.h - the control group of a process. Context: control. */
#ifndef UFT_CONTROL_CGROUP_H
#define UFT_CONTROL_CGROUP_H

#include <stddef.h>
#include <sys/types.h>

/*
 * The folder of its group for @controller: in the hierarchy of version 1 that has it, else in that of version
 * 2. Returns that version, 0: it has none. The folder may not be there, where /proc tells of another
 * container's.
 */
int cgroup_dir(pid_t pid, const char *controller, char *dir, size_t size);
/*
 * Is all of it at rest until somebody thaws it? Nothing runs in it then, nor ends, in version 2 but by
 * SIGKILL. @dir: the group.
 */
int cgroup_is_frozen(pid_t pid, char *dir, size_t size);

#endif
