/* SPDX-License-Identifier: MIT */
/*
 * map.c SECONDS - the map of a histogram under threads: each update is a hit or a drop, and what is in an element is never lost
 *
 * Rounds of a small map, alternately with room for all keys and with too little. Four threads update it with keys of their own
 * and with keys of all, in orders of their own, and count what they did by key; a fifth one reads meanwhile, and sees no number fall. Then:
 *	hits and drops are the updates, by the map's count and by the threads'
 *	the elements of a key (two, if a thread was interrupted while it made the first) hold the updates that were hits
 *	each element is found by its key, also where the map was full when it was made
 *	with room for all nothing was dropped
 * First, without threads: of as many keys as the largest map has elements each has its own, the few pairs with one hash among them.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "program/hist_map.h"

#define BITS		7u
#define ELEMENTS	(1u << BITS)
#define THREADS		4u
#define KEYS		192u		/* of the full rounds; of the others half of it */
#define UPDATES		600u
#define KEY_WORDS	2u
#define WORDS		(KEY_WORDS + 2)	/* count, sum */

static struct uft_hist_map map = { .bits = BITS, .key_words = KEY_WORDS, .words = WORDS };
static pthread_barrier_t begin, end;
static atomic_int is_over, writing;
static uint32_t nkeys;
static uint64_t done[THREADS][KEYS], dropped[THREADS];
static unsigned long rounds, reads, doubles;

__attribute__((noreturn)) static void fail(const char *what, unsigned long saw, unsigned long expected)
{
	fprintf(stderr, "round %lu: %s: %lu, not %lu\n", rounds, what, saw, expected);
	_Exit(1);
}

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void make_key(uint32_t number, uint64_t key[KEY_WORDS])
{
	key[0] = number;
	key[1] = ~(uint64_t)number << 32;
}

static void update(uint32_t thread, uint32_t number)
{
	uint64_t key[KEY_WORDS], *e;
	int is_new;

	make_key(number, key);
	e = uft_hist_map_insert(&map, key, &is_new);
	if (!e) {
		dropped[thread]++;
		return;
	}
	uft_hist_add(&e[KEY_WORDS], 1);
	uft_hist_add(&e[KEY_WORDS + 1], number);
	done[thread][number]++;
}

static void *write_on(void *arg)
{
	uint32_t thread = (uint32_t)(uintptr_t)arg;
	uint64_t state = 0x9e3779b97f4a7c15ull + thread;

	for (;;) {
		pthread_barrier_wait(&begin);
		if (is_over)
			return NULL;
		for (uint32_t i = 0; i < UPDATES; i++)
			update(thread, (uint32_t)(next(&state) % nkeys));
		writing--;
		pthread_barrier_wait(&end);
	}
}

/* Every element that is there has a whole key and no number that falls. */
static void *read_on(void *arg)
{
	static uint64_t seen[ELEMENTS];

	(void)arg;
	for (;;) {
		pthread_barrier_wait(&begin);
		if (is_over)
			return NULL;
		memset(seen, 0, sizeof(seen));
		do {
			uint64_t *e;

			for (uint32_t at = 0; (e = uft_hist_map_next(&map, &at)); reads++) {
				uint64_t n = uft_hist_read(&e[KEY_WORDS]), *last = &seen[uft_hist_map_index(&map, e)];

				if (e[0] >= nkeys || e[1] != ~e[0] << 32)
					fail("a key", e[0], nkeys);
				if (n < *last)
					fail("a number fell", n, *last);
				*last = n;
			}
		} while (writing);
		pthread_barrier_wait(&end);
	}
}

#define MANY	(1u << UFT_HIST_BITS_MAX)

static void check_hashes(uint32_t from)
{
	struct uft_hist_map all = { .bits = UFT_HIST_BITS_MAX, .key_words = KEY_WORDS, .words = KEY_WORDS };
	uint64_t key[KEY_WORDS], *e;
	int is_new;

	all.memory = calloc(1, uft_hist_map_bytes(all.bits, all.words));
	for (uint32_t number = from; all.memory && number < from + MANY; number++) {
		make_key(number, key);
		is_new = 0;
		e = uft_hist_map_insert(&all, key, &is_new);
		if (!e || !is_new || memcmp(e, key, sizeof(key)))
			fail("an element of another key", e ? e[0] : 0, number);
	}
	if (!all.memory)
		fail("memory", 0, MANY);
	free(all.memory);
}

static void check_elements(void)
{
	uint64_t count[KEYS] = { 0 }, sum[KEYS] = { 0 }, *e;
	uint32_t elements[KEYS] = { 0 };

	for (uint32_t at = 0; (e = uft_hist_map_next(&map, &at)); ) {
		uint64_t *found = uft_hist_map_find(&map, e);

		if (!found || found[0] != e[0])
			fail("an element that its key does not find", found ? found[0] : KEYS, e[0]);
		count[e[0]] += e[KEY_WORDS];
		sum[e[0]] += e[KEY_WORDS + 1];
		doubles += elements[e[0]]++ > 0;
	}
	for (uint32_t k = 0; k < nkeys; k++) {
		uint64_t expected = 0;

		for (uint32_t t = 0; t < THREADS; t++)
			expected += done[t][k];
		if (count[k] != expected)
			fail("updates of a key", count[k], expected);
		if (sum[k] != expected * k)
			fail("the sum of a key", sum[k], expected * k);
	}
}

static void check_round(void)
{
	uint64_t drops = 0;

	for (uint32_t t = 0; t < THREADS; t++)
		drops += dropped[t];
	if (map.memory->hits + map.memory->drops != THREADS * UPDATES)
		fail("hits and drops", map.memory->hits + map.memory->drops, THREADS * UPDATES);
	if (map.memory->drops != drops)
		fail("drops", map.memory->drops, drops);
	if (nkeys < ELEMENTS / 2 && drops)
		fail("drops of a map with room", drops, 0);
	if (nkeys > ELEMENTS && !drops)
		fail("drops of a full map", 0, 1);
	check_elements();
}

static void round_of(uint32_t keys)
{
	nkeys = keys;
	uft_hist_map_clear(&map);
	memset(done, 0, sizeof(done));
	memset(dropped, 0, sizeof(dropped));
	writing = THREADS;
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
	check_round();
	rounds++;
}

int main(int argc, char **argv)
{
	time_t until = time(NULL) + (argc > 1 ? atoi(argv[1]) : 3);
	pthread_t thread[THREADS + 1];

	for (uint32_t i = 0; i < 16; i++)
		check_hashes(i * MANY);
	map.memory = calloc(1, uft_hist_map_bytes(BITS, WORDS));
	if (!map.memory || pthread_barrier_init(&begin, NULL, THREADS + 2) ||
	    pthread_barrier_init(&end, NULL, THREADS + 2))
		return 1;
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, write_on, (void *)i))
			return 1;
	if (pthread_create(&thread[THREADS], NULL, read_on, NULL))
		return 1;
	while (time(NULL) < until || rounds < 20) {
		round_of(KEYS);
		round_of(ELEMENTS / 2 - 1);
	}
	is_over = 1;
	pthread_barrier_wait(&begin);
	for (uint32_t i = 0; i <= THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%lu rounds, %lu elements read meanwhile, %lu keys with two elements\n", rounds, reads, doubles);
	free(map.memory);
	return 0;
}
