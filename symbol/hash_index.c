/* SPDX-License-Identifier: MIT */
/* hash_index.c - see hash_index.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/hash_index.h"

#define LEAST_SLOTS	64u

static void put(struct hash_index *h, struct hash_slot s)
{
	uint32_t at = s.hash & (h->nslots - 1);

	while (h->slot[at].number)
		at = (at + 1) & (h->nslots - 1);
	h->slot[at] = s;
}

int hash_index_reserve(struct hash_index *h, uint32_t n)
{
	struct hash_index old = *h;

	if (2 * (uint64_t)n <= h->nslots)
		return 0;
	h->nslots = old.nslots ? old.nslots : LEAST_SLOTS;
	while (h->nslots < 2 * (uint64_t)n && h->nslots <= UINT32_MAX / 2)
		h->nslots *= 2;
	h->slot = h->nslots > old.nslots ? calloc(h->nslots, sizeof(*h->slot)) : NULL;
	if (!h->slot) {
		*h = old;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < old.nslots; i++)
		if (old.slot[i].number)
			put(h, old.slot[i]);
	free(old.slot);
	return 0;
}

int hash_index_add(struct hash_index *h, uint64_t hash, uint32_t number)
{
	if (hash_index_reserve(h, h->n + 1))
		return -ENOMEM;
	h->n++;
	put(h, (struct hash_slot){ (uint32_t)hash, number + 1 });
	return 0;
}

void hash_index_clear(struct hash_index *h)
{
	if (h->n)
		memset(h->slot, 0, h->nslots * sizeof(*h->slot));
	h->n = 0;
}

void hash_index_free(struct hash_index *h)
{
	free(h->slot);
	*h = (struct hash_index){ 0 };
}
