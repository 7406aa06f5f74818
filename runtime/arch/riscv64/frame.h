/* SPDX-License-Identifier: MIT */
/*
 * frame.h - the frame that a prologue has made, for calls behind it (mcount), riscv64
 *
 * There need be no frame pointer. The search goes backwards to an instruction that moves the stack pointer down, such
 * that a walk from there passes the store of ra and ends at the call. A function whose prologue is not understood has
 * no graph.
 *
 * gcc passes the return address to mcount. clang passes none: a0 then is the function's own argument. But clang keeps a
 * frame pointer, and ra lies below it: s0 is the stack pointer at the entry, or variable arguments lie between the two.
 */
#ifndef UFT_RISCV64_FRAME_H
#define UFT_RISCV64_FRAME_H

#include <stdint.h>

#define ARCH_HAS_RECORDS	0	/* s0 is a register like others */
#define ARCH_RETURN_FORMS	1	/* nothing is signed */

static inline uint64_t arch_return_form(uint64_t value, uint64_t sp, unsigned form)
{
	(void)sp, (void)form;
	return value;
}

static inline unsigned arch_return_signs(uint64_t ret)
{
	(void)ret;
	return 0;
}

#define ARCH_FRAME_BARE	(1u << 31)	/* mcount has no argument; the frame is that of s0 */
#define RV_FRAME_BYTES	192	/* arguments are stored before the call: at most so many bytes */

static inline uint32_t rv_at(const uint16_t *at)
{
	return at[0] | (uint32_t)at[1] << 16;
}

static inline int rv_is_long(uint16_t half)
{
	return (half & 3) == 3;
}

/* The number that the instruction adds to the stack pointer; 1: it changes the stack pointer in another way. */
static inline int64_t rv_stack_add(const uint16_t *at)
{
	uint32_t h = at[0], w = rv_is_long(at[0]) ? rv_at(at) : 0;

	if ((h & 0xef83) == 0x6101)		/* c.addi16sp */
		return rv_signed((h >> 12 & 1) << 9 | (h >> 3 & 3) << 7 | (h >> 5 & 1) << 6 | (h >> 2 & 1) << 5 |
					 (h >> 6 & 1) << 4,
				 10);
	if ((h & 0xef83) == 0x0101)		/* c.addi sp */
		return rv_signed((h >> 12 & 1) << 5 | (h >> 2 & 31), 6);
	if ((w & 0xfffff) == 0x10113)		/* addi sp, sp */
		return rv_signed(w >> 20, 12);
	if ((h & 0xef83) == 0x8102 && (h & 0x7c))	/* c.mv or c.add sp */
		return 1;
	return (w & 0xf80) == 2 << 7 && (w & 0x5f) == 0x13 ? 1 : 0;	/* arithmetic with the result in sp */
}

/* The value of t0 behind the instruction, if it was @t0 before: large frames have their size in t0. */
static inline int64_t rv_t0(const uint16_t *at, int64_t t0)
{
	uint32_t h = at[0], w = rv_is_long(at[0]) ? rv_at(at) : 0;

	if ((h & 0xef83) == 0x6281)		/* c.lui t0 */
		return rv_signed((h >> 12 & 1) << 5 | (h >> 2 & 31), 6) * 4096;
	if ((w & 0xfff) == 0x2b7)		/* lui t0 */
		return (int32_t)(w & 0xfffff000);
	if ((h & 0xef83) == 0x0281)		/* c.addi t0 */
		return t0 + rv_signed((h >> 12 & 1) << 5 | (h >> 2 & 31), 6);
	return (w & 0xfffff) == 0x28293 ? t0 + rv_signed(w >> 20, 12) : t0;	/* addi t0, t0 */
}

static inline int rv_adds_t0(const uint16_t *at)
{
	return at[0] == 0x9116 || rv_at(at) == 0x00510133;	/* add sp, sp, t0 */
}

