/* SPDX-License-Identifier: MIT */
/*
 * insn.h - one instruction at a time, as text, for every architecture whose code uft knows
 *
 * Zydis, which the session needs in any case, decodes x86-64 (zydis.c). LLVM's disassembler, loaded on demand, decodes
 * arm64 and riscv64 (llvm.c). Context: control, one thread.
 */
#ifndef UFT_CMD_DISAS_INSN_H
#define UFT_CMD_DISAS_INSN_H

#include <stddef.h>
#include <stdint.h>

struct insn {
	unsigned len;
	char text[128];
	char link[64];		/* the part of the text that does not depend on an unknown address */
	char lead[64];		/* the text before the operand that says where it branches to */
	uint64_t to;		/* a direct branch leads there; */
	uint64_t slot;		/* an indirect branch goes by this pointer; 0: none */
	uint8_t has_to;
};

struct insn_reader {
	uint16_t machine;	/* EM_* */
	/* Call it before the first read. Returns NULL, or the name of what is missing. */
	const char *(*open)(void);
	/* Decodes the instruction at @p. Invalid bytes are "(bad)", with the least length of an instruction. */
	void (*read)(const uint8_t *p, size_t avail, uint64_t addr, struct insn *out);
	/* Its bytes in hexadecimal; @is_open: dots where its address will be. @out: 48 bytes. */
	void (*hex)(const uint8_t *p, unsigned len, int is_open, char *out);
};

extern const struct insn_reader insn_x86_64, insn_arm64, insn_riscv64;

#endif
