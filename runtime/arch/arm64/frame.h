/* SPDX-License-Identifier: MIT */
/*
 * frame.h - the frame that a prologue has made, for calls behind it (mcount), arm64
 *
 * The return address is in the frame record that x29 names. Frames are told apart by the stack pointer at the entry: it
 * is as far above the record as the prologue has moved down. The prologue is read backwards from the call. A function
 * whose prologue is not understood has no graph.
 *
 * gcc passes the return address to mcount. clang passes none: x0 then is the function's own argument.
 */
#ifndef UFT_ARM64_FRAME_H
#define UFT_ARM64_FRAME_H

#include <stdint.h>

#include "runtime/arch/arm64/encode.h"

/* x29 names a frame record: x29 and x30 of the caller. (Compilers keep it unless an option forbids it.) */
#define ARCH_HAS_RECORDS	1
/* Forms in which a function stores its return address: unsigned, signed by paciasp, signed by pacibsp. */
#define ARCH_RETURN_FORMS	3

/*
 * The return address @value in the form in which a function that was entered with @sp stores it. If signing is off, all
 * forms are the same.
 */
static inline uint64_t arch_return_form(uint64_t value, uint64_t sp, unsigned form)
{
#ifdef __aarch64__
	register uint64_t x17 __asm__("x17") = value, x16 __asm__("x16") = sp;

	if (form == 1)
		__asm__("hint #8" : "+r"(x17) : "r"(x16));	/* pacia1716 */
	else if (form == 2)
		__asm__("hint #10" : "+r"(x17) : "r"(x16));	/* pacib1716 */
	return x17;
#else
	(void)sp, (void)form;
	return value;
#endif
}

#define A64_SIGN_WORDS		32	/* a body signs before it stores, mostly at once */

/*
 * The form that the body behind a stub uses, found in its code; @ret: where the body returns to in the stub, behind the
 * `bl` to it.
 */
static inline unsigned arch_return_signs(uint64_t ret)
{
	const uint32_t *w = (const uint32_t *)(ret - 4);

	for (int i = 0; i < A64_SIGN_WORDS && *w != 0xd65f03c0u; i++) {
		if (*w == 0xd503233fu || *w == 0xd503237fu)	/* paciasp, pacibsp */
			return *w == 0xd503233fu ? 1 : 2;
		/* a branch: the stub's, or from a moved entry back to the function */
		if (!i || (*w & 0xfc000000u) == 0x14000000u)
			w += (int32_t)(*w << 6) >> 6;
		else
			w++;
	}
	return 0;
}

#define ARCH_FRAME_BARE		(1u << 23)	/* mcount has no argument */
#define A64_RET			0xd65f03c0u
#define A64_FRAME_WORDS		64	/* arguments are stored before the call: at most so many words */
#define A64_PROLOGUE_WORDS	12

/* ldp and stp: bytes of the signed offset of two registers of 8 */
static inline int64_t a64_pair_offset(uint32_t w)
{
	return (int64_t)((int32_t)(w << 10) >> 25) * 8;
}

/* sub sp, sp, #n {, lsl #12} */
static inline int a64_is_sp_sub(uint32_t w)
{
	return (w & 0xff8003ff) == 0xd10003ff;
}

/* sub sp, sp, x */
static inline int a64_is_sub_x(uint32_t w)
{
	return (w & 0xffe0ffff) == 0xcb2063ff;
}

/* Bytes by which @at moves the stack pointer down; 0: it does not; -1: not by a constant. */
static inline int64_t a64_stack_down(const uint32_t *at)
{
	uint32_t w = *at;

	if (a64_is_sp_sub(w))
		return (int64_t)(w >> 10 & 0xfff) << (w >> 22 & 1) * 12;
	if ((w & 0xbfc003e0) == 0xa98003e0 || (w & 0xffc003e0) == 0x6d8003e0)	/* stp ., ., [sp, #-n]! */
		return -a64_pair_offset(w);
	if ((w & 0xfbe00fe0) == 0xf8000fe0)		/* str x, [sp, #-n]!; str d, ... */
		return -(int64_t)((int32_t)(w << 11) >> 23);
	if (!a64_is_sub_x(w))
		return 0;
	/* mov x, #n */
	return (at[-1] & 0xffe0001f) == (0xd2800000 | (w >> 16 & 31)) ? (int64_t)(at[-1] >> 5 & 0xffff) : -1;
}

/* Stores of registers in the frame, between the move of the stack pointer and the instruction that sets x29. */
static inline int a64_is_frame_store(uint32_t w)
{
	return (w & 0xffc003e0) == 0xa90003e0 || (w & 0xffc003e0) == 0x6d0003e0 || (w & 0xffc003e0) == 0xf90003e0 ||
	       (w & 0xffc003e0) == 0xfd0003e0;
}

/* mov x0, x; ldr x0: sets mcount's argument. No other instruction needs x0 before the call. */
static inline int a64_is_x0_set(uint32_t w)
{
	return (w & 0xffe0ffff) == 0xaa0003e0 || (w & 0xffc0001f) == 0xf9400000 || (w & 0xffe00c1f) == 0xf8400000;
}

/*
 * Words of 8 bytes from x29 at @site to the stack pointer at the entry; 0: unknown, or the return address is signed.
 * May have ARCH_FRAME_BARE.
 */
static inline uint32_t arch_mcount_frame(const uint32_t *site, const uint32_t *lowest)
{
	const uint32_t *at = site, *end = site - lowest > A64_FRAME_WORDS ? site - A64_FRAME_WORDS : lowest;
	uint32_t bare = ARCH_FRAME_BARE;
	int64_t record, down = 0;

	do {						/* add x29, sp, #record */
		if (--at <= end + 1 || *at == A64_RET)
			return 0;
		if (a64_is_x0_set(*at))
			bare = 0;
	} while ((*at & 0xffc003ff) != 0x910003fd);
	record = *at >> 10 & 0xfff;
	end = at - lowest > A64_PROLOGUE_WORDS ? at - A64_PROLOGUE_WORDS : lowest + 1;
	while (!down) {
		if (--at <= end)
			return 0;
		down = a64_stack_down(at);
		if (!down && !a64_is_frame_store(*at))
			return 0;
	}
	if (a64_is_sp_sub(*at) && a64_is_sp_sub(at[-1]))	/* a number that does not fit in one instruction */
		down += a64_stack_down(--at);
	if (a64_is_sub_x(*at))			/* the mov */
		at--;
	/* A frame that is made in pieces, with a store in each (-fstack-clash-protection). */
	if (a64_is_frame_store(at[-1]) || (at[-1] & 0xff000010) == 0x54000000 /* b.cond */)
		return 0;
	if (down < 0 || at[-1] == A64_PACIASP || at[-1] == A64_PACIBSP || a64_stack_down(at - 1) || down <= record ||
	    (down - record) & 7)
		return 0;
	return (uint32_t)(down - record) / 8 | bare;
}

/* The slot of the return address and the frame's name, from the function's value of @base (x29). */
static inline uint64_t *arch_mcount_slot(uint32_t frame, uint64_t base, uint64_t *name)
{
	*name = base + 8ull * (frame & ~ARCH_FRAME_BARE);
	return (uint64_t *)(base + 8);
}

#endif