/* Where the instruction stores ra, from the stack pointer; -1: it does not. */
static inline int64_t rv_ra_store(const uint16_t *at)
{
	uint32_t h = at[0], w;

	if ((h & 0xe07f) == 0xe006)		/* c.sdsp ra */
		return (h >> 10 & 7) << 3 | (h >> 7 & 7) << 6;
	w = rv_is_long(at[0]) ? rv_at(at) : 0;
	if ((w & 0x01fff07f) != 0x00113023)	/* sd ra, n(sp) */
		return -1;
	return rv_signed((w >> 25) << 5 | (w >> 7 & 31), 12);
}

/* The offset from the stack pointer that the instruction puts into s0; 0: none. */
static inline int64_t rv_s0_set(const uint16_t *at)
{
	uint32_t h = at[0], w = rv_is_long(at[0]) ? rv_at(at) : 0;

	if ((h & 0xe01f) == 0)			/* c.addi4spn s0 */
		return (h >> 11 & 3) << 4 | (h >> 7 & 15) << 6 | (h >> 6 & 1) << 2 | (h >> 5 & 1) << 3;
	return (w & 0xfffff) == 0x10413 ? rv_signed(w >> 20, 12) : 0;	/* addi s0, sp */
}

/* mv a0; ld a0: sets mcount's argument. No other instruction needs a0 before the call. */
static inline int rv_is_a0_set(const uint16_t *at)
{
	uint32_t h = at[0], w = rv_is_long(at[0]) ? rv_at(at) : 0;

	/* c.mv, c.ldsp, c.ld */
	if (((h & 0xff83) == 0x8502 && (h & 0x7c)) || (h & 0xef83) == 0x6502 || (h & 0xe01f) == 0x6008)
		return 1;
	return (w & 0xfff07fff) == 0x513 || (w & 0x7fff) == 0x3503;
}

/*
 * For the call @site, in words of 8 bytes: how far ra lies above sp there, and (upper half) the same for sp at the
 * entry; or ARCH_FRAME_BARE and how far sp at the entry lies above s0; 0: unknown.
 */
static inline uint32_t arch_mcount_frame(const uint32_t *site, const uint32_t *lowest)
{
	const uint16_t *call = (const uint16_t *)site, *first = call - 2;

	for (; first >= (const uint16_t *)lowest && call - first <= RV_FRAME_BYTES / 2; first--) {
		const uint16_t *at = first;
		int64_t down = 0, ra = -1, t0 = 0, s0 = -1;
		int is_lost = 0, has_argument = 0;

		if (rv_stack_add(first) >= 0)
			continue;
		for (; at < call; at += 1 + rv_is_long(*at)) {
			int64_t add = rv_adds_t0(at) ? t0 : rv_stack_add(at), store = rv_ra_store(at);

			t0 = rv_t0(at, t0);
			is_lost |= (add & 7) != 0;
			if (is_lost && s0 < 0)
				break;
			down -= add;
			if (store >= 0 && ra < 0)
				ra = down - store;	/* below sp at the entry */
			if (rv_s0_set(at) > 0 && s0 < 0 && ra == down - rv_s0_set(at) + 8)
				s0 = ra - 8;
			has_argument |= rv_is_a0_set(at);
		}
		if (at == call && !has_argument && s0 >= 0 && s0 < 1 << 10)
			return ARCH_FRAME_BARE | (uint32_t)s0 / 8;
		if (at == call && has_argument && !is_lost && ra >= 8 && ra <= down && down < 1 << 18)
			return (uint32_t)(down - ra) / 8 | (uint32_t)down / 8 << 16;
	}
	return 0;
}

/* The slot of the return address and the frame's name, from the function's value of @base (sp; in a bare frame s0). */
static inline uint64_t *arch_mcount_slot(uint32_t frame, uint64_t base, uint64_t *name)
{
	if (frame & ARCH_FRAME_BARE) {
		*name = base + 8ull * (frame & 0xffff);
		return (uint64_t *)(base - 8);
	}
	*name = base + 8ull * (frame >> 16);
	return (uint64_t *)(base + 8ull * (frame & 0xffff));
}

#endif
