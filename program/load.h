/* SPDX-License-Identifier: MIT */
/* load.h - uft_load_number() within the interpreter, where a call and a table of jumps cost more than the rest */
#ifndef UFT_PROGRAM_LOAD_H
#define UFT_PROGRAM_LOAD_H

#include "program/program.h"

/* Fields are aligned mostly, and the processors of all ports read those that are not. */
typedef uint16_t any_u16 __attribute__((aligned(1), may_alias));
typedef uint32_t any_u32 __attribute__((aligned(1), may_alias));
typedef uint64_t any_u64 __attribute__((aligned(1), may_alias));

_Static_assert(UFT_LOAD_U8 == 0 && UFT_LOAD_U64 == 3 && UFT_LOAD_S8 == 4 && UFT_LOAD_S64 == 7, "two bits are the size, the third is the sign");

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

#endif
