/* SPDX-License-Identifier: MIT */
/* arm64.c - every builder of arm64 against the assembler's words: arm64 FILE, the text of arm64.S, raw; case by case */
#define ARCH	"arm64"
#define NCASES	38
#define NREADS	12
#include "tests/arch/encode/words.h"

#include "runtime/arch/arm64/patch.h"

/* Its first word is case 20 - 6. */
static uint32_t slot_word(unsigned n)
{
	uint32_t w[ARCH_CODE_BYTES / 4] = { A64_PACIASP };

	return n < ARCH_CODE_BYTES / 4 && arch_make_code(w, 4 * 14, 0, 0, 0, 0x123456789abcdef0) ? w[n] : 0;
}

static uint32_t build(unsigned i)
{
	uint64_t pc = 4ull * i;

	switch (i) {
	case 0: return A64_NOP;
	case 1: return A64_BTI_C;
	case 2: return A64_BTI_J;
	case 3: return A64_BTI_JC;
	case 4: return A64_PACIASP;
	case 5: return A64_PACIBSP;
	case 6: return A64_MOV_X9_LR;
	case 7: return a64_b(pc, 0);
	case 8: return a64_bl(pc, 0);
	case 9: return a64_b(pc, pc + 0x7fffffc);
	case 10: return a64_bl(pc, pc - 0x8000000);
	case 11: return a64_ldr_literal(16, pc, 0);
	case 12: return a64_ldr_literal(16, pc, pc + 0xffffc);
	case 13: return a64_br(16);
	case 14: return a64_br(30);
	case 15: return a64_adr(5, pc, 0);
	case 16: return a64_adr(30, pc, pc + 0xfffff);
	case 17: return a64_adrp(3, pc, 0);
	case 18: return a64_add_lo12(3, 0x7123);
	case 19: return a64_mov(16, 30);
	}
	return i >= 20 ? slot_word(i - 14) : 0;
}

static const int64_t reads[NREADS] = { 0xffffc, -0x100000, 8, -4, 0x7ffc, -0x8000, -4, 0x100, NO_TARGET, NO_TARGET,
	NO_TARGET, NO_TARGET };

static int read_target(uint32_t word, uint64_t pc, uint64_t *target)
{
	return a64_direct_target(word, pc, target);
}

static void check_rules(void)
{
	check("out of reach above", !a64_bl(0x10000000, 0x10000000 + 0x8000000));
	check("out of reach below", !a64_b(0x10000000, 0x10000000 - 0x8000004));
	check("not a word", !a64_bl(0, 2));
	check("literal out of reach", !a64_ldr_literal(16, 0, 1 << 20) && !a64_ldr_literal(16, 0, 2));
	check("bl is bl", a64_is_bl(a64_bl(0, 64)) && !a64_is_bl(a64_b(0, 64)) && !a64_is_bl(A64_NOP));
	check("target above", a64_branch_target(a64_bl(4096, 0x7001000), 4096) == 0x7001000);
	check("target below", a64_branch_target(a64_bl(0x7001000, 4096), 0x7001000) == 4096);
	check("bits of addresses", a64_address_bits(a64_bl(0, 64)) == 0x03ffffff &&
	      a64_address_bits(a64_ldr_literal(16, 0, 0)) == (a64_ldr_literal(16, 8, 4) ^ a64_ldr_literal(16, 0, 0)));
	check("addresses out of reach",
	      !a64_adr(0, 0, 1 << 20) && !a64_adrp(0, 0, 1ull << 32) && a64_adrp(0, 0x1fff, 0x100001000 - 1));
	check("addresses read", a64_adr_target(a64_adr(3, 0x12345, 0x12340), 0x12345) == 0x12340 &&
	      a64_adr_target(a64_adrp(3, 0x98765432, 0x12345678), 0x98765432) == 0x12345000);
	check("numbers of calls", a64_is_mov(0xd2801b88 /* mov x8, #220 */, 8, 220) &&
	      a64_is_mov(0x52801b88 /* mov w8, #220 */, 8, 220) &&
	      !a64_is_mov(0xd2801b87 /* mov x7, #220 */, 8, 220) && !a64_is_mov(0xd2801b88, 8, 221) &&
	      !a64_is_mov(A64_NOP, 8, 220));
	check("blr", a64_blr(16) == 0xd63f0200);
	check("landing pads", a64_is_bti(A64_BTI_C) && a64_is_bti(A64_BTI_JC) && !a64_is_bti(A64_PACIASP));
}
