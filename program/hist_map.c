/* SPDX-License-Identifier: MIT */
/*
 * hist_map.c - see hist_map.h
 *
 * An insert claims the key's first free slot by writing its hash; the number of the element follows when the element's
 * key is complete. Two threads that insert the same key meet at the same slot: the second one finds the hash, and waits
 * a bounded time for the element. If the first one never continues (the second is a signal handler that interrupted it,
 * or its process was killed), the second one takes another slot: then the key has two elements, and two entries of the
 * table. A claimed slot without an element (none was left) stays claimed, because another key may have been inserted
 * behind it meanwhile, and lookups must pass the slot to find that key.
 */
#include "program/hist_map.h"

#define SPINS	1000u
#define NO_ELEMENT	UINT32_MAX	/* of a slot: none was left */

static uint32_t rotate(uint32_t v, unsigned n)
{
	return v << n | v >> (32 - n);
}

/* lookup3 of whole words: 8 bytes each, the rest as its tail. */
static uint32_t hash_of(const uint64_t *key, uint32_t words)
{
	const uint32_t *k = (const uint32_t *)(const void *)key;
	uint32_t n = 2 * words, a, b, c;

	a = b = c = 0xdeadbeefu + 4 * n;
	for (; n > 3; n -= 3, k += 3) {
		a += k[0];
		b += k[1];
		c += k[2];
		a = (a - c) ^ rotate(c, 4);
		c += b;
		b = (b - a) ^ rotate(a, 6);
		a += c;
		c = (c - b) ^ rotate(b, 8);
		b += a;
		a = (a - c) ^ rotate(c, 16);
		c += b;
		b = (b - a) ^ rotate(a, 19);
		a += c;
		c = (c - b) ^ rotate(b, 4);
		b += a;
	}
	c += n > 2 ? k[2] : 0;
	b += n > 1 ? k[1] : 0;
	a += k[0];
	c = (c ^ b) - rotate(b, 14);
	a = (a ^ c) - rotate(c, 11);
	b = (b ^ a) - rotate(a, 25);
	c = (c ^ b) - rotate(b, 16);
	a = (a ^ c) - rotate(c, 4);
	b = (b ^ a) - rotate(a, 14);
	c = (c ^ b) - rotate(b, 24);
	return c ? c : 1;
}

static struct uft_hist_slot *slots_of(const struct uft_hist_map *map)
{
	return (struct uft_hist_slot *)(uintptr_t)(map->memory + 1);
}

static uint64_t *element_at(const struct uft_hist_map *map, uint32_t i)
{
	return (uint64_t *)(void *)(slots_of(map) + (2ull << map->bits)) + (uint64_t)i * map->words;
}

size_t uft_hist_map_bytes(uint32_t bits, uint32_t words)
{
	return sizeof(struct uft_hist_memory) + ((size_t)2 << bits) * sizeof(struct uft_hist_slot) +
	       ((size_t)1 << bits) * words * 8;
}

static int is_key(const struct uft_hist_map *map, const uint64_t *element, const uint64_t *key)
{
	for (uint32_t i = 0; i < map->key_words; i++)
		if (element[i] != key[i])
			return 0;
	return 1;
}

/* The element whose number is in a slot; NULL: none, or none of the map's. */
static uint64_t *element_of(const struct uft_hist_map *map, uint32_t e)
{
	return e - 1 < 1u << map->bits /* GUARD(hist_map_element, e && e != NO_ELEMENT) */ ? element_at(map, e - 1) :
		NULL;
}

/* Waits for the element's number in a slot with the key's hash; 0: it does not come. */
static uint32_t await(const struct uft_hist_slot *s)
{
	uint32_t e = __atomic_load_n(&s->element, __ATOMIC_ACQUIRE);

	for (unsigned i = 0; !e && i < SPINS; i++)
		e = __atomic_load_n(&s->element, __ATOMIC_ACQUIRE);
	return e;
}

static uint64_t *fill(const struct uft_hist_map *map, struct uft_hist_slot *s, const uint64_t *key)
{
	uint32_t i = __atomic_fetch_add(&map->memory->used, 1, __ATOMIC_RELAXED);
	uint64_t *element;

	if (i >= 1u << map->bits) {
		/* GUARD(slot_stays_claimed, __atomic_store_n(&s->hash, 0, __ATOMIC_RELAXED)) */
		__atomic_store_n(&s->element, NO_ELEMENT, __ATOMIC_RELEASE);
		return NULL;
	}
	element = element_at(map, i);
	for (uint32_t w = 0; w < map->key_words; w++)
		element[w] = key[w];
	__atomic_store_n(&s->element, i + 1, __ATOMIC_RELEASE);
	return element;
}

/* @make 0: only looks the key up. *is_new becomes 1 when a slot was claimed. */
static uint64_t *look_up(const struct uft_hist_map *map, const uint64_t *key, int make, int *is_new)
{
	uint32_t hash = hash_of(key, map->key_words), n = 2u << map->bits, at = hash >> (31 - map->bits);
	struct uft_hist_slot *slot = slots_of(map);

	for (uint32_t tried = 0; tried < n; tried++, at++) {
		struct uft_hist_slot *s = &slot[at & (n - 1)];
		uint32_t there = __atomic_load_n(&s->hash, __ATOMIC_RELAXED);
		uint64_t *element;

		if (!there && !make)
			return NULL;
		if (!there && __atomic_load_n(&map->memory->used, __ATOMIC_RELAXED) >= 1u << map->bits)
			return NULL;
		if (!there &&
		    __atomic_compare_exchange_n(&s->hash, &there, hash, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
			*is_new = 1;
			return fill(map, s, key);
		}
		if (there != hash)
			continue;
		element = element_of(map, await(s));
		if (element && is_key(map, element, key) /* GUARD(hist_map_key) */)
			return element;
	}
	return NULL;
}

uint64_t *uft_hist_map_element(const struct uft_hist_map *map, const uint64_t *key, int *is_new)
{
	*is_new = 0;
	return look_up(map, key, 1, is_new);
}

uint64_t *uft_hist_map_insert(const struct uft_hist_map *map, const uint64_t *key, int *is_new)
{
	uint64_t *element = uft_hist_map_element(map, key, is_new);

	uft_hist_add(element ? &map->memory->hits : &map->memory->drops, 1);
	return element;
}

uint64_t *uft_hist_map_find(const struct uft_hist_map *map, const uint64_t *key)
{
	return look_up(map, key, 0, NULL);
}

uint64_t *uft_hist_map_next(const struct uft_hist_map *map, uint32_t *at)
{
	for (; *at < 2u << map->bits; (*at)++) {
		uint64_t *element = element_of(map, __atomic_load_n(&slots_of(map)[*at].element, __ATOMIC_ACQUIRE));

		if (element) {
			(*at)++;
			return element;
		}
	}
	return NULL;
}

uint32_t uft_hist_map_index(const struct uft_hist_map *map, const uint64_t *element)
{
	return (uint32_t)((uint64_t)(element - element_at(map, 0)) / map->words);
}

void uft_hist_map_clear(const struct uft_hist_map *map)
{
	struct uft_hist_memory *m = map->memory;
	uint32_t used = m->used < 1u << map->bits ? m->used : 1u << map->bits;

	for (uint64_t i = 0; i < (uint64_t)used * map->words; i++)
		element_at(map, 0)[i] = 0;
	for (uint32_t i = 0; i < 2u << map->bits; i++)
		slots_of(map)[i] = (struct uft_hist_slot){ 0, 0 };
	*m = (struct uft_hist_memory){ .used = 0 };
}
