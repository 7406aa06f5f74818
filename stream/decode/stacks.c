/* SPDX-License-Identifier: MIT */
/*
 * stacks.c - the stacks of a stream, each stored once
 *
 * Programs reach a function by the same few paths, and events outlive the bytes of their ring. So equal stacks are one
 * struct uft_stack, found by a hash of their addresses, which lives as long as the stream. A file of very many
 * different stacks gets UFT_STREAM_STACKS of them; later stacks have no callers and are counted. The consumer of a live
 * buffer starts over at that number.
 */
#include <stdlib.h>
#include <string.h>

#include "stream/decode/decode.h"
#include "symbol/array.h"
#include "symbol/hash_index.h"
#include "symbol/keyed_hash.h"

struct dec_stack {
	uint32_t image;			/* its version: at an address one library may have replaced another */
	uint64_t id;
	struct uft_stack pub;
};

static const struct uft_stack none;	/* for a stack without a place: not even the function */

static int is_same(const struct dec_stack *s, uint32_t image, const uint8_t *p, uint32_t n)
{
	if (s->image != image || s->pub.n != n)
		return 0;
	if (memcmp(&s->id, p, 8))
		return 0;
	for (uint32_t i = 1; i < n; i++)
		if (memcmp(&s->pub.frame[i].addr, p + 8 * i, 8))
			return 0;
	return 1;
}

/* Returns the offset of @addr in its function. */
static uint64_t offset_in(const struct uft_image *img, uint64_t addr, uint64_t clock)
{
	uint32_t at = uft_image_at(img, addr - 1, clock);
	const struct uft_mapped *m = at < UINT32_MAX ? &img->obj[at] : NULL;
	const struct uft_func *fn = m ? uft_object_func(m->obj, addr - 1 - m->bias) : NULL;

	return fn ? addr - m->bias - fn->addr : 0;
}

/* Counts a stack that found no place. @is_full: for the bound, not for lack of memory. */
static const struct uft_stack *miss(struct uft_stream *st, int is_full)
{
	if (!is_full)
		dec_no_memory(st);
	st->missed_stacks++;
	return &none;
}

uint64_t uft_stream_missed_stacks(const struct uft_stream *st)
{
	return st->missed_stacks;
}

const struct uft_sym *dec_stack_func(struct uft_stream *st, struct dec_image *image, uint64_t word, uint64_t clock)
{
	uint64_t addr = word & ~(UFT_STACK_ADDRESS | UFT_STACK_TRACEPOINT);

	if (word & UFT_STACK_TRACEPOINT)	/* to the call */
		addr--;
	return word & UFT_STACK_ADDRESS ? dec_addr(st, image, addr, clock) :
					  dec_sym(st, image, (uint32_t)word & UFT_REC_VALUE_MAX);
}

/* Makes the first frame: for a sample the address is in its function, for a tracepoint behind the call. */
static struct uft_stack_frame first_frame(struct uft_stream *st, struct dec_image *image, uint64_t word, uint64_t clock)
{
	uint64_t addr = word & ~(UFT_STACK_ADDRESS | UFT_STACK_TRACEPOINT),
		 past = word & UFT_STACK_ADDRESS ? offset_in(image->img, addr + 1, clock) : 0;

	if (word & UFT_STACK_TRACEPOINT)
		return (struct uft_stack_frame){ .addr = addr, .sym = dec_stack_func(st, image, word, clock),
						 .offset = offset_in(image->img, addr, clock) };
	if (word & UFT_STACK_ADDRESS)
		return (struct uft_stack_frame){ .addr = addr, .sym = dec_addr(st, image, addr, clock),
			.offset = past ? past - 1 : 0 };
	return (struct uft_stack_frame){
		.addr = uft_resolve_id_addr(st->resolver, image->img, (uint32_t)word & UFT_REC_VALUE_MAX),
		.sym = dec_stack_func(st, image, word, clock),
	};
}

/* Do the stack's addresses have the names that they had at @clock? */
static int is_of_then(struct uft_stream *st, struct dec_image *image, const struct dec_stack *s, uint64_t clock)
{
	if (s->pub.frame[0].sym != dec_stack_func(st, image, s->id, clock))
		return 0;
	for (uint32_t i = 1; i < s->pub.n; i++)
		if (s->pub.frame[i].sym != dec_addr(st, image, s->pub.frame[i].addr - 1, clock))
			return 0;
	return 1;
}

/* @n: at least 1, the id. */
const struct uft_stack *dec_stack(struct uft_stream *st, struct dec_image *image, const uint8_t *p, uint32_t n,
				  uint64_t clock)
{
	uint64_t hash = hash_words(hash_bytes(p, 8ull * n), image->img->id);
	struct dec_stack *s;
	uint32_t found;

	if (n == 1 && wire_word(p) == (UFT_STACK_ADDRESS | UFT_STACK_TRACEPOINT))
		return &none;
	found = HASH_FIND(i, &st->stack_by, hash, is_same(st->stack[i], image->img->id, p, n) &&
			  (!image->has_overlaps || is_of_then(st, image, st->stack[i], clock)));
	if (found != HASH_NONE)
		return &st->stack[found]->pub;
	if (st->nstack == UFT_STREAM_STACKS)
		return miss(st, 1);
	if (array_reserve(st->stack, st->stack_cap, st->nstack + 1) ||
	    hash_index_reserve(&st->stack_by, st->nstack + 1))
		return miss(st, 0);
	s = malloc(sizeof(*s) + n * sizeof(s->pub.frame[0]));
	if (!s)
		return miss(st, 0);
	s->image = image->img->id;
	s->pub.n = n;
	memcpy(&s->id, p, 8);
	s->pub.frame[0] = first_frame(st, image, s->id, clock);
	for (uint32_t i = 1; i < n; i++) {
		struct uft_stack_frame *f = &s->pub.frame[i];

		memcpy(&f->addr, p + 8 * i, 8);
		/* The address of the call: the return address may lie in another function. */
		f->sym = dec_addr(st, image, f->addr - 1, clock);
		f->offset = offset_in(image->img, f->addr, clock);
	}
	hash_index_add(&st->stack_by, hash, st->nstack);
	st->stack[st->nstack++] = s;
	return &s->pub;
}

void dec_stacks_free(struct uft_stream *st)
{
	for (uint32_t i = 0; i < st->nstack; i++)
		free(st->stack[i]);
	free(st->stack);
	hash_index_free(&st->stack_by);
	st->stack = NULL;
	st->nstack = st->stack_cap = 0;
}
