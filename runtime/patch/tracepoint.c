/* SPDX-License-Identifier: MIT */
/*
 * tracepoint.c - calls of tracepoints: one nop that becomes a jump, and back
 *
 * The compiler has made both ends (uft/tracepoint.h): a nop and, in the same function, the code where it leads while
 * the event is recorded. So no code of the runtime is between them, and nothing has to be learned: the bytes are the
 * nop, the jump, or foreign.
 *
 * Each list that the session sent is kept in a block, so that a detach finds the armed calls without the session.
 * Blocks are never freed; the block of an object that was unmapped serves the next list of the same length.
 * bytes/tracepoint.c and words/tracepoint.c write the instructions.
 *
 * Context: control.
 */
#include <linux/errno.h>

#include "runtime/arch/arch.h"
#include "runtime/patch/calls.h"
#include "runtime/platform/platform.h"
#include "runtime/runtime.h"

static struct call_block *blocks;

static struct call_block *block_new(uint32_t n)
{
	struct call_block *b;

	for (b = blocks; b; b = b->next)
		if (b->n == n && b->object == CALLS_OF_NONE)
			return b;
	b = plat_map(sizeof(*b) + n * sizeof(b->v[0]));
	if (!b)
		return NULL;
	b->object = CALLS_OF_NONE;
	b->n = n;
	b->next = blocks;
	uft_store_release(&blocks, b);
	return b;
}

static struct call_block *block_of(uint32_t object, const struct uft_call_switch *c, uint32_t n)
{
	struct call_block *b;

	for (b = blocks; b; b = b->next)
		if (b->object == object && b->n == n && b->v[0].addr == c[0].addr && b->v[n - 1].addr == c[n - 1].addr)
			return b;
	b = block_new(n);
	if (!b)
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		b->v[i] = (struct call){ c[i].addr, c[i].on, 0 };
	uft_store_release(&b->object, object);
	return b;
}

int calls_switch(uint32_t object, struct uft_call_switch *c, uint32_t n, calls_writer write)
{
	struct call_block *b = n ? block_of(object, c, n) : NULL;

	if (n && !b)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		if (b->v[i].addr != c[i].addr || b->v[i].on != c[i].on)
			return -EINVAL;
	if (n)
		write(b, c);
	return 0;
}

uint32_t calls_disarm(calls_writer write)
{
	uint32_t left = 0;

	for (struct call_block *b = blocks; b; b = b->next)
		left += write(b, NULL);
	return left;
}

void patch_calls_gone(uint32_t object)
{
	for (struct call_block *b = blocks; b; b = b->next)
		if (b->object == object) {
			for (uint32_t i = 0; i < b->n; i++)
				b->v[i].is_on = 0;
			b->object = CALLS_OF_NONE;
		}
}
