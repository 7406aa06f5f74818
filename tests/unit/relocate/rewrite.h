/* SPDX-License-Identifier: MIT */
/*
 * rewrite.h - a library of this process, rewritten by a plan of relocate/
 *
 * What the runtime does in a target, in the smallest form: each slot counts and goes on to the moved code. One thread,
 * and nothing that is being rewritten is called meanwhile: plain stores and raw system calls only.
 */
#ifndef REWRITE_H
#define REWRITE_H

#include "control/relocate/entry.h"

struct rewrite {
	struct uft_object *obj;
	struct entries entries;
	uint64_t bias;
	uint8_t *mem;			/* slots, REWRITE_SLOT bytes each, then counters */
	size_t bytes;
	uint64_t *count;
	struct uft_code *code;		/* by entry; addr 0: not rewritten */
	size_t napplied;
};
#define REWRITE_SLOT	128u

int rewrite_open(struct rewrite *r, void *dlopen_handle);
int rewrite_plan(struct rewrite *r);
int rewrite_apply(struct rewrite *r);
void rewrite_undo(struct rewrite *r);
int rewrite_is_done(const struct rewrite *r, const void *fn);	/* always, but for a jump that found no place */
uint64_t rewrite_hits(const struct rewrite *r, const void *fn);
void rewrite_close(struct rewrite *r);

#endif
