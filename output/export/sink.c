/* SPDX-License-Identifier: MIT */
/* sink.c - where an export goes; see sink.h */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output/export/sink.h"
#include "symbol/newfile.h"

#define BUFFER	(256u << 10)

static char *volatile under_way;	/* for signal handlers */

/* A pipe, a device, or what is open already under a name of /proc (/dev/stdout). */
static int is_special(const char *path)
{
	struct stat st;

	return !strncmp(path, "/proc/", 6) || !strncmp(path, "/dev/", 5) || (stat(path, &st) == 0 && !S_ISREG(st.st_mode));
}

static int open_part(struct export_sink *s)
{
	int fd;

	if (asprintf(&s->part, "%s.part-%d", s->final, (int)getpid()) < 0) {
		s->part = NULL;
		return -ENOMEM;
	}
	fd = open(s->part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	under_way = s->part;
	s->out = fdopen(fd, "w");
	if (s->out)
		return 0;
	close(fd);
	return -ENOMEM;
}

/* A link to a file is followed: its target is replaced, the link stays. */
static int open_any(struct export_sink *s, const char **why)
{
	int ret;

	s->final = malloc(PATH_MAX);
	if (!s->final)
		return -ENOMEM;
	ret = uft_newfile_resolve(s->path, s->final, PATH_MAX, why);
	if (ret)
		return ret;
	if (!is_special(s->path) && !is_special(s->final))
		return open_part(s);
	s->out = fopen(s->path, "we");
	return s->out ? 0 : -errno;
}

static void forget(struct export_sink *s)
{
	if (under_way)
		unlink(under_way);
	under_way = NULL;
	free(s->final);
	free(s->part);
	s->final = s->part = NULL;
}

int export_sink_open(struct export_sink *s, const char *path, struct uft_error *err)
{
	const char *why = NULL;
	int ret;

	*s = (struct export_sink){ .path = path };
	ret = open_any(s, &why);
	if (ret) {
		snprintf(err->text, sizeof(err->text), "cannot write %.200s: %s", path, why ? why : strerror(-ret));
		forget(s);
		return ret;
	}
	setvbuf(s->out, NULL, _IOFBF, BUFFER);
	return 0;
}

int export_sink_close(struct export_sink *s, int ret, struct uft_error *err)
{
	errno = 0;
	if (fflush(s->out) && !ret)
		ret = errno ? -errno : -EIO;
	if (ferror(s->out) && !ret)
		ret = -EIO;
	if (fclose(s->out) && !ret)
		ret = -errno;
	if (!ret && s->part && rename(s->part, s->final) < 0)
		ret = -errno;
	if (!ret)
		under_way = NULL;
	else if (!err->text[0])
		snprintf(err->text, sizeof(err->text), "cannot write %.200s: %s", s->path, strerror(-ret));
	forget(s);
	return ret;
}

void export_sink_discard(void)
{
	if (under_way)
		unlink(under_way);
}
