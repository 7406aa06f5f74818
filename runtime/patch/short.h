/* SPDX-License-Identifier: MIT */
/*
 * short.h - code of at most eight bytes as a number: byte i is bits 8i
 */
#ifndef UFT_PATCH_SHORT_H
#define UFT_PATCH_SHORT_H

#include "runtime/patch/internal.h"

static inline uint64_t short_branch(uint8_t op, uintptr_t pc, uintptr_t target)
{
	return op | (uint64_t)(uint32_t)(target - (pc + 5)) << 8;
}

/* What makes a call one of @n bytes, 5..8. */
static inline uint64_t short_prefixes(unsigned n)
{
	static const uint32_t prefix[] = { 0, 0x67, 0x2e67, 0x2e2e67 };

	return prefix[n - 5];
}

/* uft_insn_call_padded(). */
static inline uint64_t short_call(unsigned n, uintptr_t pc, uintptr_t target)
{
	return short_prefixes(n) | short_branch(UFT_OP_CALL, pc + n - 5, target) << 8 * (n - 5);
}

/* One nop of @n bytes, 5..8. */
static inline uint64_t short_nop(unsigned n)
{
	static const uint64_t nop[] = {
		0x0000441f0f, 0x0000441f0f67 /* addr32: so a padded call differs from the second byte on only */,
		0x00000000801f0f, 0x0000000000841f0f,
	};

	return nop[n - 5];
}

#endif
