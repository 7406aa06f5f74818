/* SPDX-License-Identifier: MIT */
/* uw_cursor.h - internal to symbol/: reading unwind tables, and the instructions in them (cfa.c) */
#ifndef UFT_SYMBOL_UW_CURSOR_H
#define UFT_SYMBOL_UW_CURSOR_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/object.h"

/* A cursor over bytes whose virtual address is known. `p` NULL after an error. */
struct uw_cursor { const uint8_t *p, *end; uint64_t vaddr; };

static inline const uint8_t *uw_take(struct uw_cursor *c, size_t n)
{
	const uint8_t *p = c->p;

	if (!p || n > (size_t)(c->end - p)) {
		c->p = NULL;
		return NULL;
	}
	c->p += n;
	c->vaddr += n;
	return p;
}

static inline uint64_t uw_leb(struct uw_cursor *c, int is_signed)
{
	uint64_t value = 0;
	unsigned shift = 0;
	const uint8_t *p;

	while ((p = uw_take(c, 1))) {
		if (shift < 64)
			value |= (uint64_t)(*p & 0x7f) << shift;
		shift += 7;
		if (shift > 70) {	/* no valid value is that long */
			c->p = NULL;
			return 0;
		}
		if (!(*p & 0x80)) {
			if (is_signed && shift < 64 && *p & 0x40)
				value |= ~0ull << shift;
			return value;
		}
	}
	return 0;
}

/* Operands of call frame instructions below 0x40 (DW_CFA_*): u, s a LEB128, b a block, digits so many bytes. */
extern const char *const uw_operands[0x40];
void uw_skip_operands(struct uw_cursor *c, const char *what);

/*
 * Executes the instructions of @u, and calls @fn (unless NULL) for each stretch. *end gets the rule at the end,
 * *no_parent 1 if the return address is undefined; either may be NULL. Returns what @fn returned, 0 at the end.
 */
int uw_run(const struct uft_unwind *u, int (*fn)(void *arg, const struct uft_cfa *cfa), void *arg, struct uft_cfa *end,
	   int *no_parent);

#endif
