/* SPDX-License-Identifier: MIT */
/* hash_text.h - a hash of a text, for tables of names in memory (FNV-1a, folded: its low bits are good for a mask) */
#ifndef UFT_SYMBOL_HASH_TEXT_H
#define UFT_SYMBOL_HASH_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t hash_bytes(const char *p, size_t n)
{
	uint64_t h = 14695981039346656037ull;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)p[i]) * 1099511628211ull;
	return h ^ h >> 32;
}

static inline uint64_t hash_text(const char *s)
{
	return hash_bytes(s, strlen(s));
}

#endif
