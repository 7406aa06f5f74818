/* SPDX-License-Identifier: MIT */
/*
 * segments.h - find the range that holds at an address among ranges that may overlap
 *
 * Making it takes n log n steps and a search log n, for any ranges: those of a recording can all be the same.
 */
#ifndef UFT_SYMBOL_SEGMENTS_H
#define UFT_SYMBOL_SEGMENTS_H

#include <stddef.h>
#include <stdint.h>

struct segment_range { uint64_t from, to; uint32_t owner; };	/* [from, to) */
struct segments { uint64_t *from; uint32_t *owner; size_t n; };	/* each ends at the next one's from */

#define SEGMENT_NONE	UINT32_MAX

/* Where ranges overlap the earlier one in the array holds. *s must be new. 0, or -ENOMEM. */
int segments_make(struct segments *s, const struct segment_range *range, size_t n);
void segments_free(struct segments *s);
/* Returns the owner of the range that holds at @at; SEGMENT_NONE. */
uint32_t segments_find(const struct segments *s, uint64_t at);

#endif
