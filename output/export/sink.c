/* SPDX-License-Identifier: MIT */
/* sink.c - the output of an export; see sink.h */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output/export/sink.h"
#include "symbol/newfile.h"

#define BUFFER	(256u << 10)

/* The names that a signal handler removes: files, then the directory that they are in. */
static char *volatile under_way[2], *volatile under_way_dir;

/* A pipe, a device, or an open file under a name of /proc (/dev/stdout). */
static int is_special(const char *path)
{
	struct stat st;

	return !strncmp(path, "/proc/", 6) || !strncmp(path, "/dev/", 5) ||
	       (stat(path, &st) == 0 && !S_ISREG(st.st_mode));
}

/* Opens a new file. The list of names owns @name from now on. */
static int open_new(char *name, unsigned i, FILE **out)
{
	int fd;

	if (!name)
		return -ENOMEM;
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		free(name);
		return -errno;
	}
	under_way[i] = name;
	*out = fdopen(fd, "w");
	if (*out)
		return 0;
	close(fd);
	return -ENOMEM;
}

static int open_part(struct export_sink *s, const char **why)
{
	int ret = uft_newfile_may_replace(s->final, why);

	if (ret)
		return ret;
	if (asprintf(&s->part, "%s.part-%d", s->final, (int)getpid()) < 0)
		s->part = NULL;
	ret = open_new(s->part, 0, &s->out);
	s->part = under_way[0];
	return ret;
}

/* Refuses another user's pipe: its owner would get the export, or let it wait for a reader for ever. */
static int open_special(struct export_sink *s, const char **why)
{
	int fd = uft_newfile_open(s->path, 0, NULL, why);
	struct stat st;
	int ret;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) == 0 && !(S_ISREG(st.st_mode) && ftruncate(fd, 0) < 0) && (s->out = fdopen(fd, "w")))
		return 0;
	ret = -errno;
	close(fd);
	return ret;
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
		return open_part(s, why);
	return open_special(s, why);
}

void export_sink_discard(void)
{
	for (unsigned i = 0; i < 2; i++)
		if (under_way[i])
			unlink(under_way[i]);
	if (under_way_dir)
		rmdir(under_way_dir);
}

/* Forgets the names. @is_done: the output has its final name; if not, it is removed. */
static void forget(struct export_sink *s, int is_done)
{
	if (!is_done)
		export_sink_discard();
	for (unsigned i = 0; i < 2; i++) {
		free(under_way[i]);
		under_way[i] = NULL;
	}
	free(under_way_dir);
	under_way_dir = NULL;
	free(s->final);
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
		forget(s, 0);
		return ret;
	}
	setvbuf(s->out, NULL, _IOFBF, BUFFER);
	return 0;
}

int export_sink_reserve(struct export_sink *s, const char *path, struct uft_error *err)
{
	int ret = export_sink_open(s, path, err);

	if (ret)
		return ret;
	fclose(s->out);
	s->out = NULL;
	return 0;
}

/* 0: nothing has that name, or an empty directory, which rename(2) replaces. */
static int check_free(const char *path, const char **why)
{
	DIR *dir = opendir(path);
	int n = 0;

	if (!dir && errno == ENOENT)
		return 0;
	if (!dir) {
		*why = errno == ENOTDIR ? "this format is a directory, and that is a file: remove it, or name another" :
			NULL;
		return -errno;
	}
	while (n < 3 && readdir(dir))
		n++;		/* `.` and `..` are always there */
	closedir(dir);
	if (n < 3)
		return 0;
	*why = "it is there already, and this format is a directory: remove it, or name another";
	return -EEXIST;
}

static int open_in_dir(struct export_sink *s, const char *name, unsigned i, FILE **out)
{
	char *path;

	return open_new(asprintf(&path, "%s/%s", s->part, name) < 0 ? NULL : path, i, out);
}

