/* SPDX-License-Identifier: MIT */
/* export.h - the formats of uft_exports[] but trace.dat, and the functions that they share */
#ifndef UFT_OUTPUT_EXPORT_EXPORT_H
#define UFT_OUTPUT_EXPORT_EXPORT_H

#include "output/output.h"

struct agg;

int uft_export_folded(struct uft_stream *st, const char *path, const struct uft_export_opts *o, struct uft_error *err);
int uft_export_svg(struct uft_stream *st, const char *path, const struct uft_export_opts *o, struct uft_error *err);
int uft_export_chrome(struct uft_stream *st, const char *path, const struct uft_export_opts *o, struct uft_error *err);
int uft_export_speedscope(struct uft_stream *st, const char *path, const struct uft_export_opts *o,
			  struct uft_error *err);
int uft_export_perfetto(struct uft_stream *st, const char *path, const struct uft_export_opts *o,
			struct uft_error *err);
int uft_export_pprof(struct uft_stream *st, const char *path, const struct uft_export_opts *o, struct uft_error *err);
int uft_export_ctf(struct uft_stream *st, const char *path, const struct uft_export_opts *o, struct uft_error *err);
int uft_export_sqlite(struct uft_stream *st, const char *path, const struct uft_export_opts *o, struct uft_error *err);
int uft_export_parquet(struct uft_stream *st, const char *path, const struct uft_export_opts *o, struct uft_error *err);
int uft_export_parquet_events(struct uft_stream *st, const char *path, const struct uft_export_opts *o,
			      struct uft_error *err);
int uft_export_firefox(struct uft_stream *st, const char *path, const struct uft_export_opts *o, struct uft_error *err);
int uft_export_otlp(struct uft_stream *st, const char *path, const struct uft_export_opts *o, struct uft_error *err);

/*
 * A format of call paths (folded.c): adds up @st, with lines and inlined functions as @o says, and lets @put
 * write it. 0 or a negative errno, with a sentence in @err.
 */
int export_paths(struct uft_stream *st, const char *path, const struct uft_export_opts *o, struct uft_error *err,
		 int (*put)(struct uft_stream *st, struct agg *a, FILE *out));

#endif
