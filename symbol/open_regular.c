/* SPDX-License-Identifier: MIT */
/* open_regular.c - see open_regular.h */
#include "symbol/open_regular.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define HOLLOW_MIN_BYTES	(64ll << 20)
/* most bytes of size for a stored byte: no file system packs programs so well */
#define HOLLOW_RATIO		64
#define BLOCK_BYTES		512ll		/* of st_blocks */

/* Returns the length of "/proc/PID/root", if the path goes on behind it; else 0. */
static size_t root_prefix(const char *path)
{
	size_t at = strlen("/proc/"), n;

	if (strncmp(path, "/proc/", at))
		return 0;
	n = strspn(path + at, "0123456789");
	return n && !strncmp(path + at + n, "/root/", strlen("/root/")) ? at + n + strlen("/root") : 0;
}

int open_place(const char *path, enum open_links links)
{
	const int flags = O_PATH | O_CLOEXEC | (links == OPEN_NOFOLLOW ? O_NOFOLLOW : 0);
	struct open_how how = {
		.flags = (uint64_t)flags,
		/* GUARD(links_in_root, RESOLVE_NO_MAGICLINKS) */
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	size_t prefix = root_prefix(path);
	char root[64];
	int dir, fd;

	if (!prefix || prefix >= sizeof(root)) {
		fd = open(path, flags);
		return fd < 0 ? -errno : fd;
	}
	snprintf(root, sizeof(root), "%.*s", (int)prefix, path);
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, dir, path + prefix + 1, &how, sizeof(how));
	if (fd < 0)
		fd = -errno;
	close(dir);
	return fd;
}

/*
 * Are the file's bytes stored? Storage has blocks that are counted, the kernel's own file systems have none. Some file
 * systems need not count: those in memory without a limit, overlays on them, and those of a server.
 */
static int is_stored(int fd)
{
	static const uint32_t uncounted[] = { TMPFS_MAGIC, RAMFS_MAGIC, HUGETLBFS_MAGIC, OVERLAYFS_SUPER_MAGIC,
		FUSE_SUPER_MAGIC, V9FS_MAGIC };
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return 0;
	for (size_t i = 0; i < sizeof(uncounted) / sizeof(uncounted[0]); i++)
		if ((uint32_t)fs.f_type == uncounted[i])
			return 1;
	return fs.f_blocks && (uint32_t)fs.f_type != EFIVARFS_MAGIC;
}

int open_regular(const char *path, enum open_links links, struct stat *st)
{
	int place = open_place(path, links), fd = -1, ret = 0;
	char again[64];

	if (place < 0)
		return place;
	if (fstat(place, st) < 0)
		ret = -errno;
	else if (!S_ISREG(st->st_mode)) /* GUARD(open_regular_mode, S_ISDIR(st->st_mode)) */
		ret = S_ISDIR(st->st_mode) ? -EISDIR : S_ISLNK(st->st_mode) ? -ELOOP : -ENODEV;
	else if (!is_stored(place)) /* GUARD(open_regular_stored) */
		ret = -ENODEV;
	if (!ret) {
		snprintf(again, sizeof(again), "/proc/self/fd/%d", place);
		fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		ret = fd < 0 ? -errno : 0;
	}
	close(place);
	return ret ? ret : fd;
}

int is_hollow(const struct stat *st)
{
	return st->st_size > HOLLOW_MIN_BYTES /* GUARD(hollow_files, 0) */ && st->st_blocks &&
	       st->st_size / HOLLOW_RATIO > st->st_blocks * BLOCK_BYTES;
}

/* In a file system that a user's process serves, that process chooses the owner. */
uint32_t owner_of_file(int fd, const struct stat *st)
{
	const int is_ours = !st->st_uid || st->st_uid == geteuid();
	struct statfs fs;

	if (fstatfs(fd, &fs) || fs.f_type == FUSE_SUPER_MAGIC || st->st_mode & S_IWOTH ||
	    (is_ours && st->st_mode & S_IWGRP))
		return UFT_OWNER_UNKNOWN;
	return is_ours ? UFT_OWNER_OURS : st->st_uid;
}

int can_others_write(int fd, const struct stat *st)
{
	return owner_of_file(fd, st) != UFT_OWNER_OURS;
}
