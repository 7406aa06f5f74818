/* SPDX-License-Identifier: MIT */
/*
 * encode.h - the x86_64 instructions that uft writes and recognises
 *
 * Pure functions on bytes: no memory but the caller's, no system, no state. Shared by the runtime, the session and
 * tests on any host (values are put together byte by byte, so the host's byte order does not matter). Builders return
 * the length written; recognisers return the length of the instruction, or 0 for another one. tests/arch/encode
 * compares every builder with the assembler's output.
 *
 * Source: Intel SDM volume 2 ("NOP", table 4-12; "CALL"; "JMP"), AMD64 volume 3.
 */
#ifndef UFT_ENCODE_H
#define UFT_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#define UFT_INSN_MAX		15

#define UFT_OP_CALL		0xe8	/* rel32 */
#define UFT_OP_JMP		0xe9	/* rel32 */
#define UFT_OP_JMP_SHORT	0xeb	/* rel8 */
#define UFT_OP_INT3		0xcc
#define UFT_OP_RET		0xc3
#define UFT_OP_NOP		0x90
#define UFT_OP_MOV_EAX		0xb8	/* imm32 */
#define UFT_OP_PUSH_RAX		0x50
#define UFT_OP_JC_SHORT		0x72	/* rel8 */
/* these four change flags only, which are dead (or, DF, clear) at a function's */
#define UFT_OP_CLC		0xf8
#define UFT_OP_STC		0xf9	/* entry: a displacement byte that is one of them does no harm to a thread */
#define UFT_OP_CMC		0xf5	/* that rested on it */
#define UFT_OP_CLD		0xfc
#define UFT_PFX_CS		0x2e	/* no effect before any instruction that uft writes */
#define UFT_PFX_OPSIZE		0x66	/* never before a branch: AMD CPUs would take 16 bits of displacement */
#define UFT_PFX_ADDRSIZE	0x67	/* no effect before a branch; linkers pad a relaxed call with it */

#define UFT_LEN_CALL		5
#define UFT_LEN_JMP		5
#define UFT_LEN_JMP_SHORT	2
#define UFT_LEN_ENDBR		4
#define UFT_LEN_MOV_EAX		5
#define UFT_LEN_SYSCALL		2
/* Stubs of hooks, for code that meets one on a stack: size, where the hook's address is in it */
#define UFT_HOOK_STUB_BYTES	64
#define UFT_HOOK_STUB_ADDR	56
#define UFT_HOOK_CALL_DEPTH	136	/* bytes on the stack while uft_asm_hook_syscall_any makes the call */
#define UFT_LEN_INDIRECT	6	/* call/jmp/push *disp32(%rip) */

/* ---- bytes ---- */

static inline void uft_put32(uint8_t *at, uint32_t v)
{
	at[0] = (uint8_t)v;
	at[1] = (uint8_t)(v >> 8);
	at[2] = (uint8_t)(v >> 16);
	at[3] = (uint8_t)(v >> 24);
}

