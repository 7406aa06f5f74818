/* SPDX-License-Identifier: MIT */
/*
 * recorded.h - the files that a recording names, opened if they still are what was recorded
 *
 * Anybody can have written the recording. So what its names cost has a bound: files that are not there or are other
 * ones, memory, and time. Size and time of a file without a build-id are compared before it is read. Context:
 * control, any thread.
 */
#ifndef UFT_SYMBOL_RECORDED_H
#define UFT_SYMBOL_RECORDED_H

#include <stdint.h>

#include "symbol/object.h"

#define RECORDED_MAX_MISSES	64u
#define RECORDED_MAX_BYTES	(512ull << 20)	/* copies of files that others can change, and names */
#define RECORDED_MAX_MS		10000u		/* from one name to the last; one file may take longer */

/* What one recording has used up. Begins as zeros. */
struct recorded_files { unsigned misses; uint64_t bytes, begin_ms; };

/*
 * Opens the file of @obj, which a recording describes. 0; -ENOENT: it is not here, -ESTALE: another one is, -EDQUOT:
 * the bound is reached.
 */
int recorded_open(struct recorded_files *r, const struct uft_object *obj, struct uft_object **real);
/* @real is kept, with its names. */
void recorded_keep(struct recorded_files *r, const struct uft_object *real);

#endif
