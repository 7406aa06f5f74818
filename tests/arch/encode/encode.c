/* SPDX-License-Identifier: MIT */
/*
 * encode.c - every builder against the assembler's bytes, every recogniser on what tools emit
 *
 *	encode FILE	FILE: the text of cases.S, raw (encode.sh assembles it)
 *
 * cases.S and the table below go line by line: 16 bytes a case, filled up with int3.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/arch/x86_64/encode.h"

#define CASE_BYTES	16

static int failures;

static void check(const char *what, int ok)
{
	if (!ok) {
		fprintf(stderr, "encode: %s\n", what);
		failures++;
	}
}

/* Writes case @i at @at, which stands at address @pc. Returns its length, 0: there are no more. */
static size_t build(unsigned i, uint8_t *at, uint64_t pc)
{
	if (i < 15)
		return uft_insn_nop(at, i + 1);
	switch (i - 15) {
	case 0: return uft_insn_call(at, pc, 0);
	case 1: return uft_insn_jmp(at, pc, 0);
	case 2: return uft_insn_jmp_short(at, 3);
	case 3: return uft_insn_jmp_short(at, -7);
	case 4: return uft_insn_call_padded(at, 5, pc, 0);
	case 5: return uft_insn_call_padded(at, 6, pc, 0);
	case 6: return uft_insn_call_indirect(at, pc, 0);
	case 7: return uft_insn_jmp_indirect(at, pc, 0);
	case 8: return uft_insn_push_cell(at, pc, 0);
	case 9: return uft_insn_endbr(at);
	case 10: return uft_insn_mov_eax(at, 0x12345678);
	case 11: return uft_insn_syscall(at);
	case 12: return uft_insn_push_rax(at);
	case 13: return uft_insn_ret(at);
	case 14: return uft_insn_lea_rsp(at, -128);
	case 15: return uft_insn_lea_rsp(at, 128);
	case 16: return uft_insn_lea_rsp(at, 8);
	case 17: return uft_insn_clc(at);
	case 18: return uft_insn_jc_short(at, 3);
	}
	return 0;
}

static void check_builders(const uint8_t *want, size_t bytes)
{
	uint8_t got[CASE_BYTES];
	size_t n, k;
	unsigned i;

	for (i = 0; ; i++) {
		memset(got, UFT_OP_INT3, sizeof(got));
		n = build(i, got, i * CASE_BYTES);
		if (!n)
			break;
		if ((i + 1) * CASE_BYTES > bytes || memcmp(got, want + i * CASE_BYTES, CASE_BYTES)) {
			fprintf(stderr, "case %u, %zu bytes:", i, n);
			for (k = 0; k < n; k++)
				fprintf(stderr, " %02x", got[k]);
			fputc('\n', stderr);
			failures++;
		}
	}
	check("as many cases here as in cases.S", i * CASE_BYTES == bytes);
}

