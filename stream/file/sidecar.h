/* SPDX-License-Identifier: MIT */
/*
 * sidecar.h - files beside a recording that a reader makes and can make again: NAME.index, NAME.levels
 *
 * Each begins with a mark of its recording. A file with another mark, or of another user, is ignored, and so is one of
 * which nearly nothing was ever written: its size costs its owner nothing. A file is written under another name and
 * renamed, so that a reader sees all of it or nothing. Context: control.
 */
#ifndef UFT_STREAM_SIDECAR_H
#define UFT_STREAM_SIDECAR_H

#include <stdint.h>
#include <stdio.h>

struct rd_file;

struct sidecar_mark {
	uint64_t size, mtime_ns, head_sum; /* of the recording */
};
void sidecar_mark(const struct rd_file *of, struct sidecar_mark *out);
int sidecar_has_mark(const struct rd_file *of, const struct sidecar_mark *m);

struct sidecar {
	FILE *f; /* to be written */
	char *name, *part;
};
/* Begins PATH@suffix. 0 or a negative errno. */
int sidecar_begin(const char *path, const char *suffix, struct sidecar *out);
/* Ends it. If @ret, the caller's result so far, is an error, removes it instead. 0 or a negative errno. */
int sidecar_end(struct sidecar *s, int ret);

/* Returns a descriptor, and sets *@size; -ENOENT: no file that may be used; another negative errno. */
int sidecar_open(const char *path, const char *suffix, const struct rd_file *of, uint64_t *size);

#endif
