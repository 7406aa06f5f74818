/* SPDX-License-Identifier: MIT */
/* input.c - see input.h */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/input.h"
#include "stream/decode/seek.h"

/* The first bytes of other recorders' files. */
static const struct {
	const char *magic;
	size_t len;
	const char *what;
} others[] = {
	{ "PERFILE2", 8, "a perf.data file: read it with perf report -i" },
	{ "\x7f" "ELF", 4, "a program, not a recording: record it with uft record" },
};

/* Refuses files that cannot be a recording, with advice; the stream checks all others. */
static int check_file(const char *path, const char *given, struct uft_error *err)
{
	char head[16] = "";
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int ret = fd < 0 ? -errno : 0, is_plain;
	ssize_t n;

	if (ret == -ENOENT && !given)
		return uft_fail(err, ret, "there is no %s here: make one with uft record PROGRAM, or name a file",
				path);
	if (ret == -ENOENT && !strcmp(path, "-"))
		return uft_fail(err, ret, "a recording is not read from standard input: name its file");
	if (ret)
		return uft_fail(err, ret, "cannot open %s: %s", path, strerror(-ret));
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		close(fd);
		return uft_fail(err, -EISDIR, "%s is a directory, not a recording", path);
	}
	is_plain = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	n = read(fd, head, sizeof(head));
	close(fd);
	if (n == 0 && is_plain)
		return uft_fail(err, -ENODATA,
				"%s is empty: nothing was recorded into it, or its recorder was killed as it started "
				"(record again)", path);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (n >= (ssize_t)others[i].len && memcmp(head, others[i].magic, others[i].len) == 0)
			return uft_fail(err, -EPROTONOSUPPORT, "%s is %s %s", path, others[i].what, path);
	return 0;
}

int cmd_input_check(const char *path, struct uft_error *err)
{
	return check_file(path ? path : CMD_DEFAULT_FILE, path, err);
}

/* Of the recording that was opened last, and what has changed first, in words. */
static struct {
	struct uft_extent extent;
	struct uft_error change;
} input;

/*
 * Refuses a recording that has lost blocks since it was opened last: report opens it again and again to follow it. Less
 * bytes are no change, since the recorder cuts off what it could not write as a whole.
 */
static int check_again(const char *path, const struct uft_stream *st, struct uft_error *err)
{
	struct uft_extent last = input.extent, now = uft_stream_extent(st);

	input.extent = now;
	if (now.dev == last.dev && now.ino == last.ino && now.bytes < last.bytes)
		return uft_fail(err, -ESTALE,
				"%s was cut off while it was read (keep others from writing to it, and try again)",
				path);
	return 0;
}

int cmd_input_open(const char *path, const struct uft_select *sel, struct uft_stream **out, struct uft_error *err)
{
	const char *name = path ? path : CMD_DEFAULT_FILE;
	int ret = cmd_input_check(path, err);

	ret = ret ? ret : uft_stream_open(name, sel, out, err);
	if (ret)
		return ret;
	ret = check_again(name, *out, err);
	if (ret) {
		uft_stream_close(*out);
		*out = NULL;
	}
	return ret;
}

int cmd_input_close(struct uft_stream *st)
{
	int ret = !st ? 0 : uft_stream_check_file(st, input.change.text[0] ? NULL : &input.change);

	uft_stream_close(st);
	return ret;
}

int cmd_input_end(const char *command, int status)
{
	if (status || !input.change.text[0])
		return status;
	fflush(stdout);
	return cmd_fail(command, "%s", input.change.text);
}

#define SEEK_WORTH	(8u << 20)	/* bytes that are decoded before an index would be read */

void cmd_input_seek(const char *path, const struct uft_select *sel, struct uft_stream *st)
{
	const char *name = path ? path : CMD_DEFAULT_FILE;
	struct uft_index *ix;
	struct stat s;
	int ret;

	if ((!sel->from_ns && !sel->to_ns) || stat(name, &s) || s.st_size < SEEK_WORTH)
		return;
	ret = uft_index_open(name, st, &ix);
	if (ret && sel->from_ns) {
		ret = uft_index_make(name, &ix, NULL);
		if (!ret)
			uft_index_save(ix, name);
	}
	if (ret)
		return;
	uft_stream_seek_selection(st, ix);
	uft_index_close(ix);
}
