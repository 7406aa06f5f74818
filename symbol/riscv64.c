/* SPDX-License-Identifier: MIT */
/*
 * riscv64.c - forms of sites on riscv64
 *
 *	[nop...] f: nop nop nop nop	-fpatchable-function-entry=4 and more; compressed, where there are such,
 *					and then perhaps beginning between two words: the site is the last eight
 *					bytes that do not
 *	... jal _mcount			-pg, behind the prologue: by way of a PLT entry, or direct in a static program
 *	... auipc ra ; jalr ra		the same, linked with --no-relax or far away
 */
#include "symbol/isa.h"

#include "runtime/arch/riscv64/encode.h"

#define SITE_BYTES	8u

/* Returns the length of the nop at @p; 0: no nop. */
static size_t nop_length(const uint8_t *p, size_t n)
{
	if (n >= 4 && isa_word(p) == RV_NOP)
		return 4;
	return n >= 2 && (p[0] | p[1] << 8) == RV_C_NOP ? 2 : 0;
}

static int riscv64_is_pad(const uint8_t *p, size_t n)
{
	size_t at = 0, len;

	while (at < n && (len = nop_length(p + at, n - at)))
		at += len;
	return at == n && n;
}

/*
 * Returns the offset of the last nops at @p, from a whole word on, that make a site and hold no half of another
 * instruction. It takes the last because, where M of N,M is unknown, only those are known to lie behind the entry.
 */
static long find_site(uint64_t func, const uint8_t *p, size_t n, size_t *pad)
{
	size_t at = 0, len;
	long found = -1;

	for (; (len = nop_length(p + at, n - at)); at += len)
		if (!((func + at) & 3) && n - at >= SITE_BYTES && rv_is_nops(isa_word(p + at)) &&
		    rv_is_nops(isa_word(p + at + 4)))
			found = (long)at;
	*pad = at;
	return found;
}

static long riscv64_pad_site(uint64_t at, const uint8_t *p, size_t n)
{
	size_t pad;
	long found = find_site(at, p, n, &pad);

	return pad == n ? found : -1;
}

/*
 * Returns the GOT slot that the PLT entry at @at jumps through: auipc t3, page; ld t3, offset(t3); ... Or 0: no PLT
 * entry.
 */
static uint64_t plt_slot(const struct isa_calls *c, uint64_t at)
{
	size_t avail;
	const uint8_t *p = object_code(c->obj, at, &avail);

	if (!p || avail < 8 || !rv_is_auipc(isa_word(p), RV_T3) ||
	    !rv_is_like(isa_word(p + 4), rv_ld(RV_T3, RV_T3, 0, 0)))
		return 0;
	return rv_pair_target(isa_word(p), isa_word(p + 4), at);
}

/* Returns the length of the call of _mcount at @p; 0: no call. */
static unsigned mcount_length(const struct isa_calls *c, uint64_t at, const uint8_t *p, size_t n)
{
	if (n >= 4 && rv_is_jal(isa_word(p), RV_RA))
		return isa_leads_to_mcount(c, rv_jal_target(isa_word(p), at), plt_slot) ? 4 : 0;
	if (n < 8 || !rv_is_auipc(isa_word(p), RV_RA) || !rv_is_like(isa_word(p + 4), rv_jalr(RV_RA, RV_RA, 0, 0)))
		return 0;
	return isa_leads_to_mcount(c, rv_pair_target(isa_word(p), isa_word(p + 4), at), plt_slot) ? 8 : 0;
}

static long riscv64_site(const struct isa_calls *c, uint64_t func, const uint8_t *p, size_t n, unsigned *kind,
			 unsigned *len)
{
	size_t pad, at, insn;
	long found = find_site(func, p, n, &pad);

	*kind = UFT_SITE_NOPS;
	*len = found >= 0 ? SITE_BYTES : (unsigned)(pad < 15 ? pad : 15);
	if (found >= 0)
		return found;
	/* Every instruction tells its length in the low bits of its first half. */
	for (at = 0; at + 4 <= n && at < ISA_MCOUNT_BYTES && (c->func || c->slot[0]); at += insn) {
		unsigned call = mcount_length(c, func + at, p + at, n - at);

		insn = (p[at] & 3) == 3 ? 4 : 2;
		if (call) {
			*kind = UFT_SITE_MCOUNT_CALL;
			*len = call;
			return (long)at;
		}
	}
	return -1;
}

const struct isa riscv64_isa = { 8, { R_RISCV_CALL_PLT, R_RISCV_CALL }, riscv64_is_pad, riscv64_pad_site, riscv64_site,
				  plt_slot };
