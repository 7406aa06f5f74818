/* SPDX-License-Identifier: MIT */
/*
 * segments.h - find the range that counts at an address among ranges that may overlap
 *
 * Made once in n log n steps, asked in log n, whatever the ranges are: a recording can have them all the same.
 */
#ifndef UFT_SYMBOL_SEGMENTS_H
#define UFT_SYMBOL_SEGMENTS_H

#include <stddef.h>
#include <stdint.h>

struct segment_range { uint64_t from, to; uint32_t owner; };	/* [from, to) */
struct segments { uint64_t *from; uint32_t *owner; size_t n; };	/* each up to the next one's from */

#define SEGMENT_NONE	UINT32_MAX

/* Of two ranges that have a place the earlier in the array counts. Replaces nothing: *s is new. 0, or -ENOMEM. */
int segments_make(struct segments *s, const struct segment_range *range, size_t n);
void segments_free(struct segments *s);
/* The owner of the range that counts at @at, SEGMENT_NONE. */
uint32_t segments_find(const struct segments *s, uint64_t at);

#endif
