/* SPDX-License-Identifier: MIT */
/*
 * encode.h - the riscv64 instructions that uft writes and recognises
 *
 * Pure functions on 32-bit words: no memory, no system, no state. Shared by the runtime, the session and tests on any
 * host. Builders return the instruction, or 0 (which no CPU executes) when an operand does not fit.
 * tests/arch/encode compares every builder with the assembler's output.
 *
 * Source: The RISC-V Instruction Set Manual, volume I, chapters 2 (RV32I), 5 (RV64I) and 16 (C).
 */
#ifndef UFT_RISCV64_ENCODE_H
#define UFT_RISCV64_ENCODE_H

#include <stdint.h>

#define RV_NOP		0x00000013u	/* addi x0, x0, 0 */
#define RV_C_NOP	0x0001u
#define RV_C_NOPS	0x00010001u	/* two of them */

/* Registers, by the names of the ABI. */
#define RV_ZERO		0u
#define RV_RA		1u
#define RV_SP		2u
#define RV_TP		4u
#define RV_T0		5u		/* the other link register, which return predictors know */
#define RV_T1		6u
#define RV_T3		28u
#define RV_T4		29u
#define RV_T5		30u
#define RV_T6		31u

/* The reach from @pc of auipc and an instruction with twelve bits, and the two parts of the distance. */
static inline int rv_reaches(uint64_t pc, uint64_t target)
{
	int64_t d = (int64_t)(target - pc);

	return d >= -0x80000800ll && d < 0x7ffff800ll;
}

static inline uint32_t rv_hi20(uint64_t d)
{
	return (uint32_t)(d + 0x800) & 0xfffff000u;
}

static inline uint32_t rv_lo12(uint64_t d)
{
	return (uint32_t)d << 20;
}

static inline uint32_t rv_auipc(unsigned rd, uint64_t pc, uint64_t target)
{
	return rv_reaches(pc, target) ? rv_hi20(target - pc) | rd << 7 | 0x17u : 0;
}

/* The second word of a pair whose auipc is at @pc: jalr, ld. */
static inline uint32_t rv_jalr(unsigned rd, unsigned rs, uint64_t pc, uint64_t target)
{
	return rv_lo12(target - pc) | rs << 15 | rd << 7 | 0x67u;
}

static inline uint32_t rv_ld(unsigned rd, unsigned rs, uint64_t pc, uint64_t target)
{
	return rv_lo12(target - pc) | rs << 15 | 3u << 12 | rd << 7 | 0x03u;
}

static inline uint32_t rv_addi(unsigned rd, unsigned rs, uint64_t pc, uint64_t target)
{
	return rv_lo12(target - pc) | rs << 15 | rd << 7 | 0x13u;
}

static inline uint32_t rv_sd(unsigned reg, unsigned rs, unsigned offset)
{
	return (offset >> 5 & 0x7f) << 25 | reg << 20 | rs << 15 | 3u << 12 | (offset & 31) << 7 | 0x23u;
}

/* lw @rd, @offset(tp); if there is no offset, or it is too large: li @rd, 0 */
static inline uint32_t rv_number(unsigned rd, int32_t offset)
{
	if (!offset || offset < -2048 || offset > 2047)
		return rd << 7 | 0x13u;
	return (uint32_t)offset << 20 | RV_TP << 15 | 2u << 12 | rd << 7 | 0x03u;
}

/* If @word loads from tp or stores there: the same, but @offset further. 0: it does not fit. Other words stay. */
static inline uint32_t rv_from_tp(uint32_t word, int64_t offset)
{
	int is_store = (word & 0x7f) == 0x23;

	if ((word >> 15 & 31) != RV_TP || (!is_store && (word & 0x7f) != 0x03))
		return word;
	offset += is_store ? ((int32_t)word >> 25) * 32 + (int32_t)(word >> 7 & 31) : (int32_t)word >> 20;
	if (offset < -2048 || offset > 2047)
		return 0;
	if (is_store)
		return (word & 0x01fff07fu) | ((uint32_t)offset >> 5 & 0x7f) << 25 | ((uint32_t)offset & 31) << 7;
	return (word & 0xfffffu) | (uint32_t)offset << 20;
}

static inline uint32_t rv_jr(unsigned rs)
{
	return rv_jalr(RV_ZERO, rs, 0, 0);
}

/* jal: 1 MiB either way */
static inline uint32_t rv_jal(unsigned rd, uint64_t pc, uint64_t target)
{
	int64_t d = (int64_t)(target - pc);
	uint32_t u = (uint32_t)d;

	if (d < -(1 << 20) || d >= 1 << 20 || d & 1)
		return 0;
	return (u >> 20 & 1) << 31 | (u >> 1 & 0x3ff) << 21 | (u >> 11 & 1) << 20 | (u >> 12 & 0xff) << 12 | rd << 7 |
	       0x6fu;
}

static inline int rv_is_jal(uint32_t insn, unsigned rd)
{
	return (insn & 0xfffu) == (rd << 7 | 0x6fu);
}

