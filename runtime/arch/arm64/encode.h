/* SPDX-License-Identifier: MIT */
/*
 * encode.h - the arm64 instructions that uft writes and recognises
 *
 * Pure functions on 32-bit words: no memory, no system, no state. Shared by the runtime, the session and tests on any
 * host. Builders return the instruction, or 0 (which no CPU executes: UDF #0) when an operand does not fit.
 * tests/arch/encode compares every builder with the assembler's output.
 *
 * Source: Arm Architecture Reference Manual for A-profile, C6.2.
 */
#ifndef UFT_ARM64_ENCODE_H
#define UFT_ARM64_ENCODE_H

#include <stdint.h>

#define A64_NOP		0xd503201fu
#define A64_BTI_C	0xd503245fu	/* hint #34: where indirect calls may land */
#define A64_BTI_J	0xd503249fu
#define A64_BTI_JC	0xd50324dfu
#define A64_PACIASP	0xd503233fu	/* hint #25 */
#define A64_PACIBSP	0xd503237fu	/* hint #27 */
#define A64_MOV_X9_LR	0xaa1e03e9u	/* mov x9, x30 */
#define A64_SVC		0xd4000001u	/* svc #0 */

#define A64_INSN_BYTES	4
#define A64_REACH	(128ll << 20)	/* of b and bl, either way */

/* 1 when a branch at @pc reaches @target. */
static inline int a64_reaches(uint64_t pc, uint64_t target)
{
	int64_t d = (int64_t)(target - pc);

	return d >= -A64_REACH && d < A64_REACH && !(d & 3);
}

static inline uint32_t a64_branch(uint32_t op, uint64_t pc, uint64_t target)
{
	return a64_reaches(pc, target) ? op | ((uint32_t)((int64_t)(target - pc) >> 2) & 0x03ffffffu) : 0;
}

static inline uint32_t a64_b(uint64_t pc, uint64_t target)
{
	return a64_branch(0x14000000u, pc, target);
}

static inline uint32_t a64_bl(uint64_t pc, uint64_t target)
{
	return a64_branch(0x94000000u, pc, target);
}

static inline int a64_is_bl(uint32_t insn)
{
	return (insn & 0xfc000000u) == 0x94000000u;
}

/* The target of the b or bl at @pc. */
static inline uint64_t a64_branch_target(uint32_t insn, uint64_t pc)
{
	return pc + (uint64_t)((int64_t)(int32_t)(insn << 6) >> 4);
}

/* @bits of @insn from bit @low on, sign-extended. */
static inline int64_t a64_field(uint32_t insn, unsigned low, unsigned bits)
{
	return (int64_t)((uint64_t)insn << (64 - low - bits)) >> (64 - bits);
}

/* The target of the branch at @pc, if the instruction has it: b, bl, b.cond, cbz, cbnz, tbz, tbnz. */
static inline int a64_direct_target(uint32_t insn, uint64_t pc, uint64_t *target)
{
	int64_t d;

	if ((insn & 0x7c000000u) == 0x14000000u)
		d = a64_field(insn, 0, 26);
	else if ((insn & 0xff000000u) == 0x54000000u || (insn & 0x7e000000u) == 0x34000000u)
		d = a64_field(insn, 5, 19);
	else if ((insn & 0x7e000000u) == 0x36000000u)
		d = a64_field(insn, 5, 14);
	else
		return 0;
	*target = pc + (uint64_t)d * 4;
	return 1;
}

/* In instructions that uft writes: the bits that hold an address, or a part of a number. */
static inline uint32_t a64_address_bits(uint32_t insn)
{
	return (insn & 0x7c000000u) == 0x14000000u ? 0x03ffffffu : 0x00ffffe0u;	/* b, bl; ldr */
}

/* A landing pad of branch target identification at a function's entry. paciasp is one, too, but also signs. */
static inline int a64_is_bti(uint32_t insn)
{
	return insn == A64_BTI_C || insn == A64_BTI_J || insn == A64_BTI_JC;
}

/* ldr xd, label: the word of data at @target, 1 MiB either way */
static inline uint32_t a64_ldr_literal(unsigned reg, uint64_t pc, uint64_t target)
{
	int64_t d = (int64_t)(target - pc);

	if (d < -(1 << 20) || d >= 1 << 20 || d & 3)
		return 0;
	return 0x58000000u | ((uint32_t)(d >> 2) & 0x7ffffu) << 5 | reg;
}

static inline uint32_t a64_br(unsigned reg)
{
	return 0xd61f0000u | reg << 5;
}

static inline uint32_t a64_blr(unsigned reg)
{
	return 0xd63f0000u | reg << 5;
}

/* mov xd or wd, #number: as compilers and assemblers write it */
static inline int a64_is_mov(uint32_t insn, unsigned reg, uint16_t number)
{
	return (insn & 0x7fffffffu) == (0x52800000u | (uint32_t)number << 5 | reg);
}

/* ---- addresses in a register ---- */

static inline uint32_t a64_adr_of(uint32_t op, unsigned reg, int64_t d)
{
	if (d < -(1 << 20) || d >= 1 << 20)
		return 0;
	return op | ((uint32_t)d & 3) << 29 | ((uint32_t)(d >> 2) & 0x7ffffu) << 5 | reg;
}

/* adr xd, label: 1 MiB either way */
static inline uint32_t a64_adr(unsigned reg, uint64_t pc, uint64_t target)
{
	return a64_adr_of(0x10000000u, reg, (int64_t)(target - pc));
}

/* adrp xd, label: its page of 4 KiB, 4 GiB either way */
static inline uint32_t a64_adrp(unsigned reg, uint64_t pc, uint64_t target)
{
	return a64_adr_of(0x90000000u, reg, (int64_t)((target & ~0xfffull) - (pc & ~0xfffull)) >> 12);
}

/* add xd, xd, #:lo12:target; not for 31, which is sp here */
static inline uint32_t a64_add_lo12(unsigned reg, uint64_t target)
{
	return 0x91000000u | ((uint32_t)target & 0xfffu) << 10 | reg << 5 | reg;
}

static inline int a64_is_adr(uint32_t insn)
{
	return (insn & 0x9f000000u) == 0x10000000u;
}

static inline int a64_is_adrp(uint32_t insn)
{
	return (insn & 0x9f000000u) == 0x90000000u;
}

/* The value that the adr or adrp at @pc puts into its register. */
static inline uint64_t a64_adr_target(uint32_t insn, uint64_t pc)
{
	int64_t d = a64_field(insn, 5, 19) * 4 + (int64_t)(insn >> 29 & 3);

	return a64_is_adrp(insn) ? (pc & ~0xfffull) + (uint64_t)d * 4096 : pc + (uint64_t)d;
}

static inline uint32_t a64_mov(unsigned to, unsigned from)
{
	return 0xaa0003e0u | from << 16 | to;
}

#endif
