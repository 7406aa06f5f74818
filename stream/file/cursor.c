/* SPDX-License-Identifier: MIT */
/*
 * cursor.c - join the blocks of one ring
 *
 * A block ends wherever the recorder's poll ended, so a sub-buffer, and even a record, may go on in the next block. The
 * undecoded rest of a block (`carry`, less than a sub-buffer header) is copied in front of the next one. After missing
 * bytes, decoding waits for the next sub-buffer header (is_synced).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stream/file/reader.h"

#define CUR_POSITION_MAX	(1ull << 62)	/* no recording gets there, and sums cannot overflow */

static void cur_drop(struct cursor *c)
{
	free(c->buf);
	c->pool->bytes -= c->cap;
	c->buf = c->p = c->lim = c->end = NULL;
	c->cap = 0;
}

static void cur_evict(struct cursor *c)
{
	/* p as a position, kept in base; lim and end are recomputed by cur_reload() */
	c->base = cur_position(c);
	c->is_at_lim = c->p == c->lim;
	cur_drop(c);
	c->is_evicted = 1;
}

/* Makes room for @n bytes in c->buf. Frees other cursors' buffers when all together exceed CUR_POOL_MAX. */
static int cur_room(struct cursor *c, uint32_t n)
{
	struct cur_pool *pool = c->pool;
	uint8_t *buf;

	if (c->cap >= n)
		return 0;
	for (size_t tries = 0; !pool->file->is_live && pool->bytes + n - c->cap > CUR_POOL_MAX && tries < pool->ncursor;
	     tries++) {
		struct cursor *victim = pool->cursor[pool->hand++ % pool->ncursor];

		if (victim != c && victim->buf)
			cur_evict(victim);
	}
	buf = realloc(c->buf, n);
	if (!buf)
		return rd_no_memory(pool->file);
	pool->bytes += n - c->cap;
	c->buf = buf;
	c->cap = n;
	return 0;
}

static void cur_set_lim(struct cursor *c)
{
	uint64_t sub = c->pool->file->head.sub_bytes, room = sub - (cur_position(c) & (sub - 1));

	c->lim = (uint64_t)(c->end - c->p) < room ? c->end : c->p + room;
}

/* Loads the block at c->block behind the carry. 0, or -1: damaged, or no memory. */
static int cur_load(struct cursor *c)
{
	struct rd_block *b = c->block;

	if (cur_room(c, (uint32_t)sizeof(c->carry) + b->raw))
		return -1;
	memcpy(c->buf, c->carry, c->ncarry);
	c->base = b->position - c->ncarry;
	c->p = c->lim = c->buf;
	c->end = c->buf;
	if (rd_load(c->pool->file, b, c->buf + c->ncarry))
		return -1;
	c->end = c->buf + c->ncarry + b->raw;
	return 0;
}

void cur_reload(struct cursor *c)
{
	uint64_t position = c->base;

	if (!c->is_evicted)
		return;
	c->is_evicted = 0;
	c->block--;
	if (cur_load(c)) {		/* the file changed meanwhile: go on with the next block */
		c->ncarry = 0;
		c->is_synced = 0;
		c->p = c->lim = c->end = c->buf;
	} else {
		c->p = c->buf + (position - c->base);
		if (c->is_at_lim)
			c->lim = c->p;	/* a header comes next, or nothing more of this sub-buffer */
		else
			cur_set_lim(c);
	}
	c->block++;
}

void cur_save(const struct cursor *c, const struct rd_block *first, struct cur_place *to)
{
	*to = (struct cur_place){
		.position = c->is_evicted || !c->buf ? c->base : cur_position(c), .skip_to = c->skip_to, .bad = c->bad,
		.block = (uint32_t)(c->block - first), .ncarry = c->ncarry, .is_synced = c->is_synced,
		.is_loaded = c->is_loaded,
		.is_skip_bad = c->is_skip_bad, .is_at_lim = c->is_evicted ? c->is_at_lim : c->p == c->lim,
	};
	memcpy(to->carry, c->carry, sizeof(to->carry));
}

