/* SPDX-License-Identifier: MIT */
/*
 * sink.h - the output of an export: a new file that gets its name when it is whole
 *
 * The text is collected under another name beside @path, and renamed at the end: no half file ever has the
 * final name, and an older file stays until then. Anything but a regular file (a pipe, /dev/stdout) is
 * written directly. A format of several files gets a directory, in the same way. Context: control, one export
 * at a time.
 */
#ifndef UFT_OUTPUT_EXPORT_SINK_H
#define UFT_OUTPUT_EXPORT_SINK_H

#include <stdio.h>

#include "output/output.h"

struct export_sink {
	FILE *out;
	FILE *second;		/* of a directory: its other file; else NULL */
	const char *path;	/* as the user said it */
	char *final, *part;	/* part: the name meanwhile; NULL: written directly */
};

/* 0, or a negative errno with a sentence in @err. */
int export_sink_open(struct export_sink *s, const char *path, struct uft_error *err);
/* The same for a file that a library opens itself: s->part is its name, or s->path if there is none. s->out is NULL. */
int export_sink_reserve(struct export_sink *s, const char *path, struct uft_error *err);
/* Opens the two files of a directory that does not exist, or is empty: s->out and s->second. */
int export_sink_open_dir(struct export_sink *s, const char *path, const char *first, const char *second,
			 struct uft_error *err);
/* @ret: 0, or the error of the export: then no output is left. Returns @ret or a new error, with a sentence in @err. */
int export_sink_close(struct export_sink *s, int ret, struct uft_error *err);
/* The same at the end of an export of @st, which fails if the recording changed while it was read. */
int export_sink_finish(struct export_sink *s, const struct uft_stream *st, int ret, struct uft_error *err);
/* For a format whose readers take the file as one string of a browser: the largest size, and the refusal of more. */
uint64_t export_string_max(const struct uft_export_opts *o);	/* @o NULL: none */
int export_string_too_long(uint64_t max, struct uft_error *err);	/* -EFBIG with the remedy */
/* Checks the length of all that was written so far. 0, -EFBIG with the remedy, or -errno. */
int export_sink_check_string(struct export_sink *s, uint64_t max, struct uft_error *err);
/*
 * For a format that has other readers, too: writes the file, and calls o->warn() if it is too long for a browser. 0 or
 * -errno.
 */
int export_sink_warn_string(struct export_sink *s, const struct uft_export_opts *o);
/* Removes the unfinished output. For signal handlers. */
void export_sink_discard(void);

#endif
