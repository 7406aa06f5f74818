/* SPDX-License-Identifier: MIT */
/* arm64.h - what sites look like on arm64; internal to symbol/ */
#ifndef UFT_SYMBOL_ARM64_H
#define UFT_SYMBOL_ARM64_H

#include <stddef.h>
#include <stdint.h>

struct uft_object;

/* Where a call of libc's _mcount leads: PLT entries are recognised by the slot that they load. */
struct arm64_calls {
	struct uft_object *obj;
	uint64_t slot[2], func;		/* of imports of _mcount; its own address when linked statically. 0: none */
};

void arm64_calls_init(struct arm64_calls *c, struct uft_object *obj);
/* @n bytes at @p are nops, whole ones, and landing pads. */
int arm64_is_pad(const uint8_t *p, size_t n);
/* The site in a pad of @n bytes that the function's code follows: its offset, -1: none. */
long arm64_pad_site(const uint8_t *p, size_t n);
/*
 * The site of the function at @func, whose first @n bytes are at @p: its offset, kind and length; -1: there is none. *len
 * is the length of a pad that is too small, then.
 */
long arm64_site(const struct arm64_calls *c, uint64_t func, const uint8_t *p, size_t n, unsigned *kind, unsigned *len);

#endif
