/* SPDX-License-Identifier: MIT */
/*
 * open_regular.h - regular files that a target or a recording names
 *
 * A name from elsewhere may lead to a device, which does something when it is opened, or to a pipe, or to a file of the
 * kernel's (proc, sysfs, tracefs): to open `trace` stops a trace, and pages of `resource0` are a device's. So a file is
 * looked at before it is opened, by one descriptor for both. A path below /proc/PID/root is resolved as the
 * process would: its symbolic links, absolute ones too, end inside that root. Context: control, any thread.
 */
#ifndef UFT_SYMBOL_OPEN_REGULAR_H
#define UFT_SYMBOL_OPEN_REGULAR_H

#include <stdint.h>
#include <sys/stat.h>

#include "symbol/owner.h"

/* The last part of the path, too, may be a link or must not. */
enum open_links { OPEN_FOLLOW, OPEN_NOFOLLOW };
/* A descriptor of the place, O_PATH: nothing is opened yet. Or -errno. */
int open_place(const char *path, enum open_links links);
/* Opened read-only, and *st of it. -EISDIR: a directory; -ENODEV: no regular file that is stored; else -errno. */
int open_regular(const char *path, enum open_links links, struct stat *st);
/* A large file of which nearly nothing was ever written: what it claims to hold costs its owner nothing. */
int is_hollow(const struct stat *st);
/* The user who can change the open file, or a value of owner.h. */
uint32_t owner_of_file(int fd, const struct stat *st);
/* Can a user other than root and ours change it? */
int can_others_write(int fd, const struct stat *st);

static inline uint64_t file_mtime_ns(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec;
}

#endif