static inline uint64_t rv_jal_target(uint32_t insn, uint64_t pc)
{
	uint32_t u = (insn >> 21 & 0x3ff) << 1 | (insn >> 20 & 1) << 11 | (insn & 0xff000) | (insn >> 31) << 20;

	return pc + (uint64_t)((int64_t)(int32_t)(u << 11) >> 11);
}

/* Length of the instruction whose first byte is @first. */
static inline unsigned rv_length(uint8_t first)
{
	return (first & 3) == 3 ? 4 : 2;
}

/* @bits of a number, sign-extended. */
static inline int64_t rv_signed(uint32_t v, unsigned bits)
{
	return (int64_t)((uint64_t)v << (64 - bits)) >> (64 - bits);
}

/* The target of the branch at @pc, if the instruction has it: jal, beq and its like, c.j, c.beqz, c.bnez. */
static inline int rv_direct_target(uint32_t insn, uint64_t pc, uint64_t *target)
{
	int32_t d;

	if ((insn & 0x7fu) == 0x6fu) {
		*target = rv_jal_target(insn, pc);
		return 1;
	}
	if ((insn & 0x7fu) == 0x63u)
		d = rv_signed((insn >> 31) << 12 | (insn >> 7 & 1) << 11 | (insn >> 25 & 0x3f) << 5 |
				      (insn >> 8 & 0xf) << 1,
			      13);
	else if ((insn & 0xe003u) == 0xa001u)
		d = rv_signed((insn >> 12 & 1) << 11 | (insn >> 11 & 1) << 4 | (insn >> 9 & 3) << 8 |
			      (insn >> 8 & 1) << 10 |
			      (insn >> 7 & 1) << 6 | (insn >> 6 & 1) << 7 | (insn >> 3 & 7) << 1 | (insn >> 2 & 1) << 5,
			      12);
	else if ((insn & 0xc003u) == 0xc001u)
		d = rv_signed((insn >> 12 & 1) << 8 | (insn >> 10 & 3) << 3 | (insn >> 5 & 3) << 6 |
			      (insn >> 3 & 3) << 1 | (insn >> 2 & 1) << 5, 9);
	else
		return 0;
	*target = pc + (uint64_t)(int64_t)d;
	return 1;
}

/*
 * In instructions that uft writes: the bits that hold an address, or a part of a number: of auipc, lui, jal; of jalr,
 * ld, addiw.
 */
static inline uint32_t rv_address_bits(uint32_t insn)
{
	return (insn & 0x7fu) == 0x17u || (insn & 0x7fu) == 0x6fu ? 0xfffff000u : 0xfff00000u;
}

/* auipc @rd */
static inline int rv_is_auipc(uint32_t insn, unsigned rd)
{
	return (insn & 0xfffu) == (rd << 7 | 0x17u);
}

/* Is it jalr @rd, @rs or ld @rd, @rs: equal to @like except for the twelve bits? */
static inline int rv_is_like(uint32_t insn, uint32_t like)
{
	return !((insn ^ like) & 0xfffffu);
}

/* The target of auipc at @pc and its second word. */
static inline uint64_t rv_pair_target(uint32_t auipc, uint32_t second, uint64_t pc)
{
	return pc + (uint64_t)(int64_t)(int32_t)(auipc & 0xfffff000u) + (uint64_t)((int64_t)(int32_t)second >> 20);
}

#define RV_ECALL	0x00000073u

/* Does the instruction depend on registers alone, and change no more than one? Known are operations and lui. */
static inline int rv_is_of_registers(uint32_t insn)
{
	const unsigned op = insn & 0x7f, quarter = insn & 3, kind = insn >> 13 & 7;

	if (quarter == 3)
		return op == 0x37 || op == 0x13 || op == 0x1b || op == 0x33 || op == 0x3b;
	if (quarter == 1)
		return kind < 5;
	return quarter == 2 && (kind == 0 || (kind == 4 && (insn >> 2 & 31)));
}

/* The register that such an instruction writes and does not read, so it is free before; 0: none is known. */
static inline unsigned rv_defines(uint32_t insn)
{
	const unsigned rd = insn >> 7 & 31, op = insn & 0x7f;
	int reads = 1;

	if (!rv_is_of_registers(insn) || rd <= RV_TP)
		return 0;
	if ((insn & 3) == 3)
		reads = op != 0x37 && (rd == (insn >> 15 & 31) || (op & 0x20 && rd == (insn >> 20 & 31)));
	else if ((insn & 0xe003) == 0x4001 || (insn & 0xe003) == 0x6001)	/* c.li, c.lui */
		reads = 0;
	else if ((insn & 0xf003) == 0x8002)					/* c.mv */
		reads = rd == (insn >> 2 & 31);
	return reads ? 0 : rd;
}

/* A nop of four bytes, or two compressed ones. */
static inline int rv_is_nops(uint32_t word)
{
	return word == RV_NOP || word == RV_C_NOPS;
}

#endif
