/* SPDX-License-Identifier: MIT */
/*
 * condense.c - keep the calls that a dropped hidden chunk opened or closed
 *
 * Depths behind a span depend on the calls in it. So of wholly hidden chunks the records without a partner stay: the
 * entry of a call that ends elsewhere, the exit of a call that began elsewhere. Neighbours of one span become one
 * chunk, so the rest is about as long as stacks are deep.
 *
 * A call that begins and ends on this CPU is taken out with its partner, even if its thread was on another CPU
 * meanwhile: the records there are complete without it. An exception is a thread that there ends a call and begins one
 * of the same function just then: the depth is wrong until an outer call ends.
 */
#include <stdlib.h>
#include <string.h>

#include "stream/live/live_internal.h"

struct net { uint64_t word, clock; uint32_t pid, tid; };

struct nets { struct net v[UFT_PAGE / 8]; size_t n; };

/* Returns the last remaining record of the task of @of; NULL: none. */
static struct net *last_of(struct nets *s, const struct net *of)
{
	for (size_t i = s->n; i--;)
		if (s->v[i].tid == of->tid && s->v[i].pid == of->pid)
			return &s->v[i];
	return NULL;
}

static void take_out(struct nets *s, struct net *e)
{
	size_t i = (size_t)(e - s->v);

	memmove(e, e + 1, (s->n - i - 1) * sizeof(*e));
	s->n--;
}

static int is_entry(const struct net *e)
{
	return e && UFT_REC_KIND(e->word) == UFT_REC_ENTRY;
}

/* Adds a record, or takes out its partner. 0: too many records. */
static int feed(struct nets *s, struct net e)
{
	unsigned kind = UFT_REC_KIND(e.word);
	uint32_t n = UFT_REC_VALUE(e.word);
	struct net *last = last_of(s, &e);

	if (kind == UFT_REC_EXIT && is_entry(last) && UFT_REC_VALUE(last->word) == n) {
		take_out(s, last);
		return 1;
	}
	if (kind == UFT_REC_UNWIND) {
		for (; n && is_entry(last); n--, last = last_of(s, &e))
			take_out(s, last);
		if (!n)
			return 1;
		e.word = UFT_REC_WORD(UFT_REC_UNWIND, n, e.clock);
	} else if (kind != UFT_REC_ENTRY && kind != UFT_REC_EXIT) {
		return 1;
	}
	if (s->n == sizeof(s->v) / sizeof(s->v[0]))
		return 0;
	s->v[s->n++] = e;
	return 1;
}

static int feed_chunk(struct nets *s, const struct lv_chunk *c)
{
	struct uft_sub_header h;
	struct net e;
	uint64_t w[3];

	memcpy(&h, c->data, sizeof(h));
	e = (struct net){ .clock = h.clock, .pid = h.pid, .tid = h.tid };
	for (size_t at = sizeof(h), bytes; at + 8 <= c->len; at += bytes) {
		memcpy(w, c->data + at, 8);
		bytes = 8u * wr_record_words(w[0]);
		if (!bytes || at + bytes > c->len)
			return 1;
		if (UFT_REC_KIND(w[0]) == UFT_REC_CONTEXT) {
			memcpy(w, c->data + at, sizeof(w));
			e.clock = w[1];
			e.pid = (uint32_t)w[2];
			e.tid = (uint32_t)(w[2] >> 32);
			continue;
		}
		e.word = w[0];
		e.clock = (e.clock & ~0xffffffffull) | UFT_REC_CLOCK(w[0]);
		if (!feed(s, e))
			return 0;
	}
	return 1;
}

/* Writes the remaining records to @to, with contexts where needed. Returns their bytes. @to NULL: only counts. */
static size_t put_nets(const struct nets *s, const struct uft_sub_header *h, uint8_t *to)
{
	struct net now = { .clock = h->clock, .pid = h->pid, .tid = h->tid };
	size_t n = sizeof(*h);

	if (to)
		memcpy(to, h, sizeof(*h));
	for (size_t i = 0; i < s->n; i++) {
		const struct net *e = &s->v[i];

		if ((now.clock ^ e->clock) >> 32 || now.pid != e->pid || now.tid != e->tid) {
			uint64_t w[3] = { UFT_REC_WORD(UFT_REC_CONTEXT, 0, e->clock), e->clock, e->pid |
				(uint64_t)e->tid << 32 };

			if (to)
				memcpy(to + n, w, sizeof(w));
			n += sizeof(w);
			now = *e;
		}
		if (to)
			memcpy(to + n, &e->word, 8);
		n += 8;
	}
	return n;
}

int lv_condense(const struct lv_chunk *before, const struct lv_chunk *c, struct lv_chunk **out)
{
	struct nets *s = malloc(sizeof(*s));
	struct uft_sub_header h;
	size_t bytes = 0;
	int is_done;

	*out = NULL;
	if (!s)
		return 0;
	s->n = 0;
	memcpy(&h, (before ? before : c)->data, sizeof(h));
	is_done = (!before || feed_chunk(s, before)) && feed_chunk(s, c) &&
		  (bytes = put_nets(s, &h, NULL)) < (before ? UFT_PAGE : c->len);
	if (is_done && s->n) { /* GUARD(lv_condense_is_done) */
		*out = malloc(sizeof(**out) + bytes);
		is_done = *out != NULL;
	}
	if (*out) {
		**out = (struct lv_chunk){ .refs = 1, .len = (uint32_t)bytes, .cap = (uint32_t)bytes,
			.position = h.position, .clock = h.clock, .is_condensed = 1 };
		put_nets(s, &h, (*out)->data);
	}
	free(s);
	return is_done;
}
