/* SPDX-License-Identifier: MIT */
/*
 * open_regular.h - regular files that a target or a recording names
 *
 * Such a name may lead to a device, which acts when it is opened, to a pipe, or to a file of the kernel's (proc, sysfs,
 * tracefs): opening `trace` stops a trace, and pages of `resource0` are a device's. So a file is checked before it is
 * opened, by one descriptor for both. A path below /proc/PID/root is resolved as the process would resolve it: its
 * symbolic links, absolute ones too, end inside that root. Context: control, any thread.
 */
#ifndef UFT_SYMBOL_OPEN_REGULAR_H
#define UFT_SYMBOL_OPEN_REGULAR_H

#include <stdint.h>
#include <sys/stat.h>

#include "symbol/owner.h"

/* Whether the last part of the path may be a link, too. */
enum open_links { OPEN_FOLLOW, OPEN_NOFOLLOW };
/* Returns a descriptor of the place, O_PATH: the file is not opened yet. Or -errno. */
int open_place(const char *path, enum open_links links);
/* Opens it read-only, and fills *st. -EISDIR: a directory; -ENODEV: no regular, stored file; else -errno. */
int open_regular(const char *path, enum open_links links, struct stat *st);
/* Is it a large file of which nearly nothing was ever written? Its size costs its owner nothing. */
int is_hollow(const struct stat *st);
/* Returns the user who can change the open file, or a value of owner.h. */
uint32_t owner_of_file(int fd, const struct stat *st);
/* Can a user other than root and uft's change it? */
int can_others_write(int fd, const struct stat *st);

static inline uint64_t file_mtime_ns(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
}

#endif
