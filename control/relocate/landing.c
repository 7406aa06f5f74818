// SPDX-License-Identifier: MIT
/*
 * landing.c - do exception handlers begin in a range? Tables of call sites, as gcc and clang write them
 */
#include "control/relocate/internal.h"

#include <string.h>

#include "symbol/object_internal.h"

enum { LP_OMIT = 0xff, LP_UDATA4 = 3, LP_ULEB = 1 };

static uint64_t leb(const uint8_t **p, const uint8_t *end)
{
	uint64_t v = 0;
	unsigned shift = 0;

	while (*p < end) {
		uint8_t b = *(*p)++;

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
		if (!(b & 0x80))
			return v;
	}
	*p = end + 1;		/* cut off */
	return 0;
}

static uint64_t number(const uint8_t **p, const uint8_t *end, unsigned enc)
{
	uint64_t v;

	if (enc == LP_ULEB)
		return leb(p, end);
	if (enc != LP_UDATA4 || end < *p || end - *p < 4) {
		*p = end + 1;
		return 0;
	}
	v = elf_get32(*p);
	*p += 4;
	return v;
}

/* The table is as gcc and clang write it, else nothing in it is believed and the function is left alone. */
int lands_in(struct uft_object *obj, struct entries_priv *pr, const struct uft_unwind *u, uint64_t addr, unsigned n)
{
	const uint8_t *p, *end;
	unsigned enc;
	uint64_t len;
	size_t avail;

	if (!u->lsda)
		return 0;
	p = elf_at(&object_priv(obj)->view, u->lsda, &avail);
	if (!p || avail < 4 || p[0] != LP_OMIT)
		return 1;
	end = p + avail;
	p++;
	if (*p++ != LP_OMIT)
		leb(&p, end);
	if (p >= end)
		return 1;
	enc = *p++ & 0xf;
	len = leb(&p, end);
	if (p > end || len > (uint64_t)(end - p) || !look_again(pr, len))
		return 1;
	for (end = p + len; p < end;) {
		uint64_t pad;

		number(&p, end, enc);
		number(&p, end, enc);
		pad = number(&p, end, enc);
		leb(&p, end);
		if (p > end || (pad && u->addr + pad - addr < n))
			return 1;
	}
	return 0;
}