int cur_restore(struct cursor *c, struct rd_block *first, const struct cur_place *from)
{
	uint64_t nblocks = (uint64_t)(c->block_end - first);
	const struct rd_block *b;

	if (from->block > nblocks || from->ncarry > sizeof(c->carry) || from->skip_to > 2 * CUR_POSITION_MAX)
		return -EBADMSG;
	if (from->is_loaded) {
		b = from->block ? &first[from->block - 1] : NULL;
		if (!b || b->position > CUR_POSITION_MAX || b->position < from->ncarry ||
		    from->position < b->position - from->ncarry || from->position > b->position + b->raw)
			return -EBADMSG;
	}
	cur_release(c);
	c->block = first + from->block;
	c->base = from->position;
	c->skip_to = from->skip_to;
	c->bad = from->bad;
	c->ncarry = from->ncarry;
	memcpy(c->carry, from->carry, sizeof(c->carry));
	c->is_synced = from->is_synced;
	c->is_loaded = from->is_loaded;
	c->is_skip_bad = from->is_skip_bad;
	c->is_at_lim = from->is_at_lim;
	c->is_evicted = from->is_loaded;	/* loaded when its records are due */
	return 0;
}

/* Stops at @position, where a live ring may get more bytes. */
static void cur_pause(struct cursor *c, uint64_t position)
{
	cur_drop(c);
	c->base = position;
	c->ncarry = 0;
}

/* Loads the next good block, and keeps [p, end) if the block continues those bytes. 0 at the end of the ring. */
static int cur_fill(struct cursor *c)
{
	uint64_t position = c->is_loaded ? cur_position(c) : 0;
	uint32_t left = (uint32_t)(c->end - c->p);

	c->ncarry = 0;
	if (left && left <= sizeof(c->carry)) {
		memcpy(c->carry, c->p, left);
		c->ncarry = left;
	}
	position += left;
	for (; c->block < c->block_end; c->block++) {
		struct rd_block *b = c->block;

		if (c->is_loaded && b->position < position) {	/* goes back, which no recorder writes */
			c->bad += b->raw;
			continue;
		}
		if (!c->is_loaded || b->position != position) {
			c->bad += c->ncarry;
			c->ncarry = 0;
			c->is_synced = 0;
		}
		if (b->position > CUR_POSITION_MAX || !b->raw || cur_load(c)) {
			c->bad += c->ncarry;
			c->ncarry = 0;
			c->is_synced = 0;
			continue;
		}
		c->is_loaded = 1;
		c->block++;
		return 1;
	}
	c->bad += c->ncarry;
	if (c->pool->file->is_live)
		cur_pause(c, position);
	else
		cur_release(c);
	return 0;
}

/* Goes to the start of the next sub-buffer. */
void cur_skip_sub(struct cursor *c, int is_bad)
{
	uint64_t sub = c->pool->file->head.sub_bytes, room = sub - (cur_position(c) & (sub - 1));

	c->skip_to = cur_position(c) + room;
	c->is_skip_bad = (uint8_t)is_bad;
	c->lim = c->p;
}

enum cur_result cur_next(struct cursor *c, struct uft_sub_header *h)
{
	uint64_t sub = c->pool->file->head.sub_bytes;

	if (c->p < c->lim && c->lim < c->end) {		/* a record that would straddle sub-buffers */
		cur_skip_sub(c, 1);
	} else if (c->p < c->lim && !(((uint64_t)(c->lim - c->buf) + c->base) & (sub - 1))) {
		cur_skip_sub(c, 1);
	} else if (c->p < c->lim) {			/* a record that goes on in the next block */
		uint64_t position = cur_position(c);

		if (!cur_fill(c))
			return CUR_END;
		if (c->is_synced && cur_position(c) == position) {
			cur_set_lim(c);
			return CUR_DATA;
		}
	}
	for (;;) {
		uint64_t position = c->is_loaded ? cur_position(c) : 0;

		if (c->p < c->end && position < c->skip_to) {
			uint64_t n = c->skip_to - position, have = (uint64_t)(c->end - c->p);

			if (n > have)
				n = have;
			c->p += n;
			c->bad += c->is_skip_bad ? n : 0;
			continue;
		}
		if (c->p == c->end) {
			if (!cur_fill(c))
				return CUR_END;
			continue;
		}
		if (position & (sub - 1)) {
			if (c->is_synced) {
				cur_set_lim(c);
				return CUR_DATA;
			}
			cur_skip_sub(c, 1);	/* without the header the task of these records is unknown */
			continue;
		}
		if ((size_t)(c->end - c->p) < sizeof(*h)) {
			if (!cur_fill(c))
				return CUR_END;
			continue;
		}
		memcpy(h, c->p, sizeof(*h));
		if (h->position != position) {
			c->is_synced = 0;
			cur_skip_sub(c, 1);
			continue;
		}
		c->is_synced = 1;
		c->p += sizeof(*h);
		cur_set_lim(c);
		return CUR_HEADER;
	}
}

void cur_release(struct cursor *c)
{
	cur_drop(c);
	c->is_loaded = 0;
	c->block = c->block_end;
}
