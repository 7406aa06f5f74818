// SPDX-License-Identifier: MIT
/* file.c - recordmcount on a file: read all of it, write a new one beside it, rename */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/recordmcount/recordmcount.h"

static int read_all(int fd, size_t len, void **out)
{
	uint8_t *buf = malloc(len ? len : 1);
	size_t got = 0;

	if (!buf)
		return -ENOMEM;
	while (got < len) {
		ssize_t n = read(fd, buf + got, len - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			free(buf);
			return n ? -errno : -EIO;
		}
		got += n;
	}
	*out = buf;
	return 0;
}

static int write_all(int fd, const uint8_t *buf, size_t len)
{
	while (len) {
		ssize_t n = write(fd, buf, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		buf += n;
		len -= n;
	}
	return 0;
}

/* Replaces @path by @buf in one step; mode and, where permitted, owner stay. */
static int replace_file(const char *path, const struct stat *st, const void *buf, size_t len)
{
	char *temp;
	int fd, ret;

	if (asprintf(&temp, "%s.uft-XXXXXX", path) < 0)
		return -ENOMEM;
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0) {
		ret = -errno;
		free(temp);
		return ret;
	}
	ret = write_all(fd, buf, len);
	if (!ret && fchown(fd, st->st_uid, st->st_gid) && errno != EPERM)
		ret = -errno;
	if (!ret && fchmod(fd, st->st_mode & 07777))
		ret = -errno;
	if (close(fd) && !ret)
		ret = -errno;
	if (!ret && rename(temp, path))
		ret = -errno;
	if (ret)
		unlink(temp);
	free(temp);
	return ret;
}

static int open_object(const char *path, struct stat *st, struct uft_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret;

	if (fd < 0) {
		ret = -errno;
		return uft_fail(err, ret, "%s: cannot open: %s", path, strerror(-ret));
	}
	ret = fstat(fd, st) ? -errno : 0;
	if (!ret && S_ISREG(st->st_mode))
		return fd;
	close(fd);
	return ret ? uft_fail(err, ret, "%s: %s", path, strerror(-ret)) :
		     uft_fail(err, -EINVAL, "%s: not a regular file", path);
}

int uft_recordmcount_file(const char *path, const struct uft_recordmcount_options *opt,
			  struct uft_recordmcount_result *res, struct uft_error *err)
{
	void *in = NULL, *out = NULL;
	char real[PATH_MAX];
	size_t out_len;
	struct stat st;
	int fd, ret;

	memset(res, 0, sizeof(*res));
	fd = open_object(path, &st, err);
	if (fd < 0)
		return fd;
	ret = read_all(fd, st.st_size, &in);
	close(fd);
	if (ret)
		return uft_fail(err, ret, "%s: cannot read: %s", path, strerror(-ret));
	ret = uft_recordmcount_image(path, in, st.st_size, opt, res, &out, &out_len, err);
	free(in);
	if (!ret && out && !opt->dry_run) {
		/* A symbolic link stays one: the file that it leads to is replaced. */
		ret = realpath(path, real) ? replace_file(real, &st, out, out_len) : -errno;
		if (ret)
			uft_fail(err, ret, "%s: cannot write: %s; the file is as it was", path, strerror(-ret));
	}
	free(out);
	return ret;
}
