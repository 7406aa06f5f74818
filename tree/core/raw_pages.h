/* SPDX-License-Identifier: MIT */
/* raw_pages.h - the pages of one cpu, as raw_pages.c keeps them */
#ifndef UFT_TREE_RAW_PAGES_H
#define UFT_TREE_RAW_PAGES_H

#include "output/krecord.h"
#include "tree/core/tree_internal.h"

#define BATCH		16
/* pages that a batch can fill: a marker may need one of its own, and no event completes two */
#define MAX_READY	BATCH /* GUARD(marker_pages, 4) */

struct raw_cpu {
	struct uft_kbuf kbuf;
	unsigned nready;
	uint32_t bytes;		/* of a page */
	uint8_t *ready;		/* MAX_READY pages; behind them the one that is filled */
	uint64_t pages[];
};

/* The pages of @cpu, made if there are none. NULL: no memory. t->pipe_lock held. */
struct raw_cpu *raw_cpu_of(const struct instance *in, struct raw_cpu **raw, uint32_t cpu);

#endif
