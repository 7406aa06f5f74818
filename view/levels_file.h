/* SPDX-License-Identifier: MIT */
/*
 * levels_file.h - the first view of a recording, kept beside it as NAME.levels
 *
 * Reading it replaces a pass over all events. Layout: levels_file.c. Context: control, the worker.
 */
#ifndef UFT_VIEW_LEVELS_FILE_H
#define UFT_VIEW_LEVELS_FILE_H

#include "stream/file/sidecar.h"
#include "view/lod.h"

struct levels {
	struct lod *lod;
	uint64_t matches, first_ns, last_ns; /* first_ns: UINT64_MAX, there is no event */
};

/* Writes the file. 0; or a negative errno, and no file is left. */
int levels_save(const char *path, const struct rd_file *of, const struct levels *v, struct names *names,
		struct rows *rows);
/*
 * Reads the file. 0: *out, whose lod belongs to the caller. -ENOENT: there is no file for the recording in its present
 * state; -EBADMSG: the file is damaged; -ENOMEM.
 */
int levels_open(const char *path, const struct rd_file *of, struct names *names, struct rows *rows, struct levels *out);

/* ---- The file: all numbers are little endian ---- */
#define LEVELS_MAGIC 0x364c56454c544655ull /* "UFTLEVL6" */

struct levels_head {
	uint64_t magic;
	struct sidecar_mark of;
	uint64_t matches, first_ns, last_ns;
	uint64_t described, spans; /* bytes of each */
	uint64_t described_sum, spans_sum;
	uint64_t sum; /* of this head so far */
};
_Static_assert(sizeof(struct levels_head) == 96 && sizeof(struct lod_span) == 24, "file format");

#endif
