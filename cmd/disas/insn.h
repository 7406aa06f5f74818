/* SPDX-License-Identifier: MIT */
/*
 * insn.h - one instruction at a time, as text, for every architecture whose code uft knows
 *
 * x86-64 is read by Zydis, which the session needs in any case (zydis.c); arm64 and riscv64 by LLVM's
 * disassembler (llvm.c), which is loaded when it is asked for. Context: control, one thread.
 */
#ifndef UFT_CMD_DISAS_INSN_H
#define UFT_CMD_DISAS_INSN_H

#include <stddef.h>
#include <stdint.h>

struct insn {
	unsigned len;
	char text[128];
	char link[64];		/* the text as far as it stays when its address is not known yet */
	char lead[64];		/* the text before the operand that says where it branches to */
	uint64_t to;		/* a direct branch leads there; */
	uint64_t slot;		/* an indirect one goes by this pointer; 0: it is no such */
	uint8_t has_to;
};

struct insn_reader {
	uint16_t machine;	/* EM_* */
	/* Before the first read: NULL, or what is missing. */
	const char *(*open)(void);
	/* Decodes the instruction at @p. Bytes that are none are "(bad)", of the least length that there is. */
	void (*read)(const uint8_t *p, size_t avail, uint64_t addr, struct insn *out);
	/* Its bytes in hexadecimal; @is_open: dots where its address will be. @out: 48 bytes. */
	void (*hex)(const uint8_t *p, unsigned len, int is_open, char *out);
};

extern const struct insn_reader insn_x86_64, insn_arm64, insn_riscv64;

#endif
