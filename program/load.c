/* SPDX-License-Identifier: MIT */
/* load.c - values of a record; see program.h and load.h */
#include "program/load.h"

static const uint8_t nothing[8];

int64_t uft_load_number(unsigned load, uint32_t at, const struct uft_record *r)
{
	return load_number(load, at, r);
}

const uint8_t *uft_load_bytes(unsigned load, uint32_t at, uint32_t field, const struct uft_record *r, uint32_t *n)
{
	if (load == UFT_LOAD_DATA_LOC || load == UFT_LOAD_REL_LOC)
		return load_dynamic(load, at, r, n);
	*n = 0;
	if (load == UFT_LOAD_COMM) {
		while (r->comm && r->comm[*n])
			++*n;
		return r->comm ? (const uint8_t *)r->comm : nothing;
	}
	if ((uint64_t)at + field > r->bytes)
		return nothing;
	*n = field ? field : r->bytes - at;
	return r->payload + at;
}

uint32_t uft_load_facts(unsigned load)
{
	return load == UFT_LOAD_TID ? UFT_FACT_TID : load == UFT_LOAD_CPU ? UFT_FACT_CPU : load == UFT_LOAD_COMM ?
		UFT_FACT_COMM : 0;
}
