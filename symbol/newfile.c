/* SPDX-License-Identifier: MIT */
/*
 * newfile.c - see newfile.h
 *
 * A user who may write in a folder can change what a name in it means between any two system calls. So no decision
 * depends on a name. A link is read by a descriptor of its own, a file is made with O_EXCL, and an existing file is
 * judged by a descriptor that has not opened it yet (O_PATH), because opening a stranger's pipe, or a file with a
 * lease, may wait.
 */
#include "symbol/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdint.h>
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
 * Reads the target of the link open as @fd as a path: beside @path, if it is relative. 0: not such a link; 1; -errno.
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

/* Is @path, not followed, one of /proc's links? */
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

#define FOREIGN	"it belongs to another user: remove it first, or give another name"

/* Returns the owner of @path's directory; -errno. */
static int64_t owner_of_dir(const char *path)
{
	char dir[PATH_MAX];
	struct stat st;
	char *slash;

	if ((size_t)snprintf(dir, sizeof(dir), "%s", path) >= sizeof(dir))
		return -ENAMETOOLONG;
	slash = strrchr(dir, '/');
	if (slash)
		slash[slash == dir] = '\0';
	return stat(slash ? dir : ".", &st) < 0 ? -errno : (int64_t)st.st_uid;
}

int uft_newfile_may_replace(const char *path, const char **why)
{
	struct stat st;
	int64_t owner;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid == geteuid())
		return 0;
	owner = owner_of_dir(path); /* GUARD(replaced_owner, st.st_uid) */
	if (owner < 0)
		return (int)owner;
	return st.st_uid == (uid_t)owner ? 0 : fail(-EPERM, why, FOREIGN);
}

/* Devices are accepted: root made them. */
static int judge(const struct stat *st, const char **why)
{
	if (S_ISLNK(st->st_mode))
		return -ELOOP;
	if ((S_ISREG(st->st_mode) || S_ISFIFO(st->st_mode)) && st->st_uid != geteuid())
		return fail(-EPERM, why, FOREIGN);
	if (S_ISREG(st->st_mode) && st->st_nlink > 1)
		return fail(-EPERM, why, "the file has another name, too: remove this one first");
	return 0;
}

/* Writes go on as to any file from now on, and only the user may open it. */
static int keep_private(int fd, int flags, mode_t mode)
{
	if (fcntl(fd, F_SETFL, flags) < 0)
		return -errno;
	return mode & 077 && fchmod(fd, mode & 0700) < 0 ? -errno : 0;
}

static int open_place(int place, int flags, const char **why)
{
	char again[64];
	struct stat st;
	int fd, ret;

	if (fstat(place, &st) < 0)
		return -errno;
	ret = judge(&st, why); /* GUARD(newfile_judged) */
	if (ret)
		return ret;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", place);
	fd = open(again, flags | O_WRONLY | O_CLOEXEC | (S_ISREG(st.st_mode) ? O_NONBLOCK : 0));
	if (fd < 0)
		return errno == EAGAIN ? fail(-EAGAIN, why, "another program has a lease on it") : -errno;
	ret = S_ISREG(st.st_mode) ? keep_private(fd, flags, st.st_mode) : 0;
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

/* Opens the existing file at @path, without following it. */
static int open_existing(const char *path, int flags, const char **why)
{
	int place = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC), ret;

	if (place < 0)
		return -errno;
	ret = open_place(place, flags, why);
	close(place);
	return ret;
}

int uft_newfile_open(const char *path, int flags, int *is_new, const char **why)
{
	char at[PATH_MAX];
	int fd, ret;

	if (is_new)
		*is_new = 0;
	ret = uft_newfile_resolve(path, at, sizeof(at), why);
	if (ret)
		return ret;
	if (is_proc_link(at)) {
		fd = open(at, flags | O_WRONLY | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	fd = open(at, flags | O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno == EEXIST ? open_existing(at, flags, why) : -errno;
	if (is_new)
		*is_new = 1;
	return fd;
}
