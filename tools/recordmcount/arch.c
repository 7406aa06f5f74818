// SPDX-License-Identifier: MIT
/*
 * arch.c - how each architecture calls mcount and __fentry__, as a table
 *
 * x86_64, as gcc 12 and clang 14 leave it in an object:
 *	e8 rel32		call __fentry__			R_X86_64_PLT32 (PC32 from old assemblers), addend -4
 *	ff 15 rel32		call *__fentry__@GOTPCREL(%rip)	R_X86_64_GOTPCRELX (GOTPCREL from old ones), addend -4
 *	67 e8 rel32		addr32 call: what linkers make of the second, so it is found in `ld -r` output
 * aarch64:
 *	bl _mcount			R_AARCH64_CALL26
 * riscv64, whose linker deletes bytes and follows symbols only (has_labels):
 *	auipc ra, 0; jalr ra, ra	R_RISCV_CALL_PLT (CALL from old assemblers), and R_RISCV_RELAX, which
 *					says nothing by itself
 * The nops are the ones that the kernel and the runtime use for these lengths: one instruction, so that no
 * thread can rest inside.
 */
#include <stdio.h>
#include <string.h>

#include "tools/recordmcount/internal.h"

/* The longer form first: 67 e8 ends in the bytes of e8. */
static const struct rm_call x86_64_calls[] = {
#define CALL_RELAXED(reloc) { .type = reloc, .addend = -4, .before = 2, .len = 6, .mask = { 0xff, 0xff }, \
			      .bytes = { 0x67, 0xe8 }, .nop = { 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00 } }
#define CALL_DIRECT(reloc) { .type = reloc, .addend = -4, .before = 1, .len = 5, .mask = { 0xff }, \
			     .bytes = { 0xe8 }, .nop = { 0x0f, 0x1f, 0x44, 0x00, 0x00 } }
#define CALL_GOT(reloc) { .type = reloc, .addend = -4, .before = 2, .len = 6, .mask = { 0xff, 0xff }, \
			  .bytes = { 0xff, 0x15 }, .nop = { 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00 } }
	CALL_RELAXED(R_X86_64_PLT32),
	CALL_RELAXED(R_X86_64_PC32),
	CALL_DIRECT(R_X86_64_PLT32),
	CALL_DIRECT(R_X86_64_PC32),
	CALL_GOT(R_X86_64_GOTPCRELX),
	CALL_GOT(R_X86_64_GOTPCREL),
	CALL_GOT(R_X86_64_REX_GOTPCRELX),
};

static const struct rm_call aarch64_calls[] = {
	{ .type = R_AARCH64_CALL26, .len = 4, .mask = { 0, 0, 0, 0xfc }, .bytes = { 0, 0, 0, 0x94 },
		.nop = { 0x1f, 0x20, 0x03, 0xd5 } },
};

static const struct rm_call riscv64_calls[] = {
#define CALL_PAIR(reloc) { .type = reloc, .len = 8, .mask = { 0xff, 0x0f, 0, 0, 0xff, 0xff, 0x0f, 0 }, \
			   .bytes = { 0x97, 0, 0, 0, 0xe7, 0x80, 0, 0 }, .nop = { 0x13, 0, 0, 0, 0x13, 0, 0, 0 } }
	CALL_PAIR(R_RISCV_CALL_PLT),
	CALL_PAIR(R_RISCV_CALL),
};

static const struct rm_arch rm_arches[] = {
	{ .machine = EM_X86_64, .name = "x86_64", .abs64 = R_X86_64_64,
	  .pad = { .len = 5, .bytes = { 0x90, 0x90, 0x90, 0x90, 0x90 }, .nop = { 0x0f, 0x1f, 0x44, 0x00, 0x00 },
		   .landing_len = 4, .landing = { 0xf3, 0x0f, 0x1e, 0xfa } /* endbr64 */ },
	  .calls = x86_64_calls, .ncalls = sizeof(x86_64_calls) / sizeof(x86_64_calls[0]) },
	{ .machine = EM_AARCH64, .name = "aarch64", .abs64 = R_AARCH64_ABS64,
	  .calls = aarch64_calls, .ncalls = sizeof(aarch64_calls) / sizeof(aarch64_calls[0]) },
	{ .machine = EM_RISCV, .name = "riscv64", .abs64 = R_RISCV_64, .has_labels = 1,
	  .calls = riscv64_calls, .ncalls = sizeof(riscv64_calls) / sizeof(riscv64_calls[0]) },
};

const struct rm_arch *rm_arch_find(uint16_t machine)
{
	for (size_t i = 0; i < sizeof(rm_arches) / sizeof(rm_arches[0]); i++)
		if (rm_arches[i].machine == machine)
			return &rm_arches[i];
	return NULL;
}

void rm_arch_names(char *text, size_t size)
{
	text[0] = 0;
	for (size_t i = 0; i < sizeof(rm_arches) / sizeof(rm_arches[0]); i++) {
		size_t n = strlen(text);

		snprintf(text + n, size - n, "%s%s", i ? ", " : "", rm_arches[i].name);
	}
}

static int bytes_fit(const struct rm_call *c, const uint8_t *insn)
{
	for (unsigned i = 0; i < c->len; i++)
		if ((insn[i] & c->mask[i]) != c->bytes[i])
			return 0;
	return 1;
}

const struct rm_call *rm_arch_call(const struct rm_arch *arch, const struct rm_sec *sec, const Elf64_Rela *r)
{
	for (size_t i = 0; i < arch->ncalls; i++) {
		const struct rm_call *c = &arch->calls[i];

		if (c->type != ELF64_R_TYPE(r->r_info) || c->addend != r->r_addend)
			continue;
		if (sec->h.sh_size < c->len || r->r_offset < c->before ||
		    r->r_offset - c->before > sec->h.sh_size - c->len)
			continue;
		if (bytes_fit(c, sec->data + r->r_offset - c->before))
			return c;
	}
	return NULL;
}
