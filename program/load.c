/* SPDX-License-Identifier: MIT */
/* load.c - values of a record; see program.h. Words of a record that say where others lie are not believed. */
#include "program/load.h"

static const uint8_t nothing[8];

static uint64_t word_at(const uint8_t *p, uint32_t n)
{
	uint64_t v = 0;

	for (uint32_t i = 0; i < n; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

int64_t uft_load_number(unsigned load, uint32_t at, const struct uft_record *r)
{
	return load_number(load, at, r);
}

const uint8_t *uft_load_bytes(unsigned load, uint32_t at, uint32_t field, const struct uft_record *r, uint32_t *n)
{
	uint32_t where, bytes = field;
	uint64_t from = at;

	*n = 0;
	if (load == UFT_LOAD_COMM) {
		while (r->comm && r->comm[*n])
			++*n;
		return r->comm ? (const uint8_t *)r->comm : nothing;
	}
	if (load == UFT_LOAD_DATA_LOC || load == UFT_LOAD_REL_LOC) {
		if (at > r->bytes || r->bytes - at < 4)
			return nothing;
		where = (uint32_t)word_at(r->payload + at, 4);
		bytes = where >> 16;
		where &= 0xffff;
		if (load == UFT_LOAD_DATA_LOC && where < 8)
			return nothing;
		from = load == UFT_LOAD_DATA_LOC ? where - 8ull : at + 4ull + where;
	}
	if (from + bytes > r->bytes)
		return nothing;
	*n = bytes;
	return r->payload + from;
}

uint32_t uft_load_facts(unsigned load)
{
	return load == UFT_LOAD_TID ? UFT_FACT_TID : load == UFT_LOAD_CPU ? UFT_FACT_CPU : load == UFT_LOAD_COMM ? UFT_FACT_COMM : 0;
}
