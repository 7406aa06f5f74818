/* SPDX-License-Identifier: MIT */
/*
 * hist_map.h - the map of a histogram: keys of a fixed size to elements of 64-bit words, in the caller's memory
 *
 * The geometry is in struct uft_hist_map, of which each user has its own; the memory holds no size and no pointer. So a
 * writer of the memory cannot lead a reader astray: a slot that names an element beyond the last counts as empty, and a
 * key, a hash or a sum may be any number.
 *
 * No function allocates, locks or calls libc: any number of threads, and of processes that share the memory, may update
 * while others read. Only uft_hist_map_clear() removes elements; none is ever moved. The map is exact: a key that finds
 * no free element counts as dropped, and every update is a hit or a drop.
 *
 * Layout of the memory: the header, 2 * elements slots (the hash of a key, its element), the elements. The hash is Bob
 * Jenkins' lookup3; slots are tried in their order.
 *
 * Context: probe.
 */
#ifndef UFT_PROGRAM_HIST_MAP_H
#define UFT_PROGRAM_HIST_MAP_H

#include <stddef.h>
#include <stdint.h>

#define UFT_HIST_BITS_MIN	7u
#define UFT_HIST_BITS_MAX	17u

struct uft_hist_memory {
	uint32_t used, pad;		/* atomic: elements handed out; may count beyond their number */
	uint64_t hits, drops;		/* atomic */
	/* follows: struct uft_hist_slot[2 << bits], then elements */
};

struct uft_hist_slot { uint32_t hash, element; };	/* atomic both; element: + 1; all bits: none was left for it */

struct uft_hist_map {
	struct uft_hist_memory *memory;	/* zeroes at first, uft_hist_map_bytes() of them */
	uint32_t bits;			/* 1 << bits elements */
	uint32_t key_words;		/* the first of each element's words are its key */
	uint32_t words;			/* of an element */
};

size_t uft_hist_map_bytes(uint32_t bits, uint32_t words);
/*
 * Finds or makes the element of a key (*is_new: made), and counts a hit. NULL: dropped, counted. Finds an element that
 * another thread makes when its key is complete.
 */
uint64_t *uft_hist_map_insert(const struct uft_hist_map *map, const uint64_t *key, int *is_new);
/* the same, without counting a hit or a drop */
uint64_t *uft_hist_map_element(const struct uft_hist_map *map, const uint64_t *key, int *is_new);
uint64_t *uft_hist_map_find(const struct uft_hist_map *map, const uint64_t *key);	/* NULL: none */
/* Returns the next element in the slots' order, from slot *at on; NULL: no more. */
uint64_t *uft_hist_map_next(const struct uft_hist_map *map, uint32_t *at);
uint32_t uft_hist_map_index(const struct uft_hist_map *map, const uint64_t *element);	/* below 1 << bits */
/* The caller ensures that no thread updates the map meanwhile. */
void uft_hist_map_clear(const struct uft_hist_map *map);

static inline void uft_hist_add(uint64_t *word, uint64_t v)
{
	__atomic_fetch_add(word, v, __ATOMIC_RELAXED);
}

static inline uint64_t uft_hist_read(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

#endif
