/* SPDX-License-Identifier: MIT */
/* internal.h - between the compiler runner (compile.c), the object's inspection and the modes (cflags.c) */
#ifndef UFT_TOOLS_CFLAGS_INTERNAL_H
#define UFT_TOOLS_CFLAGS_INTERNAL_H

#include <stddef.h>

#include "tools/cflags/cflags.h"

/* A scratch directory with the probe's source in it. */
struct cc_dir {
	char path[64];
	char object[80], source[80];
};

int cc_dir_make(struct cc_dir *d, const char *source, struct uft_error *err);
void cc_dir_remove(struct cc_dir *d);

/*
 * Runs @cc, @flags (words divided by spaces) and, if @d is given, the arguments that compile its source.
 * stdout and stderr go to @out, up to @size bytes. Returns the exit status, or a negative errno.
 */
int cc_run(const char *cc, const char *flags, const struct cc_dir *d, char *out, size_t size);

#endif
