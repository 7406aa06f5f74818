/* SPDX-License-Identifier: MIT */
/*
 * recorded.h - the files that a recording names, opened if they are still the recorded ones
 *
 * A recording may be hostile. So the cost of its file names is bounded: files that are missing or different, memory,
 * and time. Size and time of a file without a build-id are compared before it is read. Context: control, any thread.
 */
#ifndef UFT_SYMBOL_RECORDED_H
#define UFT_SYMBOL_RECORDED_H

#include <stdint.h>

#include "symbol/object.h"

#define RECORDED_MAX_MISSES	64u
#define RECORDED_MAX_BYTES	(512ull << 20)	/* copies of files that other users can change, and names */
#define RECORDED_MAX_MS		10000u		/* from the first name to the last; one file may take longer */

/* The part of the bounds that one recording has used. Begins as zeros. */
struct recorded_files { unsigned misses; uint64_t bytes, begin_ms; };

/*
 * Opens the file of @obj, which a recording describes. 0; -ENOENT: the file is missing, -ESTALE: it is a different one,
 * -EDQUOT: a bound is reached; -ENOMEM.
 */
int recorded_open(struct recorded_files *r, const struct uft_object *obj, struct uft_object **real);
/* Charges @real, which the caller keeps with its names. */
void recorded_keep(struct recorded_files *r, const struct uft_object *real);

#endif
