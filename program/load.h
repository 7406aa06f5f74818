/* SPDX-License-Identifier: MIT */
/*
 * load.h - values of a record, inline in the interpreter, because a call and a jump table cost more than the load
 *
 * A word that gives the place of other bytes is checked before use.
 */
#ifndef UFT_PROGRAM_LOAD_H
#define UFT_PROGRAM_LOAD_H

#include "program/program.h"

/* Most fields are aligned; the processors of all ports read the others, too. */
typedef uint16_t any_u16 __attribute__((aligned(1), may_alias));
typedef uint32_t any_u32 __attribute__((aligned(1), may_alias));
typedef uint64_t any_u64 __attribute__((aligned(1), may_alias));

_Static_assert(UFT_LOAD_U8 == 0 && UFT_LOAD_U64 == 3 && UFT_LOAD_S8 == 4 && UFT_LOAD_S64 == 7,
	       "two bits are the size, the third is the sign");

static inline int64_t load_number(unsigned load, uint32_t at, const struct uft_record *r)
{
	uint32_t size = 1u << (load & 3);
	int is_signed = (load & 4) != 0;
	const uint8_t *p = r->payload + at;

	if (load > UFT_LOAD_S64)
		return load == UFT_LOAD_TID ? (int32_t)r->tid : load == UFT_LOAD_CPU ? (int32_t)r->cpu : 0;
	if (at > r->bytes || size > r->bytes - at)
		return 0;
	if (size == 4)
		return is_signed ? (int32_t)*(const any_u32 *)p : (int64_t)*(const any_u32 *)p;
	if (size == 8)
		return (int64_t)*(const any_u64 *)p;
	if (size == 2)
		return is_signed ? (int16_t)*(const any_u16 *)p : (int64_t)*(const any_u16 *)p;
	return is_signed ? (int8_t)*p : (int64_t)*p;
}

/* The bytes of UFT_LOAD_DATA_LOC or _REL_LOC. None if the word, or the bytes, are not all in the record. */
static inline const uint8_t *load_dynamic(unsigned load, uint32_t at, const struct uft_record *r, uint32_t *n)
{
	uint32_t word, bytes, from;

	*n = 0;
	if (at > r->bytes || r->bytes - at < 4)
		return r->payload;
	word = *(const any_u32 *)(r->payload + at);
	bytes = word >> 16;
	from = (word & 0xffff) + (load == UFT_LOAD_DATA_LOC ? 0u - 8 : at + 4);
	if (from > r->bytes || bytes > r->bytes - from) /* GUARD(load_in_record) */
		return r->payload;
	*n = bytes;
	return r->payload + from;
}

/* @mask: of @bytes, a bit for each CPU. */
static inline int load_is_in_cpus(const uint8_t *mask, uint32_t bytes, uint64_t cpu)
{
	return cpu < 8ull * bytes && mask[cpu / 8] >> cpu % 8 & 1;
}

/* @list: @bytes of numbers of threads and processes. */
static inline int load_is_task_in(const uint8_t *list, uint32_t bytes, const struct uft_record *r)
{
	for (uint32_t i = 0; i + 4 <= bytes; i += 4) {
		uint32_t number = *(const any_u32 *)(list + i);

		if (number == r->tid || number == r->pid)
			return 1;
	}
	return 0;
}

/* A text, which ends at a 0 or behind @n bytes, is the one of @nb bytes at @b. */
static inline int load_is_text(const uint8_t *a, uint32_t n, const uint8_t *b, uint32_t nb)
{
	for (uint32_t i = 0; i < nb; i++)
		if (i == n || a[i] != b[i])
			return 0;
	return n == nb || (n > nb && !a[nb]);
}

#endif
