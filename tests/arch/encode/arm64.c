/* SPDX-License-Identifier: MIT */
/* arm64.c - every builder of arm64 against the assembler's words: arm64 FILE, the text of arm64.S, raw; case by case */
#include <stdio.h>
#include <string.h>

#include "runtime/arch/arm64/encode.h"

static int failures;

static void check(const char *what, int ok)
{
	if (!ok) {
		fprintf(stderr, "encode: arm64: %s\n", what);
		failures++;
	}
}

/* Word @i, which stands at address 4 * i. 0: there are no more. */
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
	case 11: return a64_movz_w(17, 0x1234);
	case 12: return a64_movk_w_lsl16(17, 0xfedc);
	case 13: return a64_ldr_literal(16, pc, 0);
	case 14: return a64_ldr_literal(16, pc, pc + 0xffffc);
	case 15: return a64_br(16);
	case 16: return a64_br(30);
	}
	return 0;
}

static void check_words(FILE *f)
{
	uint8_t b[4];
	unsigned i;

	for (i = 0; fread(b, 1, 4, f) == 4; i++) {
		uint32_t want = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24, got = build(i);

		if (want != got) {
			fprintf(stderr, "encode: arm64: case %u: %08x, the assembler says %08x\n", i, got, want);
			failures++;
		}
	}
	check("as many cases as the assembler has", i == 17 && !build(i));
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
	check("landing pads", a64_is_bti(A64_BTI_C) && a64_is_bti(A64_BTI_JC) && !a64_is_bti(A64_PACIASP));
}

int main(int argc, char **argv)
{
	FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;

	if (!f)
		return 2;
	check_words(f);
	check_rules();
	fclose(f);
	return failures != 0;
}
