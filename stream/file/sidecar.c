/* SPDX-License-Identifier: MIT */
/* sidecar.c - see sidecar.h */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/file/reader.h"
#include "stream/file/sidecar.h"
#include "symbol/newfile.h"
#include "symbol/open_regular.h"

void sidecar_mark(const struct rd_file *of, struct sidecar_mark *out)
{
	*out = (struct sidecar_mark){of->size, of->mtime_ns, of->head.head_sum};
}

int sidecar_has_mark(const struct rd_file *of, const struct sidecar_mark *m)
{
	return m->size == of->size && m->mtime_ns == of->mtime_ns && m->head_sum == of->head.head_sum;
}

static char *join(const char *path, const char *suffix, const char *more)
{
	char *name = malloc(strlen(path) + strlen(suffix) + strlen(more) + 1);

	return name ? strcat(strcat(strcpy(name, path), suffix), more) : NULL;
}

int sidecar_begin(const char *path, const char *suffix, struct sidecar *out)
{
	int fd, ret;

	*out = (struct sidecar){.name = join(path, suffix, ""), .part = join(path, suffix, ".XXXXXX")};
	ret = !out->name || !out->part ? -ENOMEM : uft_newfile_may_replace(out->name, NULL);
	fd = ret ? -1 : mkostemp(out->part, O_CLOEXEC);
	if (!ret && fd < 0)
		ret = -errno;
	if (!ret && !(out->f = fdopen(fd, "w"))) {
		ret = -errno;
		close(fd);
		unlink(out->part);
	}
	if (ret) {
		free(out->name);
		free(out->part);
		*out = (struct sidecar){0};
	}
	return ret;
}

int sidecar_end(struct sidecar *s, int ret)
{
	int is_bad = ferror(s->f);

	if ((fclose(s->f) || is_bad) && !ret)
		ret = is_bad || !errno ? -EIO : -errno;
	if (!ret && rename(s->part, s->name))
		ret = -errno;
	if (ret)
		unlink(s->part);
	free(s->name);
	free(s->part);
	*s = (struct sidecar){0};
	return ret;
}

int sidecar_open(const char *path, const char *suffix, const struct rd_file *of, uint64_t *size)
{
	char *name = join(path, suffix, "");
	int fd = name ? open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW) : -1;
	int ret = !name ? -ENOMEM : fd < 0 ? -errno : 0;
	struct stat f;

	free(name);
	if (ret)
		return ret;
	if (fstat(fd, &f) || !S_ISREG(f.st_mode) || is_hollow(&f) /* GUARD(sidecar_hollow) */ ||
	    (f.st_uid && f.st_uid != geteuid() && f.st_uid != of->uid)) {
		close(fd);
		return -ENOENT;
	}
	*size = (uint64_t)f.st_size;
	return fd;
}
