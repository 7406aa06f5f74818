/* SPDX-License-Identifier: MIT */
/* hist_row.c - see hist_row.h */
#include "program/hist_row.h"
#include "program/load.h"

static int is_good_number(const struct uft_hist_number *n)
{
	return (n->load <= UFT_LOAD_S64 || n->load == UFT_LOAD_TID) && n->at < UFT_PROGRAM_RECORD && n->make < UFT_HIST_NMAKES &&
	       (n->make != UFT_HIST_BUCKET || n->width);
}

int uft_hist_row_is_good(const struct uft_hist_row *row, uint64_t bytes)
{
	if (row->bits < UFT_HIST_BITS_MIN || row->bits > UFT_HIST_ROW_BITS || !row->nkeys || row->nkeys > UFT_HIST_ROW_KEYS ||
	    row->nsums > UFT_HIST_ROW_SUMS || row->offset % 8 || row->offset > bytes ||
	    uft_hist_map_bytes(row->bits, row->nkeys + 1u + row->nsums) > bytes - row->offset)
		return 0;
	for (uint32_t i = 0; i < row->nkeys; i++)
		if (!is_good_number(&row->key[i]))
			return 0;
	for (uint32_t i = 0; i < row->nsums; i++)
		if (!is_good_number(&row->sum[i]))
			return 0;
	return 1;
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
		.bits = row->bits, .key_words = row->nkeys, .words = row->nkeys + 1u + row->nsums,
	};
}

static uint64_t number_of(const struct uft_hist_number *n, const struct uft_record *r)
{
	uint64_t v = (uint64_t)load_number(n->load, n->at, r);

	return n->make == UFT_HIST_LOG2 ? uft_hist_log2(v) : n->make == UFT_HIST_BUCKET ? v / n->width * n->width : v;
}

int uft_hist_row_count(const struct uft_hist_row *row, void *region, const struct uft_record *r)
{
	const struct uft_hist_map map = uft_hist_row_map(row, region);
	uint64_t key[UFT_HIST_ROW_KEYS], *element;
	int is_new;

	for (uint32_t i = 0; i < row->nkeys; i++)
		key[i] = number_of(&row->key[i], r);
	element = uft_hist_map_element(&map, key, &is_new);
	if (!element)
		return 0;
	for (uint32_t i = 0; i < row->nsums; i++)
		uft_hist_add(&element[row->nkeys + 1 + i], number_of(&row->sum[i], r));
	uft_hist_add(&element[row->nkeys], 1);
	return 1;
}
