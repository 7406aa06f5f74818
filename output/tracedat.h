/* SPDX-License-Identifier: MIT */
/* tracedat.h - trace.dat, for export.c's table */
#ifndef UFT_OUTPUT_TRACEDAT_H
#define UFT_OUTPUT_TRACEDAT_H

#include "output/output.h"

int uft_tracedat_v6(struct uft_stream *st, const char *path, const struct uft_export_opts *o, struct uft_error *err);
int uft_tracedat_v7(struct uft_stream *st, const char *path, const struct uft_export_opts *o, struct uft_error *err);
int uft_tracedat_v7_zstd(struct uft_stream *st, const char *path, const struct uft_export_opts *o,
			 struct uft_error *err);

#endif
