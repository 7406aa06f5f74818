/* SPDX-License-Identifier: MIT */
/* report_export.c - export a part of a recording in another format, to a file without a name */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output/output.h"
#include "view/recording_internal.h"

/* one export at a time, because the writers remember only one unfinished file */
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

static int fail(struct report *p, int ret, const char *why)
{
	p->why = strdup(why);
	return ret;
}

static int write_part(struct report *p, const struct uft_export *format, struct uft_stream *st, const char *path)
{
	struct uft_error err = {""};
	int ret;

	pthread_mutex_lock(&writing);
	ret = format->write(st, path, NULL, &err);
	pthread_mutex_unlock(&writing);
	return ret && err.text[0] ? fail(p, ret, err.text) : ret;
}

int report_export(struct report *p)
{
	const struct uft_export *format = uft_exports;
	struct report_sources from = {.p = p};
	const char *tmp = getenv("TMPDIR");
	const char *suffix;
	char dir[512], path[600];
	off_t bytes;
	int ret;

	while (format->name && strcmp(format->name, p->q.text))
		format++;
	if (!format->name)
		return fail(p, -EINVAL, "there is no such format");
	if (format->takes & UFT_EXPORT_DIRECTORY)
		return fail(p, -EINVAL, "this format is a directory of files: use uft export");
	suffix = format->suffix ? format->suffix : ".dat";
	if (snprintf(dir, sizeof(dir), "%s/uft-view-XXXXXX", tmp && *tmp ? tmp : "/tmp") >= (int)sizeof(dir) ||
	    !mkdtemp(dir))
		return fail(p, -EIO, "cannot make a directory for the export in TMPDIR");
	snprintf(path, sizeof(path), "%s/export%s", dir, suffix);
	ret = report_next(&from);
	if (ret > 0)
		ret = write_part(p, format, from.st, path);
	report_end(&from);
	p->fd = ret ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (!ret && p->fd < 0)
		ret = -errno;
	unlink(path);
	rmdir(dir);
	if (ret)
		return ret;
	bytes = lseek(p->fd, 0, SEEK_END);
	json_raw(&p->answer, "{\"state\":\"done\"");
	json_key_u(&p->answer, "export", p->number);
	json_key_u(&p->answer, "bytes", bytes > 0 ? (uint64_t)bytes : 0);
	json_key_str(&p->answer, "suffix", suffix);
	json_raw(&p->answer, "}");
	return p->answer.err;
}
