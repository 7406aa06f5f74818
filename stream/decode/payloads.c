/* SPDX-License-Identifier: MIT */
/*
 * payloads.c - copies of the payloads of events: valid until the next batch but one is asked for
 *
 * The buffer of the ring that held a payload is filled again within a batch, and a reader may hold the last event of a
 * batch until it knows the next event. In a live stream payloads are freed after the end of a round, whatever batches
 * it had.
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
		c = bytes <= CHUNK_BYTES ? malloc(sizeof(*c)) : NULL;
		if (!c) {
			if (bytes <= CHUNK_BYTES)
				dec_no_memory(st);
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

static void free_chunks(struct dec_chunk **first)
{
	while (*first) {
		struct dec_chunk *next = (*first)->next;

		free(*first);
		*first = next;
	}
}

void dec_payloads_next_batch(struct uft_stream *st)
{
	if (!st->chunk || !st->chunk->next)
		return;			/* freeing is not worth it */
	free_chunks(&st->old_chunk);
	st->old_chunk = st->chunk;
	st->chunk = NULL;
}

void dec_payloads_free(struct uft_stream *st)
{
	free_chunks(&st->chunk);
	free_chunks(&st->old_chunk);
}
