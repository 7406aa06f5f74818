/* SPDX-License-Identifier: MIT */
/* recording_file.c - the file of an open recording: open it, and check whether it has changed */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "stream/dat/dat.h"
#include "view/recording_internal.h"

int recording_open_file(struct recording *r, const char *path, struct uft_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return uft_fail(err, -errno, "%s: cannot be opened: %s", path, strerror(errno));
	if (fstat(fd, &r->stat)) {
		close(fd);
		return uft_fail(err, -errno, "%s: %s", path, strerror(errno));
	}
	r->is_imported = dat_is_file(fd);
	if (r->is_imported) { /* once: each stream of it would do it again */
		int made, ret = dat_import(fd, path, &made, err);

		close(fd);
		if (ret)
			return ret;
		fd = made;
	}
	if (r->fd >= 0)
		close(r->fd);
	r->fd = fd;
	snprintf(r->name, sizeof(r->name), "/proc/self/fd/%d", fd);
	return 0;
}

int recording_stream_of(struct recording *r, const struct uft_select *sel, struct uft_stream **st)
{
	int ret;

	pthread_mutex_lock(&r->lock);
	ret = recording_stream(r, sel, st);
	pthread_mutex_unlock(&r->lock);
	return ret;
}

/* 1: the name now leads to another file, a longer one, or none. */
int recording_is_changed(const struct recording *r)
{
	struct stat st;

	return stat(r->path, &st) || st.st_ino != r->stat.st_ino || st.st_dev != r->stat.st_dev ||
	       st.st_size != r->stat.st_size;
}