static inline uint32_t uft_get32(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* 1 when an instruction that ends at @end reaches @target by a signed 32-bit displacement. */
static inline int uft_insn_reaches(uint64_t end, uint64_t target)
{
	int64_t d = (int64_t)(target - end);

	return d >= INT32_MIN && d <= INT32_MAX;
}

/* ---- nops ---- */

/* The n-byte nop, 1..15: the forms of the manuals up to 9, then more operand size prefixes as assemblers do. */
static inline size_t uft_insn_nop(uint8_t *at, size_t n)
{
	static const uint8_t form[9][9] = {
		{ 0x90 },
		{ 0x66, 0x90 },
		{ 0x0f, 0x1f, 0x00 },
		{ 0x0f, 0x1f, 0x40, 0x00 },
		{ 0x0f, 0x1f, 0x44, 0x00, 0x00 },
		{ 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00 },
		/* GUARD(encode_nop7, { 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00 }) */
		{ 0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00 },
		{ 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00 },
		{ 0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00 },
	};
	size_t i, long_form = n;

	if (!n || n > UFT_INSN_MAX)
		return 0;
	if (n > 9) {
		/* 66 ... 66 2e 0f 1f 84 00 disp32 */
		for (i = 0; i < n - 9; i++)
			at[i] = UFT_PFX_OPSIZE;
		at[i++] = UFT_PFX_CS;
		at += i;
		long_form = 8;
	}
	for (i = 0; i < long_form; i++)
		at[i] = form[long_form - 1][i];
	return n;
}

/*
 * Length of the nop at @at, of which @n bytes may be read; 0: not a nop. It knows one-byte nops with any prefixes that
 * have no effect there (66 90, 66 66 90; not f3 90, which is pause), and 0f 1f with any operand and with 66, 67,
 * segment and REX prefixes: all nops that gcc, clang, gas and the linkers emit.
 */
static inline size_t uft_insn_nop_length(const uint8_t *at, size_t n)
{
	size_t i = 0, len;
	uint8_t modrm;

	if (n > UFT_INSN_MAX)
		n = UFT_INSN_MAX;
	while (i < n && (at[i] == 0x66 || at[i] == 0x67 || at[i] == 0x2e || at[i] == 0x3e || at[i] == 0x26 ||
			 at[i] == 0x36))
		i++;
	if (i < n && at[i] == 0x48)	/* rex.w: 48 0f 1f, as old linkers relax */
		i++;
	if (i < n && at[i] == UFT_OP_NOP)
		return i + 1;
	if (i + 2 >= n || at[i] != 0x0f || at[i + 1] != 0x1f)
		return 0;
	modrm = at[i + 2];
	if (modrm >> 3 & 7)		/* only /0 is reserved as a nop */
		return 0;
	len = i + 3;
	if (modrm >> 6 != 3 && (modrm & 7) == 4) {	/* sib */
		if (len >= n)
			return 0;
		if (modrm >> 6 == 0 && (at[len] & 7) == 5)
			len += 4;
		len++;
	} else if (modrm >> 6 == 0 && (modrm & 7) == 5) {
		len += 4;
	}
	if (modrm >> 6 == 1)
		len += 1;
	else if (modrm >> 6 == 2)
		len += 4;
	return len <= n ? len : 0;
}

/* Bytes of whole nops at @at, at most @n; @first (may be NULL) gets the length of the first. */
static inline size_t uft_insn_nops_length(const uint8_t *at, size_t n, size_t *first)
{
	size_t total = 0, len;

	if (first)
		*first = 0;
	while (total < n && (len = uft_insn_nop_length(at + total, n - total))) {
		if (first && !total)
			*first = len;
		total += len;
	}
	return total;
}

/* 1 when the @n bytes are one-byte nops. */
static inline int uft_insn_is_nop1(const uint8_t *at, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (at[i] != UFT_OP_NOP)
			return 0;
	return n > 0;
}

/* ---- branches. @pc: the instruction's address; the caller has checked uft_insn_reaches() ---- */

static inline size_t uft_insn_call(uint8_t *at, uint64_t pc, uint64_t target)
{
	at[0] = UFT_OP_CALL;
	uft_put32(at + 1, (uint32_t)(target - (pc + 5)));
	return UFT_LEN_CALL;
}

static inline size_t uft_insn_jmp(uint8_t *at, uint64_t pc, uint64_t target)
{
	at[0] = UFT_OP_JMP;
	uft_put32(at + 1, (uint32_t)(target - (pc + 5)));
	return UFT_LEN_JMP;
}

/* Jumps over @skip bytes behind the two of the jump itself; negative: back. */
static inline size_t uft_insn_jmp_short(uint8_t *at, int8_t skip)
{
	at[0] = UFT_OP_JMP_SHORT;
	at[1] = (uint8_t)skip;
	return UFT_LEN_JMP_SHORT;
}

/* A direct call that is @n bytes long, 5..8, so that it returns to pc + n: addr32, then cs prefixes pad it. */
static inline size_t uft_insn_call_padded(uint8_t *at, size_t n, uint64_t pc, uint64_t target)
{
	size_t i;

	if (n < 5 || n > 8)
		return 0;
	for (i = 0; i + 5 < n; i++)
		at[i] = i ? UFT_PFX_CS : UFT_PFX_ADDRSIZE;
	return i + uft_insn_call(at + i, pc + i, target);
}

/* call *cell(%rip), jmp *cell(%rip), push cell(%rip) */
static inline size_t uft_insn_ff(uint8_t *at, uint8_t modrm, uint64_t pc, uint64_t cell)
{
	at[0] = 0xff;
	at[1] = modrm;
	uft_put32(at + 2, (uint32_t)(cell - (pc + 6)));
	return UFT_LEN_INDIRECT;
}

#define UFT_MODRM_CALL	0x15
#define UFT_MODRM_JMP	0x25
#define UFT_MODRM_PUSH	0x35

static inline size_t uft_insn_call_indirect(uint8_t *at, uint64_t pc, uint64_t cell)
{
	return uft_insn_ff(at, UFT_MODRM_CALL, pc, cell);
}

static inline size_t uft_insn_jmp_indirect(uint8_t *at, uint64_t pc, uint64_t cell)
{
	return uft_insn_ff(at, UFT_MODRM_JMP, pc, cell);
}

static inline size_t uft_insn_push_cell(uint8_t *at, uint64_t pc, uint64_t cell)
{
	return uft_insn_ff(at, UFT_MODRM_PUSH, pc, cell);
}

/* The target of the rel32 branch at @at, which is executed at @pc; @len: length of the whole instruction. */
static inline uint64_t uft_insn_branch_target(const uint8_t *at, size_t len, uint64_t pc)
{
	return pc + len + (uint64_t)(int64_t)(int32_t)uft_get32(at + len - 4);
}

/* call rel32, or the addr32 call that a linker made of an indirect one: 5, 6, or 0. */
static inline size_t uft_insn_is_call(const uint8_t *at)
{
	if (at[0] == UFT_OP_CALL)
		return 5;
	return at[0] == UFT_PFX_ADDRSIZE && at[1] == UFT_OP_CALL ? 6 : 0;
}

static inline size_t uft_insn_is_call_indirect(const uint8_t *at)
{
	return at[0] == 0xff && at[1] == UFT_MODRM_CALL ? 6 : 0;
}

static inline size_t uft_insn_is_jmp(const uint8_t *at)
{
	return at[0] == UFT_OP_JMP ? 5 : 0;
}

/* ---- other instructions ---- */

static inline size_t uft_insn_is_endbr(const uint8_t *at)
{
	return at[0] == 0xf3 && at[1] == 0x0f && at[2] == 0x1e && at[3] == 0xfa ? UFT_LEN_ENDBR : 0;
}

static inline size_t uft_insn_endbr(uint8_t *at)
{
	at[0] = 0xf3;
	at[1] = 0x0f;
	at[2] = 0x1e;
	at[3] = 0xfa;
	return UFT_LEN_ENDBR;
}

static inline size_t uft_insn_mov_eax(uint8_t *at, uint32_t imm)
{
	at[0] = UFT_OP_MOV_EAX;
	uft_put32(at + 1, imm);
	return UFT_LEN_MOV_EAX;
}

static inline size_t uft_insn_is_mov_eax(const uint8_t *at, uint32_t *imm)
{
	if (at[0] != UFT_OP_MOV_EAX)
		return 0;
	if (imm)
		*imm = uft_get32(at + 1);
	return UFT_LEN_MOV_EAX;
}

static inline size_t uft_insn_syscall(uint8_t *at)
{
	at[0] = 0x0f;
	at[1] = 0x05;
	return UFT_LEN_SYSCALL;
}

static inline size_t uft_insn_is_syscall(const uint8_t *at)
{
	return at[0] == 0x0f && at[1] == 0x05 ? UFT_LEN_SYSCALL : 0;
}

/* `mov $nr,%eax`, perhaps `xor %edi,%edi`, `syscall`: bytes before the syscall; 0: other instructions. */
static inline size_t uft_insn_call_of_number(const uint8_t *at)
{
	const size_t mov = uft_insn_is_mov_eax(at, NULL), xor = at[5] == 0x31 && at[6] == 0xff ? 2 : 0;

	return mov && uft_insn_is_syscall(at + mov + xor) ? mov + xor : 0;
}

static inline size_t uft_insn_push_rax(uint8_t *at)
{
	at[0] = UFT_OP_PUSH_RAX;
	return 1;
}

/* These two change or read flags: only for places where flags are dead. */
static inline size_t uft_insn_clc(uint8_t *at)
{
	at[0] = UFT_OP_CLC;
	return 1;
}

static inline size_t uft_insn_jc_short(uint8_t *at, int8_t skip)
{
	at[0] = UFT_OP_JC_SHORT;
	at[1] = (uint8_t)skip;
	return UFT_LEN_JMP_SHORT;
}

/* The last instruction of glibc's syscall() before its `syscall`, with the number in rax: mov 8(%rsp),%r9. */
static inline size_t uft_insn_is_last_argument(const uint8_t *at)
{
	return at[0] == 0x4c && at[1] == 0x8b && at[2] == 0x4c && at[3] == 0x24 && at[4] == 8 ? UFT_LEN_MOV_EAX : 0;
}

static inline size_t uft_insn_ret(uint8_t *at)
{
	at[0] = UFT_OP_RET;
	return 1;
}

/* lea disp(%rsp),%rsp: moves the stack pointer and keeps the flags. */
static inline size_t uft_insn_lea_rsp(uint8_t *at, int32_t disp)
{
	at[0] = 0x48; /* GUARD(encode_lea, 0x49) */
	at[1] = 0x8d;
	at[3] = 0x24;
	if (disp >= -128 && disp <= 127) {
		at[2] = 0x64;
		at[4] = (uint8_t)disp;
		return 5;
	}
	at[2] = 0xa4;
	uft_put32(at + 4, (uint32_t)disp);
	return 8;
}

#endif
