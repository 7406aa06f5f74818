/* SPDX-License-Identifier: MIT */
/* keyed_hash.c - see keyed_hash.h */
#include "symbol/keyed_hash.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>

struct sip { uint64_t a, b, c, d; };

static struct hash_seed process_seed;

/*
 * Runs before main(), when there is no thread and no table yet. If getrandom() fails the random bytes of the exec take
 * its place.
 */
__attribute__((constructor)) static void draw_seed(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);

	if (getrandom(&process_seed, sizeof(process_seed), GRND_NONBLOCK) != (ssize_t)sizeof(process_seed) && random)
		memcpy(&process_seed, random, sizeof(process_seed));
}

static inline uint64_t rotate(uint64_t x, unsigned by)
{
	return x << by | x >> (64 - by);
}

static inline void sip_round(struct sip *s)
{
	s->a += s->b;
	s->c += s->d;
	s->b = rotate(s->b, 13) ^ s->a;
	s->d = rotate(s->d, 16) ^ s->c;
	s->a = rotate(s->a, 32);
	s->c += s->b;
	s->a += s->d;
	s->b = rotate(s->b, 17) ^ s->c;
	s->d = rotate(s->d, 21) ^ s->a;
	s->c = rotate(s->c, 32);
}

static inline struct sip sip_begin(const struct hash_seed *seed)
{
	return (struct sip){ seed->k[0] ^ 0x736f6d6570736575ull, seed->k[1] ^ 0x646f72616e646f6dull,
			     seed->k[0] ^ 0x6c7967656e657261ull, seed->k[1] ^ 0x7465646279746573ull };
}

static inline void sip_add(struct sip *s, uint64_t word)
{
	s->d ^= word;
	sip_round(s);
	s->a ^= word;
}

static inline uint64_t sip_end(struct sip *s)
{
	s->c ^= 0xff;
	sip_round(s);
	sip_round(s);
	sip_round(s);
	return s->a ^ s->b ^ s->c ^ s->d;
}

uint64_t hash_seeded(const struct hash_seed *seed, const void *p, size_t n)
{
	struct sip s = sip_begin(seed);
	const uint8_t *at = p;
	uint64_t last = (uint64_t)n << 56;

	for (size_t left = n; left >= 8; left -= 8, at += 8) {
		uint64_t word;

		memcpy(&word, at, sizeof(word));
		sip_add(&s, word);
	}
	for (size_t i = 0; i < n % 8; i++)
		last |= (uint64_t)at[i] << 8 * i;
	sip_add(&s, last);
	return sip_end(&s);
}

uint64_t hash_bytes(const void *p, size_t n)
{
	return hash_seeded(&process_seed, p, n);
}

uint64_t hash_text(const char *s)
{
	return hash_bytes(s, strlen(s));
}

uint64_t hash_words(uint64_t a, uint64_t b)
{
	struct sip s = sip_begin(&process_seed);

	sip_add(&s, a);
	sip_add(&s, b);
	return sip_end(&s);
}
