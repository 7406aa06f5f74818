/* SPDX-License-Identifier: MIT */
/*
 * output.h - what a stream becomes: one file per form
 *
 * A new export is one file here and one row in uft_exports[]. All writers take a stream and a FILE or
 * path, return 0 or a negative errno, and never print to stderr themselves. Context: control.
 */
#ifndef UFT_OUTPUT_OUTPUT_H
#define UFT_OUTPUT_OUTPUT_H

#include <stdio.h>

#include "stream/stream.h"

/* The kernel's `trace` text for both tracers, header included. */
int uft_output_text(struct uft_stream *st, FILE *out, int colour);

/* One row per function: calls, total, self, avg, min, max, p50, p99. */
enum uft_profile_sort { UFT_SORT_TOTAL, UFT_SORT_SELF, UFT_SORT_CALLS, UFT_SORT_AVG, UFT_SORT_MAX, UFT_SORT_NAME };
int uft_output_profile(struct uft_stream *st, FILE *out, enum uft_profile_sort sort, size_t limit);

/* What functions were dropped and how many of their calls there are and, estimated, are not. Reads all of @st. */
int uft_output_drops(struct uft_stream *st, FILE *out);

/* One comment line if the recorder was killed and the rest was saved without it. */
int uft_output_rescued(struct uft_stream *st, FILE *out);

/* `key: value` a line. */
int uft_output_stat(struct uft_stream *st, FILE *out);

struct uft_export {
	const char *name;	/* `uft export --format` */
	const char *suffix;	/* -o name ending that selects it */
	const char *doc;
	int (*write)(struct uft_stream *st, const char *path, struct uft_error *err);
};
extern const struct uft_export uft_exports[];	/* ends with name NULL: trace.dat v7 zstd, v7 plain, v6 */
const struct uft_export *uft_export_find(const char *name);	/* by name or file name; NULL none */

#endif
