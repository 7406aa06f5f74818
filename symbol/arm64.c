/* SPDX-License-Identifier: MIT */
/*
 * arm64.c - forms of sites on arm64
 *
 *	[nop...] f: [bti c] nop nop	-fpatchable-function-entry=2 and more, before paciasp: the last two
 *	... bl _mcount		-pg, behind the prologue: by way of a PLT entry, or direct in a static program
 */
#include "symbol/isa.h"

#include "runtime/arch/arm64/encode.h"

/*
 * Returns the GOT slot that the PLT entry at @at jumps through: [bti c] adrp x16, page; ldr x17, [x16, #offset]; ... Or
 * 0: no PLT entry.
 */
static uint64_t plt_slot(const struct isa_calls *c, uint64_t at)
{
	size_t avail;
	const uint8_t *p = object_code(c->obj, at, &avail);
	uint32_t adrp, ldr;
	int64_t page;

	if (p && avail >= 4 && a64_is_bti(isa_word(p))) {
		p += 4;
		at += 4;
		avail -= 4;
	}
	if (!p || avail < 8)
		return 0;
	adrp = isa_word(p);
	ldr = isa_word(p + 4);
	if ((adrp & 0x9f00001fu) != 0x90000010u || (ldr & 0xffc003ffu) != 0xf9400211u)
		return 0;
	page = (int64_t)(int32_t)((adrp >> 5 & 0x7ffffu) << 13) >> 11 | (adrp >> 29 & 3);
	return (at & ~0xfffull) + ((uint64_t)page << 12) + (ldr >> 10 & 0xfffu) * 8;
}

static int arm64_is_pad(const uint8_t *p, size_t n)
{
	size_t at;

	for (at = 0; at + 4 <= n; at += 4)
		if (isa_word(p + at) != A64_NOP && !a64_is_bti(isa_word(p + at)))
			return 0;
	return at == n && n;
}

static int is_site(const uint8_t *p)
{
	return isa_word(p) == A64_NOP && isa_word(p + 4) == A64_NOP;
}

static long arm64_pad_site(uint64_t at, const uint8_t *p, size_t n)
{
	(void)at;
	return n >= 8 && arm64_is_pad(p, n) && is_site(p + n - 8) ? (long)n - 8 : -1;
}

static long arm64_site(const struct isa_calls *c, uint64_t func, const uint8_t *p, size_t n, unsigned *kind,
		       unsigned *len)
{
	size_t at = n >= 4 && a64_is_bti(isa_word(p)) ? 4 : 0;

	*len = 0;
	*kind = UFT_SITE_NOPS;
	if (n >= at + 8 && is_site(p + at)) {
		while (n >= at + 12 && is_site(p + at + 4))
			at += 4;
		*len = 8;
		return (long)at;
	}
	if (n >= at + 4 && isa_word(p + at) == A64_NOP)
		*len = 4;
	*kind = UFT_SITE_MCOUNT_CALL;
	for (at = 0; at + 4 <= n && at < ISA_MCOUNT_BYTES && (c->func || c->slot[0]); at += 4)
		if (a64_is_bl(isa_word(p + at)) &&
		    isa_leads_to_mcount(c, a64_branch_target(isa_word(p + at), func + at), plt_slot)) {
			*len = 4;
			return (long)at;
		}
	return -1;
}

const struct isa arm64_isa = { 4, { R_AARCH64_CALL26, R_AARCH64_CALL26 }, arm64_is_pad, arm64_pad_site, arm64_site,
				plt_slot };
