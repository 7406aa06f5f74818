/* SPDX-License-Identifier: MIT */
/*
 * map_interrupted.c - the map of a histogram when an insertion is interrupted between its slot and its element
 *
 * hist_map.c is compiled here with a call at that place, which inserts another key as a signal handler or a second thread
 * would. What four threads of map.c meet by chance, in some thousand rounds, happens here each time.
 */
#include <stdio.h>
#include <stdlib.h>

#include "program/hist_map.h"

static void interrupt_here(void);
#define __atomic_fetch_add(p, n, order)	(interrupt_here(), __sync_fetch_and_add(p, n))
#include "program/hist_map.c"
#undef __atomic_fetch_add

#define BITS	3u
#define ALL	(1u << BITS)

static struct uft_hist_map map = { .bits = BITS, .key_words = 1, .words = 2 };
static uint64_t updates;
static uint64_t inner_key;	/* what the interruption inserts; 0: nothing */
static uint64_t *inner;		/* where that is */

static void check(int is_so, const char *what)
{
	if (!is_so) {
		fprintf(stderr, "map_interrupted: %s\n", what);
		exit(1);
	}
}

static uint64_t *insert(uint64_t key)
{
	int is_new;

	updates++;
	return uft_hist_map_insert(&map, &key, &is_new);
}

static void interrupt_here(void)
{
	uint64_t key = inner_key;

	inner_key = 0;
	if (key)
		inner = insert(key);
}

/* The first key above @after that begins at this slot. */
static uint64_t key_at(uint32_t slot, uint64_t after)
{
	uint64_t key = after;

	do
		key++;
	while (hash_of(&key, 1) >> (31 - BITS) != slot);
	return key;
}

/* All elements but @left are taken, by keys that begin at slots of their own: neither 0 nor 1. */
static void begin(uint32_t left)
{
	uft_hist_map_clear(&map);
	updates = 0;
	for (uint32_t slot = 2; slot < 2 + ALL - left; slot++)
		check(insert(key_at(slot, 0)) != NULL, "no room for the first keys");
}

static void check_counts(uint64_t drops)
{
	check(map.memory->drops == drops, "drops are not the updates without an element");
	check(map.memory->hits + map.memory->drops == updates, "hits and drops are not the updates");
}

int main(void)
{
	uint64_t a = key_at(0, 0), b = key_at(0, a), *at;

	map.memory = calloc(1, uft_hist_map_bytes(BITS, 2));
	check(map.memory != NULL, "no memory");

	/* The other key goes past the claimed slot and takes the last element. */
	begin(1);
	inner_key = b;
	check(insert(a) == NULL, "a key has an element beyond the last");
	check(inner != NULL, "the other key found no element");
	check(uft_hist_map_find(&map, &b) == inner, "the other key is not found behind a slot without an element");
	check(insert(b) == inner, "a further update of the other key is not its element's");
	check(insert(a) == NULL && uft_hist_map_find(&map, &a) == NULL, "a key without an element has one");
	check_counts(2);

	/* It is the same key: it has two elements, which hold all updates. */
	begin(2);
	inner_key = a;
	at = insert(a);
	check(at && inner && at != inner && at[0] == a && inner[0] == a,
	      "the key that interrupts itself has not two elements");
	check(insert(a) == at || insert(a) == inner, "a further update is in neither of them");
	check_counts(0);

	/* The same, and one element is left for the two. */
	begin(1);
	inner_key = a;
	check(insert(a) == NULL, "two elements of one that was left");
	check(inner && uft_hist_map_find(&map, &a) == inner && insert(a) == inner,
	      "the element of the interruption is lost");
	check_counts(1);
	free(map.memory);
	return 0;
}
