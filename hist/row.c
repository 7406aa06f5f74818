/* SPDX-License-Identifier: MIT */
/*
 * row.c - histograms that targets can add up by themselves
 *
 * Their keys and sums are numbers at a fixed place of the record, or the thread's number: as they are, by their
 * logarithm or in buckets. A key may also be a text of the record. Variables, expressions, actions, stacks, names of
 * threads and of addresses need the session, and so the record. A text that is longer than a key of the map needs it,
 * too: its event comes as a record, and the session counts it.
 */
#include "hist/hist_internal.h"

#define ONLY_SHOWN	(F_KEY | F_HEX | F_USECS | F_PERCENT | F_GRAPH)

static int make_number(const struct hist_field *f, struct uft_hist_number *out)
{
	const uint32_t flags = f->flags & ~(uint32_t)ONLY_SHOWN;
	const struct uft_event_field *e;

	if (flags & (F_LOG2 | F_BUCKET)) {
		if (flags & ~(uint32_t)(F_LOG2 | F_BUCKET) || !f->operand[0] || !make_number(f->operand[0], out) ||
		    out->make)
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
	if ((e->size != 1 && e->size != 2 && e->size != 4 && e->size != 8) ||
	    e->offset - UFT_EVENT_COMMON >= UFT_PROGRAM_RECORD)
		return 0;
	out->load = (uint8_t)((e->is_signed ? UFT_LOAD_S8 : UFT_LOAD_U8) + __builtin_ctz(e->size));
	out->at = (uint16_t)(e->offset - UFT_EVENT_COMMON);
	return 1;
}

static int make_text(const struct hist_field *f, struct uft_hist_number *out)
{
	const struct uft_event_field *e = f->field;
	uint32_t words = (f->size + 7) / 8;

	if (f->flags != (F_KEY | F_STRING) || f->op || !e || !e->is_string || e->offset < UFT_EVENT_COMMON ||
	    !f->size || e->offset - UFT_EVENT_COMMON > UFT_PROGRAM_RECORD)
		return 0;
	*out = (struct uft_hist_number){
		.load = e->place == UFT_FIELD_FIXED ? UFT_LOAD_BYTES : e->place == UFT_FIELD_DATA_LOC ?
			UFT_LOAD_DATA_LOC : UFT_LOAD_REL_LOC,
		.at = (uint16_t)(e->offset - UFT_EVENT_COMMON), .field = e->place == UFT_FIELD_FIXED ?
			(uint16_t)e->size : 0,
		.words = (uint8_t)(words < UFT_HIST_TEXT_WORDS ? words : UFT_HIST_TEXT_WORDS),
	};
	return 1;
}

int uft_hist_row(const struct uft_hist *h, struct uft_hist_row *out)
{
	*out = (struct uft_hist_row){ .bits = (uint8_t)h->attrs.bits, .nkeys = (uint8_t)h->nkeys };
	if (h->nvars || h->nrefs || h->nfield_vars || h->nsave_vars || h->nactions || h->comm_word || h->table->label ||
	    h->nkeys > UFT_HIST_ROW_KEYS || h->nvals > 1 + UFT_HIST_ROW_SUMS || h->attrs.bits > UFT_HIST_ROW_BITS)
		return 0;
	for (uint32_t i = 0; i < h->nkeys; i++) {
		const struct hist_field *f = h->field[h->nvals + i];

		if (!(f->flags & F_STRING ? make_text(f, &out->key[i]) : make_number(f, &out->key[i])))
			return 0;
		out->key_words = (uint8_t)(out->key_words + uft_hist_key_words(&out->key[i]));
	}
	for (uint32_t i = 1; i < h->nvals; i++)
		if (!make_number(h->field[i], &out->sum[out->nsums++]))
			return 0;
	return 1;
}

/* Makes the table's key of a key in @row's map. A text there may be longer or, without its 0, shorter. */
static void make_key(const struct uft_hist *h, const struct uft_hist_row *row, const uint64_t *from, uint64_t *key)
{
	memset(key, 0, 8 * h->key_words);
	for (uint32_t i = 0; i < h->nkeys; i++) {
		const struct hist_field *f = h->field[h->nvals + i];
		size_t room = 8 * row->key[i].words, n = strnlen((const char *)from, room);

		if (!room)
			key[f->word] = *from;
		else
			memcpy(key + f->word, from, n < f->size ? n : f->size - 1);
		from += uft_hist_key_words(&row->key[i]);
	}
}

void uft_hist_add_counted(struct uft_hist *h, const struct uft_hist_row *row, const uint64_t *from,
			  const uint64_t *counts)
{
	struct uft_hist_memory *m = h->table->map.memory;
	uint64_t key[MAX_KEY_BYTES / 8], *element;
	int is_new;

	make_key(h, row, from, key);
	element = uft_hist_map_element(&h->table->map, key, &is_new);

	uft_hist_add(element ? &m->hits : &m->drops, counts[0]);
	for (uint32_t i = 0; element && i < h->nvals; i++)
		uft_hist_add(&element[h->field[i]->word], counts[i]);
}
