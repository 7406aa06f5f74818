/* SPDX-License-Identifier: MIT */
/*
 * riscv64.c - every builder of riscv64 against the assembler's words: riscv64 FILE, the text of riscv64.S,
 * raw; case by case
 */
#define ARCH	"riscv64"
#define NCASES	21
#define NREADS	15
#include "tests/arch/encode/words.h"

#include "runtime/arch/riscv64/encode.h"

static uint32_t build(unsigned i)
{
	uint64_t pc = 4ull * i;

	switch (i) {
	case 0: return RV_NOP;
	case 1: return RV_C_NOPS;
	case 2: return rv_auipc(RV_T0, pc, pc + 0x12344800);
	case 3: return rv_auipc(RV_RA, pc, pc - 0x1000);
	case 4: return rv_jalr(RV_T0, RV_T0, pc, pc + 0x12344800);
	case 5: return rv_jalr(RV_T0, RV_T0, pc, pc + 0x7ff);
	case 6: return rv_jalr(RV_RA, RV_RA, pc, pc + 16);
	case 7: return rv_jalr(RV_RA, RV_T0, 0, 0);
	case 8: return rv_jr(RV_T4);
	case 9: return rv_ld(RV_T4, RV_T4, pc, pc - 8);
	case 10: return rv_jal(RV_RA, pc, 0);
	case 11: return rv_jal(RV_ZERO, pc, pc + 0xffffe);
	case 12: return rv_jal(RV_T1, pc, pc - 0x100000);
	case 13: return rv_jal(RV_T1, pc, pc + 0x800);
	case 14: return rv_number(RV_T5, -1680);
	case 15: return rv_number(RV_T5, 2047);
	case 16: return rv_number(RV_T5, -2049);
	case 17: return rv_from_tp(0x00023f03 /* ld t5, 0(tp) */, -2048);
	case 18: return rv_from_tp(0x00823f03 /* ld t5, 8(tp) */, 2039);
	case 19: return rv_from_tp(0x01e23423 /* sd t5, 8(tp) */, -100);
	case 20: return rv_from_tp(0x01e23423 /* sd t5, 8(tp) */, 2039);
	}
	return 0;
}

static const int64_t reads[NREADS] = { 0xffe, -0x1000, 0x7fe, -2, -0x100000, 0xffffe, NO_TARGET, NO_TARGET, 2046, -2048,
	0x2aa, 254,
				       -256, 0xaa, NO_TARGET };

static int read_target(uint32_t word, uint64_t pc, uint64_t *target)
{
	return rv_direct_target(rv_length((uint8_t)word) == 4 ? word : word & 0xffff, pc, target);
}

static void check_pair(uint64_t pc, uint64_t target)
{
	check("a pair leads where it was told",
	      rv_pair_target(rv_auipc(RV_T0, pc, target), rv_jalr(RV_T0, RV_T0, pc, target), pc) == target);
}

static void check_rules(void)
{
	const uint64_t pc = 0x10000000000;

	check("jal out of reach",
	      !rv_jal(RV_RA, pc, pc + 0x100000) && !rv_jal(RV_RA, pc, pc - 0x100002) && !rv_jal(RV_RA, pc, pc + 1));
	check("auipc out of reach", !rv_auipc(RV_T0, pc, pc + 0x7ffff800) && !rv_auipc(RV_T0, pc, pc - 0x80000801));
	check_pair(pc, pc + 0x7ffff7ff);
	check_pair(pc, pc - 0x80000800);
	check_pair(pc, pc + 0x800);
	check_pair(pc, pc - 0x801);
	check_pair(pc, pc + 0x7ff);
	check("jal target above", rv_jal_target(rv_jal(RV_RA, pc, pc + 0xff8fe), pc) == pc + 0xff8fe);
	check("jal target below", rv_jal_target(rv_jal(RV_RA, pc, pc - 0x100000), pc) == pc - 0x100000);
	check("jal is jal", rv_is_jal(rv_jal(RV_RA, 0, 64), RV_RA) && !rv_is_jal(rv_jal(RV_ZERO, 0, 64), RV_RA));
	check("auipc is auipc", rv_is_auipc(rv_auipc(RV_T3, 0, 1 << 20), RV_T3) &&
					!rv_is_auipc(rv_auipc(RV_T0, 0, 1 << 20), RV_T3) &&
					!rv_is_auipc(RV_NOP, RV_T3));
	check("like", rv_is_like(rv_jalr(RV_RA, RV_RA, 0, 77), rv_jalr(RV_RA, RV_RA, 0, 0)) &&
		      !rv_is_like(rv_jalr(RV_RA, RV_T0, 0, 77), rv_jalr(RV_RA, RV_RA, 0, 0)));
	check("bits of addresses", rv_address_bits(rv_auipc(RV_T0, 0, 0)) == 0xfffff000 &&
	      rv_address_bits(rv_jal(RV_RA, 0, 4)) == 0xfffff000 &&
	      rv_address_bits(rv_jalr(RV_RA, RV_RA, 0, 0)) == 0xfff00000 &&
	      rv_address_bits(rv_ld(RV_T4, RV_T4, 0, 0)) == 0xfff00000);
	check("tp: what does not fit", !rv_from_tp(0x00823f03, 2040) && !rv_from_tp(0x01e23423, -2057));
	check("tp: not a base, or no memory", rv_from_tp(0x01e53423 /* sd t5, 8(a0) */, 8) == 0x01e53423 &&
	      rv_from_tp(0x00420f33 /* add t5, tp, tp */, 8) == 0x00420f33);
	check("registers alone", rv_is_of_registers(0x0545 /* addi a0, 17 */) &&
	      rv_is_of_registers(0x9712 /* add a4, tp */) &&
	      rv_is_of_registers(0x7131 /* addi sp, -192 */) && !rv_is_of_registers(0x00a7e363 /* bltu */) &&
	      !rv_is_of_registers(0xe53e /* sd */) &&
	      !rv_is_of_registers(0x8082 /* ret */) && !rv_is_of_registers(0x9002 /* ebreak */) &&
	      !rv_is_of_registers(0xc10d /* beqz */) &&
	      !rv_is_of_registers(RV_ECALL) && !rv_is_of_registers(rv_auipc(RV_T0, 0, 4096)) &&
	      !rv_is_of_registers(rv_jalr(RV_RA, RV_T0, 0, 0)));
	check("free before", rv_defines(0x97020713 /* addi a4, tp, n */) == 14 &&
	      rv_defines(0x832a /* mv t1, a0 */) == RV_T1 &&
	      rv_defines(0x77fd /* lui a5 */) == 15 && rv_defines(0x4581 /* li a1, 0 */) == 11 &&
	      rv_defines(0x0dc00893 /* li a7, 220 */) == 17 &&
	      rv_defines(0x0005079b /* sext.w a5, a0 */) == 15 && rv_defines(0x40a006bb /* negw a3, a0 */) == 13);
	check("not free before", !rv_defines(0x0545) && !rv_defines(0x9712) && !rv_defines(0x7131) &&
	      !rv_defines(0x852a /* mv a0, a0 */) &&
	      !rv_defines(0x40d006bb /* negw a3, a3 */) && !rv_defines(RV_NOP) && !rv_defines(RV_C_NOP));
	check("nops", rv_is_nops(RV_NOP) && rv_is_nops(RV_C_NOPS) && !rv_is_nops(RV_C_NOP));
}
