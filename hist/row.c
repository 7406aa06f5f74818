/* SPDX-License-Identifier: MIT */
/*
 * row.c - the part of histograms that targets can add up themselves
 *
 * All keys and sums are numbers at a fixed place of the record, or the thread's number, as they are, by their
 * logarithm or in buckets. A variable, an expression, an action, a text, a stack, a name of a thread or of an address
 * is the session's: it needs the record.
 */
#include "hist/hist_internal.h"

#define ONLY_SHOWN	(F_KEY | F_HEX | F_USECS | F_PERCENT | F_GRAPH)

static int make_number(const struct hist_field *f, struct uft_hist_number *out)
{
	const uint32_t flags = f->flags & ~(uint32_t)ONLY_SHOWN;
	const struct uft_event_field *e;

	if (flags & (F_LOG2 | F_BUCKET)) {
		if (flags & ~(uint32_t)(F_LOG2 | F_BUCKET) || !f->operand[0] || !make_number(f->operand[0], out) || out->make)
			return 0;
		out->make = flags & F_LOG2 ? UFT_HIST_LOG2 : UFT_HIST_BUCKET;
		out->width = f->buckets;
		return flags & F_LOG2 || f->buckets;
	}
	e = f->field;
	if (flags || f->op || !e || e->place != UFT_FIELD_FIXED || e->is_string)
		return 0;
	*out = (struct uft_hist_number){ .load = UFT_LOAD_TID };
	if (e->offset < UFT_EVENT_COMMON)
		return e->offset == 4 && e->size == 4;
	if ((e->size != 1 && e->size != 2 && e->size != 4 && e->size != 8) || e->offset - UFT_EVENT_COMMON >= UFT_PROGRAM_RECORD)
		return 0;
	out->load = (uint8_t)((e->is_signed ? UFT_LOAD_S8 : UFT_LOAD_U8) + __builtin_ctz(e->size));
	out->at = (uint16_t)(e->offset - UFT_EVENT_COMMON);
	return 1;
}

int uft_hist_row(const struct uft_hist *h, struct uft_hist_row *out)
{
	*out = (struct uft_hist_row){ .bits = (uint8_t)h->attrs.bits, .nkeys = (uint8_t)h->nkeys };
	if (h->nvars || h->nrefs || h->nfield_vars || h->nsave_vars || h->nactions || h->comm_word || h->table->label ||
	    h->key_words != h->nkeys || h->nkeys > UFT_HIST_ROW_KEYS || h->nvals > 1 + UFT_HIST_ROW_SUMS || h->attrs.bits > UFT_HIST_ROW_BITS)
		return 0;
	for (uint32_t i = 0; i < h->nkeys; i++)
		if (h->field[h->nvals + i]->word != i || !make_number(h->field[h->nvals + i], &out->key[i]))
			return 0;
	for (uint32_t i = 1; i < h->nvals; i++)
		if (!make_number(h->field[i], &out->sum[out->nsums++]))
			return 0;
	return 1;
}

void uft_hist_add_counted(struct uft_hist *h, const uint64_t *key, const uint64_t *counts)
{
	struct uft_hist_memory *m = h->table->map.memory;
	int is_new;
	uint64_t *element = uft_hist_map_element(&h->table->map, key, &is_new);

	uft_hist_add(element ? &m->hits : &m->drops, counts[0]);
	for (uint32_t i = 0; element && i < h->nvals; i++)
		uft_hist_add(&element[h->field[i]->word], counts[i]);
}
