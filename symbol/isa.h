/* SPDX-License-Identifier: MIT */
/* isa.h - what sites look like where instructions are words; internal to symbol/ */
#ifndef UFT_SYMBOL_ISA_H
#define UFT_SYMBOL_ISA_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/object_internal.h"

#define ISA_MCOUNT_BYTES	128	/* a call of _mcount lies within so many of the entry */

/* Where a call of libc's _mcount leads: PLT entries are recognised by the slot that they load. */
struct isa_calls {
	struct uft_object *obj;
	uint64_t slot[2], func;		/* of imports of _mcount; its own address when linked statically. 0: none */
};

struct isa {
	unsigned mcount_len;	/* of a call of _mcount before it is linked, and of the nops in its place */
	unsigned call_type[2];	/* its relocation */
	/* @n bytes at @p are nops, whole ones, and landing pads. */
	int (*is_pad)(const uint8_t *p, size_t n);
	/* The site in a pad of @n bytes at @at that the function's code follows: its offset, -1: none. */
	long (*pad_site)(uint64_t at, const uint8_t *p, size_t n);
	/*
	 * The site of the function at @func, whose first @n bytes are at @p: its offset, kind and length; -1:
	 * there is none. *len is the length of a pad that is too small, then.
	 */
	long (*site)(const struct isa_calls *c, uint64_t func, const uint8_t *p, size_t n, unsigned *kind,
		     unsigned *len);
	/* The slot that the PLT entry at @at of c->obj jumps through, 0: it is none. */
	uint64_t (*plt_slot)(const struct isa_calls *c, uint64_t at);
};

extern const struct isa arm64_isa, riscv64_isa;

/* NULL: instructions are not words. */
static inline const struct isa *isa_of(const struct uft_object *obj)
{
	return obj->machine == EM_AARCH64 ? &arm64_isa : obj->machine == EM_RISCV ? &riscv64_isa : NULL;
}

void isa_calls_init(struct isa_calls *c, struct uft_object *obj);
/* @plt_slot: that of struct isa. */
int isa_leads_to_mcount(const struct isa_calls *c, uint64_t target,
			  uint64_t (*plt_slot)(const struct isa_calls *c, uint64_t at));

static inline uint32_t isa_word(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

#endif
