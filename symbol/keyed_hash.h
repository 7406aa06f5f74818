/* SPDX-License-Identifier: MIT */
/*
 * keyed_hash.h - the hash of tables whose keys a target, a program file or a recording chooses
 *
 * SipHash-1-3 with a seed that each process draws for itself: who does not know it cannot make keys that fall together,
 * which would have each of them looked for among all others. So a hash is good in one process only: it is neither
 * written to a file, nor does the order of anything that is shown follow from it. All bits are good: a mask may take
 * any of them.
 */
#ifndef UFT_SYMBOL_KEYED_HASH_H
#define UFT_SYMBOL_KEYED_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hash_seed { uint64_t k[2]; };

/* The hash itself, with a given seed. */
uint64_t hash_seeded(const struct hash_seed *seed, const void *p, size_t n);

uint64_t hash_bytes(const void *p, size_t n);
uint64_t hash_text(const char *s);
/* Of two numbers; the same as of their 16 bytes but for the length, which need not be told from another one. */
uint64_t hash_words(uint64_t a, uint64_t b);

#endif
