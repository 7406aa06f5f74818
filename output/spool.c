/* SPDX-License-Identifier: MIT */
/* spool.c - see spool.h */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output/spool.h"
#include "symbol/array.h"

#define COPY_BYTES	(256u << 10)

/* Opens a file and removes its name: some file systems (old overlayfs, NFS) have no O_TMPFILE. */
static int open_unlinked(const char *dir)
{
	char path[4200];
	int fd;

	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	if ((size_t)snprintf(path, sizeof(path), "%s/.uft-export-XXXXXX", dir) >= sizeof(path))
		return -ENAMETOOLONG;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

int spool_open(struct spool *sp, const char *near)
{
	const char *slash = strrchr(near, '/'), *tmp = getenv("TMPDIR");
	char *dir = !slash ? strdup(".") : slash == near ? strdup("/") : strndup(near, (size_t)(slash - near));

	sp->end = 0;
	sp->fd = -ENOMEM;
	if (!dir)
		return -ENOMEM;
	sp->fd = open_unlinked(dir);
	if (sp->fd < 0)		/* the output may be a device or pipe in a place where nothing can be made */
		sp->fd = open_unlinked(tmp && *tmp ? tmp : "/tmp");
	free(dir);
	return sp->fd < 0 ? sp->fd : 0;
}

void spool_close(struct spool *sp)
{
	if (sp->fd >= 0)
		close(sp->fd);
	sp->fd = -1;
}

int spool_write_all(int fd, const void *data, size_t n)
{
	const char *p = data;

	while (n) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

static struct spool_extent *new_extent(struct spool_lane *lane)
{
	if (array_reserve(lane->extent, lane->cap, lane->n + 1))
		return NULL;
	lane->extent[lane->n] = (struct spool_extent){ 0 };
	return &lane->extent[lane->n++];
}

int spool_add(struct spool *sp, struct spool_lane *lane, const void *data, uint32_t n)
{
	struct spool_extent *x = lane->n ? &lane->extent[lane->n - 1] : NULL;
	int ret;

	if (!x || x->offset + x->bytes != sp->end || x->bytes > UINT32_MAX - n) {
		x = new_extent(lane);
		if (!x)
			return -ENOMEM;
		x->offset = sp->end;
	}
	ret = spool_write_all(sp->fd, data, n);
	if (ret)
		return ret;
	x->bytes += n;
	sp->end += n;
	lane->bytes += n;
	return 0;
}

static int copy_extent(const struct spool *sp, const struct spool_extent *x, int fd, char *buf)
{
	uint64_t at = x->offset, end = x->offset + x->bytes;
	int ret = 0;

	while (at < end && !ret) {
		size_t want = end - at < COPY_BYTES ? (size_t)(end - at) : COPY_BYTES;
		ssize_t got = pread(sp->fd, buf, want, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EIO;
		ret = spool_write_all(fd, buf, (size_t)got);
		at += (uint64_t)got;
	}
	return ret;
}

int spool_copy(const struct spool *sp, const struct spool_lane *lane, int fd)
{
	char *buf = malloc(COPY_BYTES);
	int ret = 0;

	if (!buf)
		return -ENOMEM;
	for (size_t i = 0; i < lane->n && !ret; i++)
		ret = copy_extent(sp, &lane->extent[i], fd, buf);
	free(buf);
	return ret;
}

void spool_lane_free(struct spool_lane *lane)
{
	free(lane->extent);
	*lane = (struct spool_lane){ 0 };
}
