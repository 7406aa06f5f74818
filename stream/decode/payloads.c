/* SPDX-License-Identifier: MIT */
/*
 * payloads.c - copies of the payloads of events, which live as long as the stream; of a live one as long as its consumer has the events
 *
 * A reader may hold events of several batches, while the buffer of a ring they were decoded from is filled again.
 */
#include <stdlib.h>
#include <string.h>

#include "stream/decode/decode.h"

#define CHUNK_BYTES	(64u << 10)	/* more than the largest payload */

struct dec_chunk {
	struct dec_chunk *next;
	uint32_t used;
	uint64_t word[CHUNK_BYTES / 8];
};

uint8_t *dec_payload(struct uft_stream *st, const void *from, uint32_t n)
{
	struct dec_chunk *c = st->chunk;
	uint32_t bytes = (n + 7) & ~7u;
	uint8_t *to;

	if (!c || c->used + bytes > CHUNK_BYTES) {
		c = malloc(sizeof(*c));
		if (!c || bytes > CHUNK_BYTES) {
			free(c);
			return NULL;
		}
		c->next = st->chunk;
		c->used = 0;
		st->chunk = c;
	}
	to = (uint8_t *)c->word + c->used;
	memcpy(to, from, n);
	memset(to + n, 0, bytes - n);
	c->used += bytes;
	return to;
}

void dec_payloads_free(struct uft_stream *st)
{
	while (st->chunk) {
		struct dec_chunk *next = st->chunk->next;

		free(st->chunk);
		st->chunk = next;
	}
}
