/* SPDX-License-Identifier: MIT */
/* str_pool.c - strings that live as long as their object, in few pieces of memory */
#include <stdlib.h>
#include <string.h>

#include "symbol/object_internal.h"

#define STR_CHUNK	(64u << 10)
struct str_chunk { struct str_chunk *next; char s[]; };

char *str_pool_copy(struct str_pool *p, const char *s, size_t len)
{
	size_t size = len + 1;
	char *at;

	if (p->limit && p->total + size > p->limit)
		return NULL;
	if (size > p->left) {
		size_t bytes = size > STR_CHUNK ? size : STR_CHUNK;
		struct str_chunk *c = bound_alloc(p->bound, "names", 1, sizeof(*c) + bytes);

		if (!c)
			return NULL;
		c->next = p->chunks;
		p->chunks = c;
		p->left = bytes;
	}
	/* A chunk is filled from its end, so its start need not be stored. */
	at = p->chunks->s + p->left - size;
	p->left -= size;
	p->total += size;
	memcpy(at, s, len);
	at[len] = 0;
	return at;
}

void str_pool_free(struct str_pool *p)
{
	struct str_chunk *c, *next;

	for (c = p->chunks; c; c = next) {
		next = c->next;
		bound_free(c);
	}
	memset(p, 0, sizeof(*p));
}
