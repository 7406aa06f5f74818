/* SPDX-License-Identifier: MIT */
/*
 * map_hostile.c - the map of a histogram in memory that a stranger wrote: no element lies outside of it
 *
 * The memory ends, and begins, beside pages that are not there, and its words are numbers that a program could lie with:
 * just inside of the map and outside, and any. What is found in it is asked for, changed and named by its index. A read
 * or write beyond the map ends the test by SIGSEGV; an element that begins beside it, or between two, fails it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "program/hist_map.h"

#define BITS		7u
#define ELEMENTS	(1u << BITS)
#define KEY_WORDS	2u
#define WORDS		(KEY_WORDS + 2)
#define ROUNDS		300u
#define PAGE		65536u		/* of any machine */

static struct uft_hist_map map = { .bits = BITS, .key_words = KEY_WORDS, .words = WORDS };
static uint64_t state = 0x9e3779b97f4a7c15ull;
static unsigned long found;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* A number for a slot: of an element at the edges, of one far away, or any. */
static uint32_t lie(void)
{
	static const uint32_t edge[] = { 0, 1, ELEMENTS - 1, ELEMENTS, ELEMENTS + 1, 1u << 20, 1u << 31, UINT32_MAX - 1,
		UINT32_MAX };
	uint64_t n = next();

	return n % 4 ? edge[n / 4 % (sizeof(edge) / sizeof(edge[0]))] : (uint32_t)(n >> 32);
}

static void spoil(uint32_t *word, size_t n)
{
	for (size_t i = 0; i < n; i++)
		word[i] = lie();
}

static void look_at(uint64_t *e)
{
	uint64_t *first = (uint64_t *)((char *)map.memory + uft_hist_map_bytes(BITS, WORDS)) - (size_t)ELEMENTS * WORDS;

	if (e < first || (size_t)(e - first) % WORDS || uft_hist_map_index(&map, e) >= ELEMENTS) {
		fprintf(stderr, "map_hostile: an element beside the map: word %td\n", e - first);
		exit(1);
	}
	uft_hist_add(&e[WORDS - 1], 1);
	found++;
}

static void round_of(void)
{
	uint64_t key[KEY_WORDS], *e;
	int is_new;

	for (uint32_t at = 0; (e = uft_hist_map_next(&map, &at)); )
		look_at(e);
	for (uint32_t i = 0; i < ELEMENTS; i++) {
		key[0] = lie() | (uint64_t)lie() << 32;
		key[1] = lie();
		e = i % 2 ? uft_hist_map_insert(&map, key, &is_new) : uft_hist_map_find(&map, key);
		if (e)
			look_at(e);
	}
}

int main(void)
{
	size_t bytes = uft_hist_map_bytes(BITS, WORDS), room = (bytes + PAGE - 1) / PAGE * PAGE;
	char *at = mmap(NULL, room + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || mprotect(at + PAGE, room, PROT_READ | PROT_WRITE))
		return 1;
	for (unsigned i = 0; i < ROUNDS; i++) {
		/* at either end */
		map.memory = (struct uft_hist_memory *)(void *)(at + PAGE + (i % 2 ? room - bytes : 0));
		spoil((uint32_t *)map.memory, bytes / 4);
		round_of();
	}
	if (!found)
		fprintf(stderr, "map_hostile: no element was found at all\n");
	return !found;
}
