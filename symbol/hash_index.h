/* SPDX-License-Identifier: MIT */
/*
 * hash_index.h - find elements of an array by the hash of a key
 *
 * The index holds the hash and the number of each element: open addressing, a power of two slots of which at most half
 * are used. So it grows without reading keys again, and compares keys only where hashes are equal. Keys from targets or
 * files are hashed by keyed_hash.h. An index of zeros is empty. Elements are never removed one by one.
 */
#ifndef UFT_SYMBOL_HASH_INDEX_H
#define UFT_SYMBOL_HASH_INDEX_H

#include <stdint.h>

#define HASH_NONE	UINT32_MAX

struct hash_index {
	struct hash_slot { uint32_t hash, number; } *slot;	/* the element's number + 1; 0: free */
	uint32_t nslots, n;
};

/*
 * HASH_FIND(i, index, hash, condition): the number of the first element with that hash for which @condition is true,
 * HASH_NONE if there is none. @condition is an expression of @i, a uint32_t that exists in it alone.
 */
#define HASH_FIND(i, index, hash_of_key, condition) \
	({ \
		const struct hash_index *hi_ = (index); \
		const uint32_t hash_ = (uint32_t)(hash_of_key); \
		uint32_t i, at_ = 0; \
		do \
			i = hash_index_next(hi_, hash_, &at_); \
		while (i != HASH_NONE && !(condition)); \
		i; \
	})

/* Returns the number of the next element with that hash, HASH_NONE behind the last one. @at: 0 for the first one. */
static inline uint32_t hash_index_next(const struct hash_index *h, uint32_t hash, uint32_t *at)
{
	while (*at < h->nslots) {
		const struct hash_slot *s = &h->slot[(hash + (*at)++) & (h->nslots - 1)];

		if (!s->number)
			return HASH_NONE;
		if (s->hash == hash)
			return s->number - 1;
	}
	return HASH_NONE;
}

/* Makes room for @n elements in all. 0 or -ENOMEM, which leaves the index as it was. */
int hash_index_reserve(struct hash_index *h, uint32_t n);
/* Adds an element. 0 or -ENOMEM, but never -ENOMEM after hash_index_reserve() made room. */
int hash_index_add(struct hash_index *h, uint64_t hash, uint32_t number);
/* Removes all elements, and keeps the room. */
void hash_index_clear(struct hash_index *h);
void hash_index_free(struct hash_index *h);

#endif
