/* SPDX-License-Identifier: MIT */
/* isa.h - sites on machines with instructions of whole words; internal to symbol/ */
#ifndef UFT_SYMBOL_ISA_H
#define UFT_SYMBOL_ISA_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/object_internal.h"

#define ISA_MCOUNT_BYTES	128	/* a call of _mcount lies within so many of the entry */

/* Finds calls of libc's _mcount: the slot that a PLT entry loads identifies the entry. */
struct isa_calls {
	struct uft_object *obj;
	uint64_t slot[2], func;		/* of imports of _mcount; its own address when linked statically. 0: none */
};

struct isa {
	unsigned mcount_len;	/* of a call of _mcount before linking, and of the nops in its place */
	unsigned call_type[2];	/* its relocation */
	/* Are the @n bytes at @p whole nops and landing pads? */
	int (*is_pad)(const uint8_t *p, size_t n);
	/* Returns the offset of the site in a pad of @n bytes at @at in front of the function's code; -1: none. */
	long (*pad_site)(uint64_t at, const uint8_t *p, size_t n);
	/*
	 * Returns the offset of the site of the function at @func, whose first @n bytes are at @p, and its kind and
	 * length; -1: none, and *len is then the length of a pad that is too small.
	 */
	long (*site)(const struct isa_calls *c, uint64_t func, const uint8_t *p, size_t n, unsigned *kind,
		     unsigned *len);
	/* Returns the slot that the PLT entry at @at of c->obj jumps through; 0: no PLT entry. */
	uint64_t (*plt_slot)(const struct isa_calls *c, uint64_t at);
};

extern const struct isa arm64_isa, riscv64_isa;

/* NULL: the machine's instructions are not whole words. */
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