static void check_nops(void)
{
	/* What gcc, clang, gas, ld and lld emit, by length; then what is no nop. */
	static const struct { const char *bytes; size_t n, len; } t[] = {
		{ "\x66\x90", 2, 2 }, { "\x66\x66\x90", 3, 3 }, { "\x0f\x1f\x44\x00\x08", 5, 5 },
		{ "\x66\x66\x2e\x0f\x1f\x84\0\0\0\0\0", 11, 11 }, { "\x48\x0f\x1f\x84\0\0\0\0\0", 9, 9 },
		{ "\x66\x66\x66\x66\x66\x66\x2e\x0f\x1f\x84\0\0\0\0\0", 15, 15 }, { "\x0f\x1f\xc0", 3, 3 },
		{ "\x67\x0f\x1f\x44\0\0", 6, 6 }, { "\x0f\x1f\x05\0\0\0\0", 7, 7 },
		{ "\x0f\x1f\x04\x25\0\0\0\0", 8, 8 },
		{ "\xf3\x90", 2, 0 }, { "\x0f\x1e\xfa", 3, 0 }, { "\x0f\x1f\x44\0", 4, 0 }, { "\x0f\x0b", 2, 0 },
		{ "\x66\x66", 2, 0 }, { "\x0f\x1f", 2, 0 }, { "\x0f\x1f\x48\0", 4, 0 }, { "\xcc", 1, 0 }, { "", 0, 0 },
		{ "\x49\x90", 2, 0 },
	};
	uint8_t buf[32];
	size_t i, n, first;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		if (uft_insn_nop_length((const uint8_t *)t[i].bytes, t[i].n) != t[i].len) {
			fprintf(stderr, "nop case %zu: %zu\n", i,
				uft_insn_nop_length((const uint8_t *)t[i].bytes, t[i].n));
			failures++;
		}
	}
	for (n = 1; n <= 15; n++) {
		memset(buf, UFT_OP_INT3, sizeof(buf));
		check("a nop is as long as asked for", uft_insn_nop(buf, n) == n && buf[n] == UFT_OP_INT3);
		check("a nop is recognised", uft_insn_nop_length(buf, 15) == n);
		check("a nop that is cut off is none", !uft_insn_nop_length(buf, n - 1) || n == 1);
	}
	check("no nop of 0 or 16 bytes", !uft_insn_nop(buf, 0) && !uft_insn_nop(buf, 16));
	uft_insn_nop(buf, 6);
	uft_insn_nop(buf + 6, 4);
	buf[10] = UFT_OP_RET;
	check("several nops", uft_insn_nops_length(buf, 15, &first) == 10 && first == 6);
	check("one-byte nops", uft_insn_is_nop1((const uint8_t *)"\x90\x90", 2) && !uft_insn_is_nop1(buf, 2));
}

static void check_recognisers(void)
{
	uint8_t b[16];
	uint32_t imm = 0;
	size_t n;

	for (n = 5; n <= 8; n++) {
		check("a padded call's length", uft_insn_call_padded(b, n, 0x1000, 0x400) == n);
		check("a padded call's target", uft_insn_branch_target(b, n, 0x1000) == 0x400);
	}
	check("no padded call of 4 or 9", !uft_insn_call_padded(b, 4, 0, 0) && !uft_insn_call_padded(b, 9, 0, 0));
	check("call",
	      uft_insn_is_call((const uint8_t *)"\xe8") == 5 && uft_insn_is_call((const uint8_t *)"\x67\xe8") == 6);
	check("not a call",
	      !uft_insn_is_call((const uint8_t *)"\xe9") && !uft_insn_is_call((const uint8_t *)"\x67\xe9"));
	check("call *", uft_insn_is_call_indirect((const uint8_t *)"\xff\x15") == 6 &&
			!uft_insn_is_call_indirect((const uint8_t *)"\xff\x25"));
	uft_insn_jmp(b, 0x7fff00000000, 0x7ffe90000000);
	check("jmp back", uft_insn_is_jmp(b) && uft_insn_branch_target(b, 5, 0x7fff00000000) == 0x7ffe90000000);
	uft_insn_endbr(b);
	check("endbr64", uft_insn_is_endbr(b) == 4 && !uft_insn_is_endbr((const uint8_t *)"\xf3\x0f\x1e\xfb"));
	uft_insn_mov_eax(b, 435);
	check("last argument", uft_insn_is_last_argument((const uint8_t *)"\x4c\x8b\x4c\x24\x08\x0f") == 5 &&
	      !uft_insn_is_last_argument((const uint8_t *)"\x4c\x8b\x4c\x24\x10\x0f"));
	check("mov eax", uft_insn_is_mov_eax(b, &imm) == 5 && imm == 435 && !uft_insn_is_mov_eax(b + 1, NULL));
	uft_insn_syscall(b);
	check("syscall", uft_insn_is_syscall(b) == 2 && !uft_insn_is_syscall(b + 1));
	check("reach", uft_insn_reaches(0, 0x7fffffff) && !uft_insn_reaches(0, 0x80000000) &&
		       uft_insn_reaches(0x80000000, 0) && !uft_insn_reaches(0x80000001, 0));
}

int main(int argc, char **argv)
{
	static uint8_t want[4096];
	FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
	size_t n;

	if (!f) {
		fprintf(stderr, "usage: encode FILE\n");
		return 2;
	}
	n = fread(want, 1, sizeof(want), f);
	fclose(f);
	check_builders(want, n);
	check_nops();
	check_recognisers();
	return failures != 0;
}
