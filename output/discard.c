/* SPDX-License-Identifier: MIT */
/* discard.c - see discard.h */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output/discard.h"

static int is_it(const struct stat *st, const struct stat *file)
{
	return S_ISREG(st->st_mode) && st->st_dev == file->st_dev && st->st_ino == file->st_ino;
}

void output_discard(const char *path, const struct stat *file)
{
	struct stat st;
	int fd;

	if (lstat(path, &st) == 0 && is_it(&st, file)) {
		unlink(path);
		return;
	}
	fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);	/* waits for no reader, if it is a pipe by now */
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && is_it(&st, file))
		(void)!ftruncate(fd, 0);	/* if that fails, nothing else would help */
	close(fd);
}
