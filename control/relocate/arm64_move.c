// SPDX-License-Identifier: MIT
/*
 * arm64_move.c - see arm64_move.h
 *
 *	adr, adrp		the same address: adr, or adrp and add
 *	ldr, ldrsw label	its address in the register itself, then the load; vectors and prfm: in x16
 *	b			b
 *	bl, blr			x30 as the original leaves it, then a branch: the callee returns behind the
 *				original at once
 *	b.cond, cb, tb		over the way back, behind which stands a b
 *	br, ret			as they are: nothing follows them
 *	what does not say where it stands	as it is
 *
 * Landing pads: our code is not guarded, so every indirect branch in it may land on any of them.
 */
#include "control/relocate/arm64_move.h"

#include <errno.h>

#include "runtime/arch/arm64/encode.h"
#include "symbol/elf_view.h"

#define IP0	16u
#define LR	30u
#define ZR	31u

static void put(struct arm64_move *m, uint32_t word)
{
	m->out[m->nout++] = word;
}

/* A word that is 0 did not fit. */
static int put_all(struct arm64_move *m, const uint32_t *word, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (!word[i])
			return -ERANGE;
		put(m, word[i]);
	}
	return 0;
}

static uint64_t here(const struct arm64_move *m)
{
	return m->to + 4ull * m->nout;
}

static int put_branch(struct arm64_move *m, uint64_t target)
{
	return put_all(m, &(uint32_t){ a64_b(here(m), target) }, 1);
}

static int put_address(struct arm64_move *m, unsigned reg, uint64_t target)
{
	return put_all(m, (const uint32_t[]){ a64_adrp(reg, here(m), target), a64_add_lo12(reg, target) }, 2);
}

static int back(struct arm64_move *m)
{
	return put_branch(m, m->from + A64_INSN_BYTES);
}

static int move_adr(struct arm64_move *m)
{
	uint64_t target = a64_adr_target(m->word, m->from);
	unsigned reg = m->word & 31;
	uint32_t same = a64_is_adrp(m->word) ? a64_adrp(reg, m->to, target) : a64_adr(reg, m->to, target);
	int ret = 0;

	if (same)
		put(m, same);
	else if (reg == ZR)
		put(m, A64_NOP);
	else if (a64_is_adrp(m->word))
		return -ERANGE;
	else
		ret = put_address(m, reg, target);
	return ret ? ret : back(m);
}

static int is_literal(uint32_t w)
{
	return (w & 0x3b000000u) == 0x18000000u;
}

static int move_literal(struct arm64_move *m)
{
	/* ldr w, ldr x, ldrsw, prfm; ldr s, d, q: from an address in a register */
	static const uint32_t by_register[2][4] = { { 0xb9400000u, 0xf9400000u, 0xb9800000u, 0xf9800000u },
						    { 0xbd400000u, 0xfd400000u, 0x3dc00000u, 0 } };
	unsigned opc = m->word >> 30, is_vector = m->word >> 26 & 1, reg = m->word & 31;
	unsigned base = is_vector || opc == 3 || reg == ZR ? IP0 : reg;
	int ret;

	if (!by_register[is_vector][opc])
		return -EINVAL;
	ret = put_address(m, base, m->from + (uint64_t)a64_field(m->word, 5, 19) * 4);
	if (ret)
		return ret;
	put(m, by_register[is_vector][opc] | base << 5 | reg);
	return back(m);
}

static int move_call(struct arm64_move *m, uint64_t target)
{
	int ret = put_address(m, LR, m->from + A64_INSN_BYTES);

	return ret ? ret : put_branch(m, target);
}

static int move_call_register(struct arm64_move *m)
{
	unsigned reg = m->word >> 5 & 31;
	int ret;

	if (reg == LR)
		put(m, a64_mov(IP0, LR));
	ret = put_address(m, LR, m->from + A64_INSN_BYTES);
	put(m, a64_br(reg == LR ? IP0 : reg));
	return ret;
}

/* b.cond, cbz, cbnz, tbz, tbnz: the same condition, two words ahead. */
static int move_condition(struct arm64_move *m, uint64_t target)
{
	int is_bit = (m->word & 0x7e000000u) == 0x36000000u, ret;

	put(m, (m->word & ~(is_bit ? 0x0007ffe0u : 0x00ffffe0u)) | 2u << 5);
	ret = back(m);
	return ret ? ret : put_branch(m, target);
}

/* br, blr, ret and their like. */
static int move_register_branch(struct arm64_move *m)
{
	if ((m->word & 0xfffffc1fu) == 0xd63f0000u)
		return move_call_register(m);
	/* br, ret; braa, brab and braaz, brabz; retaa, retab */
	if ((m->word & 0xfffffc1fu) == 0xd65f0000u || (m->word & 0xfffffc1fu) == 0xd61f0000u ||
	    (m->word & 0xfffff800u) == 0xd71f0800u ||
	    (m->word & 0xfffff81fu) == 0xd61f081fu || (m->word & 0xfffffbffu) == 0xd65f0bffu) {
		put(m, m->word);
		return 0;
	}
	return -ENOTSUP;
}

/*
 * Where it stands matters to it in another way than those above, or it is one of several that have to follow
 * each other.
 */
static int is_bound(uint32_t w)
{
	return (w & 0x3b200c00u) == 0x19000400u ||		/* cpyfp, setp, ...: with two more behind them */
	       (w & 0xffa0001fu) == 0xf380001fu ||		/* autiasppc label */
	       (w & 0xffffdbffu) == 0xdac183feu ||
		       w == 0xd50324ffu ||	/* paciasppc, pacm: the place goes into the signature */
	       (w & 0xffffffe0u) == 0xd5233060u;		/* tstart */
}

static int is_data(uint32_t w)
{
	unsigned group = w >> 25 & 15;

	return (!group && !(w >> 31)) || group == 1 || group == 3;
}

int arm64_move(struct arm64_move *m)
{
	uint32_t w = m->word;
	uint64_t target;

	m->nout = 0;
	if (is_data(w))
		return -EINVAL;
	if (is_bound(w))
		return -ENOTSUP;
	if (a64_is_adr(w) || a64_is_adrp(w))
		return move_adr(m);
	if (is_literal(w))
		return move_literal(m);
	if (a64_direct_target(w, m->from, &target))
		return a64_is_bl(w) ? move_call(m, target) : (w & 0xfc000000u) == 0x14000000u ? put_branch(m, target) :
		       move_condition(m, target);
	if ((w & 0xfe000000u) == 0xd6000000u)
		return move_register_branch(m);
	/* svc, brk, ...; branches that came later */
	if ((w & 0x1c000000u) == 0x14000000u && (w & 0xff000000u) != 0xd5000000u)
		return -ENOTSUP;
	put(m, w);
	return back(m);
}

unsigned arm64_lead(const uint8_t *p, size_t avail)
{
	uint32_t w = avail >= 8 ? elf_get32(p) : 0;

	return a64_is_bti(w) || w == A64_PACIASP || w == A64_PACIBSP ? 4 : 0;
}
