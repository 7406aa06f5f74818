/* SPDX-License-Identifier: MIT */
/* pack_file.h - a recording with its ring data packed (uft_file.h); all else is as it was */
#ifndef UFT_STREAM_PACK_FILE_H
#define UFT_STREAM_PACK_FILE_H

#include <stdint.h>
#include <stdio.h>

#include "symbol/error.h"

struct uft_pack {
	/* the result takes the place of the recording: one that is not whole is refused */
	int is_in_place;
	int (*is_ended)(void);		/* called between blocks, 1: end with -EINTR; NULL: never */
	volatile uint64_t done;		/* bytes of the recording that were read so far, for a signal handler, too */
	uint64_t bytes;			/* of the recording */
	uint64_t packed;		/* bytes of the result */
	uint64_t damaged;		/* bytes of the recording that made no sense and are left out */
};

/**
 * uft_pack_file - write the recording at @path to @out, packed
 *
 * Each block of ring data is packed alone, and stays as it is where that is shorter. What was packed is unpacked
 * again and compared before it is written. Context: control. Returns 0 or a negative errno with a sentence in @err:
 * -EINVAL: no .uft recording; -EINTR: is_ended();
 * -EAGAIN: it grew or changed meanwhile; with is_in_place -EBUSY: no end, -EBADMSG: damage.
 */
int uft_pack_file(const char *path, FILE *out, struct uft_pack *pack, struct uft_error *err);

#endif
