/* SPDX-License-Identifier: MIT */
/*
 * keyed_hash.h - the hash of tables whose keys a target, a program file or a recording chooses
 *
 * SipHash-1-3 with a random seed for each process. Without the seed an attacker cannot make colliding keys, each of
 * which would be searched for among all others. So a hash is valid in one process only: it is never written to a file,
 * and no printed order depends on it. All bits are good: a mask may take any of them.
 */
#ifndef UFT_SYMBOL_KEYED_HASH_H
#define UFT_SYMBOL_KEYED_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hash_seed { uint64_t k[2]; };

/* Hashes with a given seed. */
uint64_t hash_seeded(const struct hash_seed *seed, const void *p, size_t n);

uint64_t hash_bytes(const void *p, size_t n);
uint64_t hash_text(const char *s);
/* Hashes two numbers, as their 16 bytes but without the length, because all keys have the same one. */
uint64_t hash_words(uint64_t a, uint64_t b);

#endif
