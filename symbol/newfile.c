/* SPDX-License-Identifier: MIT */
/*
 * newfile.c - see newfile.h
 *
 * A user who may write in a folder can change what a name in it means between any two system calls. So
 * nothing is decided by a name: a link is read by a descriptor of its own, a file is made with O_EXCL, and
 * what is there is judged after it was opened.
 */
#include "symbol/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LINKS_MAX	8

static int fail(int error, const char **why, const char *text)
{
	if (why)
		*why = text;
	return error;
}

/*
 * What the link open as @fd says, as a path: beside @path, if it is relative. 0: no link that could be read
 * so; 1; -errno.
 */
static int read_link(int fd, char *path, size_t size, const char **why)
{
	char to[PATH_MAX], *slash = strrchr(path, '/');
	size_t dir;
	struct statfs fs;
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISLNK(st.st_mode) || (fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC))
		return 0;
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return fail(-EPERM, why, "it is a symbolic link of another user: give the place itself");
	n = readlinkat(fd, "", to, sizeof(to) - 1);
	if (n < 0)
		return -errno;
	to[n] = '\0';
	dir = to[0] == '/' || !slash ? 0 : (size_t)(slash + 1 - path);
	if (dir + (size_t)n >= size)
		return -ENAMETOOLONG;
	memcpy(path + dir, to, (size_t)n + 1);
	return 1;
}

int uft_newfile_resolve(const char *path, char *out, size_t size, const char **why)
{
	if (why)
		*why = NULL;
	if ((size_t)snprintf(out, size, "%s", path) >= size)
		return -ENAMETOOLONG;
	for (int i = 0; i < LINKS_MAX; i++) {
		int fd = open(out, O_PATH | O_NOFOLLOW | O_CLOEXEC), ret;

		if (fd < 0)
			return errno == ENOENT ? 0 : -errno;
		ret = read_link(fd, out, size, why);
		close(fd);
		if (ret <= 0)
			return ret;
	}
	return -ELOOP;
}

/* Is @path, which is not followed, one of /proc's links? */
static int is_proc_link(const char *path)
{
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC), is = 0;
	struct statfs fs;
	struct stat st;

	if (fd >= 0)
		is = fstat(fd, &st) == 0 && S_ISLNK(st.st_mode) && fstatfs(fd, &fs) == 0 &&
		     fs.f_type == PROC_SUPER_MAGIC;
	if (fd >= 0)
		close(fd);
	return is;
}

/* Pipes and devices are as they are. */
static int judge(int fd, const char **why)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return 0;
	if (st.st_uid != geteuid())
		return fail(-EPERM, why, "it belongs to another user: remove it first, or give another name");
	if (st.st_nlink > 1)
		return fail(-EPERM, why, "the file has another name, too: remove this one first");
	return st.st_mode & 077 && fchmod(fd, st.st_mode & 0700) < 0 ? -errno : 0;
}

int uft_newfile_open(const char *path, int flags, int *is_new, const char **why)
{
	int fd = -1, ret, made = 0, is_open;
	char at[PATH_MAX];

	if (is_new)
		*is_new = 0;
	ret = uft_newfile_resolve(path, at, sizeof(at), why);
	if (ret)
		return ret;
	is_open = is_proc_link(at);
	if (!is_open) {
		fd = open(at, flags | O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		made = fd >= 0;
		if (fd < 0 && errno != EEXIST)
			return -errno;
	}
	if (fd < 0)
		fd = open(at, flags | O_WRONLY | O_CLOEXEC | (is_open ? 0 : O_NOFOLLOW));
	if (fd < 0)
		return -errno;
	ret = made || is_open ? 0 : judge(fd, why);
	if (ret) {
		close(fd);
		return ret;
	}
	if (is_new)
		*is_new = made;
	return fd;
}
