/* SPDX-License-Identifier: MIT */
/*
 * table.h - memory for tables of many functions, from malloc(), whose pages come by one call instead of by a fault each
 *
 * parse_bound.h has the tables whose size comes from a file; their pages may come so, too.
 */
#ifndef UFT_SYMBOL_TABLE_H
#define UFT_SYMBOL_TABLE_H

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23		/* Linux 5.14; without effect before */
#endif
#define TABLE_PAGE	((uintptr_t)4096)

/* Allocates the pages of memory that is soon written as a whole. Pages that are there stay as they are. */
static inline void table_populate(void *at, size_t bytes)
{
	uintptr_t lo = (uintptr_t)at & ~(TABLE_PAGE - 1), hi = ((uintptr_t)at + bytes) & ~(TABLE_PAGE - 1);

	if (at && hi > lo + 4 * TABLE_PAGE)
		madvise((void *)lo, hi - lo, MADV_POPULATE_WRITE);
}

static inline void *table_alloc(size_t bytes)
{
	void *at = malloc(bytes);

	table_populate(at, bytes);
	return at;
}

#endif
