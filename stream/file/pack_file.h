/* SPDX-License-Identifier: MIT */
/* pack_file.h - pack the ring data of a recording (uft_file.h); other blocks stay as they are */
#ifndef UFT_STREAM_PACK_FILE_H
#define UFT_STREAM_PACK_FILE_H

#include <stdint.h>
#include <stdio.h>

#include "symbol/error.h"

struct uft_pack {
	/* the result replaces the recording, so an incomplete recording is refused */
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
 * Packs each block of ring data alone, and copies a block that packing does not shorten. Unpacks each packed block and
 * compares it before it is written. Context: control. Returns 0 or a negative errno with a sentence in @err:
 * -EINVAL: no .uft recording; -EINTR: is_ended(); -EAGAIN: the recording grew or changed meanwhile;
 * with is_in_place -EBUSY: the recording has no end, -EBADMSG: it is damaged.
 */
int uft_pack_file(const char *path, FILE *out, struct uft_pack *pack, struct uft_error *err);

#endif