static int open_dir(struct export_sink *s, const char *first, const char *second, const char **why)
{
	int ret;

	s->final = malloc(PATH_MAX);
	if (!s->final)
		return -ENOMEM;
	ret = uft_newfile_resolve(s->path, s->final, PATH_MAX, why);
	for (size_t n = strlen(s->final); !ret && n > 1 && s->final[n - 1] == '/'; n--)
		s->final[n - 1] = '\0';
	if (!ret)
		ret = check_free(s->final, why);
	if (ret)
		return ret;
	if (asprintf(&s->part, "%s.part-%d", s->final, (int)getpid()) < 0) {
		s->part = NULL;
		return -ENOMEM;
	}
	if (mkdir(s->part, 0700) < 0) {
		ret = -errno;
		free(s->part);
		return ret;
	}
	under_way_dir = s->part;
	ret = open_in_dir(s, first, 0, &s->out);
	return ret ? ret : open_in_dir(s, second, 1, &s->second);
}

int export_sink_open_dir(struct export_sink *s, const char *path, const char *first, const char *second,
			 struct uft_error *err)
{
	const char *why = NULL;
	int ret;

	*s = (struct export_sink){ .path = path };
	ret = open_dir(s, first, second, &why);
	if (!ret)
		return 0;
	snprintf(err->text, sizeof(err->text), "cannot write %.200s: %s", path, why ? why : strerror(-ret));
	if (s->out)
		fclose(s->out);
	forget(s, 0);
	return ret;
}

uint64_t export_string_max(const struct uft_export_opts *o)
{
	return o && o->max_string ? o->max_string : (1u << 29) - 24;	/* of V8; Firefox has twice as much */
}

int export_string_too_long(uint64_t max, struct uft_error *err)
{
	return uft_fail(err, -EFBIG,
			"the profile would be larger than the %" PRIu64 " MB that a browser can read: export a part "
			"(--range A~B), or use -f perfetto", (max + (1u << 20) - 1) >> 20);
}

/* 1: longer than @max; 0: not; -errno. A pipe has no length, and its reader is unknown: 0. */
static int is_longer(struct export_sink *s, uint64_t max)
{
	off_t bytes;

	if (fflush(s->out))
		return -errno;
	bytes = lseek(fileno(s->out), 0, SEEK_CUR);
	return bytes >= 0 && (uint64_t)bytes > max;
}

int export_sink_check_string(struct export_sink *s, uint64_t max, struct uft_error *err)
{
	int ret = is_longer(s, max);

	return ret > 0 ? export_string_too_long(max, err) : ret;
}

int export_sink_warn_string(struct export_sink *s, const struct uft_export_opts *o)
{
	uint64_t max = export_string_max(o);
	int ret = is_longer(s, max);
	char sentence[320];

	if (ret > 0 && o && o->warn) {
		snprintf(sentence, sizeof(sentence),
			 "the file is larger than the %" PRIu64
			 " MB that chrome://tracing and speedscope can read, and "
			 "Perfetto's viewer may have no memory for it: export a part (--range A~B), or use -f perfetto",
			 (max + (1u << 20) - 1) >> 20);
		o->warn(o->ctx, sentence);
	}
	return ret < 0 ? ret : 0;
}

static int close_file(FILE *f, int ret)
{
	errno = 0;
	if (fflush(f) && !ret)
		ret = errno ? -errno : -EIO;
	if (ferror(f) && !ret)
		ret = -EIO;
	if (fclose(f) && !ret)
		ret = -errno;
	return ret;
}

int export_sink_close(struct export_sink *s, int ret, struct uft_error *err)
{
	if (s->out)
		ret = close_file(s->out, ret);
	if (s->second)
		ret = close_file(s->second, ret);
	if (!ret && s->part && rename(s->part, s->final) < 0)
		ret = -errno;
	if (ret && !err->text[0])
		snprintf(err->text, sizeof(err->text), "cannot write %.200s: %s", s->path, strerror(-ret));
	forget(s, !ret);
	return ret;
}

int export_sink_finish(struct export_sink *s, const struct uft_stream *st, int ret, struct uft_error *err)
{
	return export_sink_close(s, ret ? ret : uft_stream_check_file(st, err), err);
}
