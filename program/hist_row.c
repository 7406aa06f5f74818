/* SPDX-License-Identifier: MIT */
/* hist_row.c - see hist_row.h */
#include "program/hist_row.h"
#include "program/load.h"

static int is_good_number(const struct uft_hist_number *n)
{
	return (n->load <= UFT_LOAD_S64 || n->load == UFT_LOAD_TID) && n->at < UFT_PROGRAM_RECORD &&
		n->make < UFT_HIST_NMAKES &&
	       (n->make != UFT_HIST_BUCKET || n->width);
}

/* Is the text one of the record? A thread's name is known to the session only. */
static int is_good_text(const struct uft_hist_number *n)
{
	if (n->load == UFT_LOAD_BYTES)
		return n->words && n->words <= UFT_HIST_TEXT_WORDS && n->at <= UFT_PROGRAM_RECORD &&
		       n->field <= UFT_PROGRAM_RECORD - n->at;
	return (n->load == UFT_LOAD_DATA_LOC || n->load == UFT_LOAD_REL_LOC) && n->words &&
		n->words <= UFT_HIST_TEXT_WORDS &&
	       n->at <= UFT_PROGRAM_RECORD - 4;
}

int uft_hist_row_is_good(const struct uft_hist_row *row, uint64_t bytes)
{
	uint32_t words = 0;

	if (row->bits < UFT_HIST_BITS_MIN || row->bits > UFT_HIST_ROW_BITS || !row->nkeys ||
	    row->nkeys > UFT_HIST_ROW_KEYS || row->nsums > UFT_HIST_ROW_SUMS || row->offset % 8 || row->offset > bytes)
		return 0;
	for (uint32_t i = 0; i < row->nkeys; words += uft_hist_key_words(&row->key[i++]))
		if (!(row->key[i].words ? is_good_text(&row->key[i]) : is_good_number(&row->key[i])))
			return 0;
	for (uint32_t i = 0; i < row->nsums; i++)
		if (row->sum[i].words || !is_good_number(&row->sum[i]))
			return 0;
	return row->key_words == words && uft_hist_map_bytes(row->bits, words + 1 + row->nsums) <= bytes - row->offset;
}

uint32_t uft_hist_row_facts(const struct uft_hist_row *row)
{
	uint32_t facts = 0;

	for (uint32_t i = 0; i < row->nkeys; i++)
		facts |= uft_load_facts(row->key[i].load);
	for (uint32_t i = 0; i < row->nsums; i++)
		facts |= uft_load_facts(row->sum[i].load);
	return facts;
}

struct uft_hist_map uft_hist_row_map(const struct uft_hist_row *row, void *region)
{
	return (struct uft_hist_map){
		.memory = (struct uft_hist_memory *)(void *)((char *)region + row->offset),
		.bits = row->bits, .key_words = row->key_words, .words = row->key_words + 1u + row->nsums,
	};
}

static uint64_t number_of(const struct uft_hist_number *n, const struct uft_record *r)
{
	uint64_t v = (uint64_t)load_number(n->load, n->at, r);

	return n->make == UFT_HIST_LOG2 ? uft_hist_log2(v) : n->make == UFT_HIST_BUCKET ? v / n->width * n->width : v;
}

/* Up to its 0, which it needs not have. 0: it is longer than the words. */
static int put_text(const struct uft_hist_number *n, const struct uft_record *r, uint64_t *key)
{
	uint32_t bytes, i;
	const uint8_t *text = uft_load_bytes(n->load, n->at, n->field, r, &bytes);

	for (i = 0; i < n->words; i++)
		key[i] = 0;
	for (i = 0; i < bytes && text[i]; i++) {
		if (i == 8u * n->words) /* GUARD(hist_text_room) */
			return 0;
		key[i / 8 /* GUARD(hist_text_room, i / 8 % n->words) */] |= (uint64_t)text[i] << i % 8 * 8;
	}
	return 1;
}

int uft_hist_row_count(const struct uft_hist_row *row, void *region, const struct uft_record *r)
{
	const struct uft_hist_map map = uft_hist_row_map(row, region);
	uint64_t key[UFT_HIST_KEY_WORDS], *to = key, *element;
	int is_new;

	for (uint32_t i = 0; i < row->nkeys; i++) {
		if (!row->key[i].words)
			*to = number_of(&row->key[i], r);
		else if (!put_text(&row->key[i], r, to))
			return 0;
		to += uft_hist_key_words(&row->key[i]);
	}
	element = uft_hist_map_element(&map, key, &is_new);
	if (!element)
		return 0;
	element += row->key_words;
	for (uint32_t i = 0; i < row->nsums; i++)
		uft_hist_add(&element[1 + i], number_of(&row->sum[i], r));
	uft_hist_add(element, 1);
	return 1;
}
