/* SPDX-License-Identifier: MIT */
/*
 * llvm.c - instructions of arm64 and riscv64 as text; see insn.h
 *
 * LLVM's disassembler has a small C interface that has been the same for ten years. The library is large, so
 * it is loaded here and nowhere else, whichever version is installed. Where branches lead is read from the
 * words themselves: the text has distances.
 */
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "cmd/disas/insn.h"
#include "runtime/arch/arm64/encode.h"
#include "runtime/arch/riscv64/encode.h"

#define PRINT_HEX	2	/* LLVMDisassembler_Option_PrintImmHex */

static struct {
	void *(*create)(const char *triple, const char *cpu, const char *features, void *info, int tag, void *ops,
			void *names);
	size_t (*text)(void *dis, uint8_t *p, uint64_t n, uint64_t pc, char *out, size_t size);
	int (*options)(void *dis, uint64_t options);
} llvm;

static void *dis;		/* for the machine that was opened last */

static void *load(void)
{
	static const char *const names[] = { "libLLVM-14.so.1", "libLLVM-15.so.1", "libLLVM-16.so.1", "libLLVM-17.so.1",
					     "libLLVM.so.18.1", "libLLVM.so.19.1", "libLLVM.so.20.1",
					     "libLLVM.so.21.1" };
	void *so = NULL;

	for (unsigned i = 0; !so && i < sizeof(names) / sizeof(names[0]); i++)
		so = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!so)
		return NULL;
	llvm.create = (__typeof__(llvm.create))dlsym(so, "LLVMCreateDisasmCPUFeatures");
	llvm.options = (__typeof__(llvm.options))dlsym(so, "LLVMSetDisasmOptions");
	llvm.text = (__typeof__(llvm.text))dlsym(so, "LLVMDisasmInstruction");
	return llvm.create && llvm.options && llvm.text ? so : NULL;
}

/* @target: as LLVM calls it. */
static const char *open_for(const char *target, const char *triple, const char *features)
{
	static const char *const parts[] = { "TargetInfo", "TargetMC", "Disassembler" };
	void *so = load(), (*init)(void);
	char name[64];

	dis = NULL;
	if (!so)
		return "its instructions are read by LLVM's library, which is not here: install libllvm14, or a newer one";
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		snprintf(name, sizeof(name), "LLVMInitialize%s%s", target, parts[i]);
		init = (__typeof__(init))dlsym(so, name);
		if (!init)
			return "LLVM's library was built without this machine";
		init();
	}
	dis = llvm.create(triple, "", features, NULL, 0, NULL, NULL);
	if (!dis)
		return "LLVM's library does not know this machine";
	llvm.options(dis, PRINT_HEX);
	return NULL;
}

static const char *arm64_open(void)
{
	return open_for("AArch64", "aarch64-linux-gnu", "+v8.6a,+sve2,+mte,+crypto,+rand,+ls64");
}

static const char *riscv64_open(void)
{
	return open_for("RISCV", "riscv64-linux-gnu", "+m,+a,+f,+d,+c");
}

static uint32_t word(const uint8_t *p, size_t n)
{
	uint32_t w = 0;

	memcpy(&w, p, n < 4 ? n : 4);
	return w;
}

/* The text up to the operand behind the first, or behind the last, separator. */
static void cut(char *out, size_t size, const char *text, int is_last)
{
	const char *at = is_last ? strrchr(text, ',') : strchr(text, ',');
	size_t n;

	if (!at)
		at = strchr(text, ' ');
	n = at ? (size_t)(at - text) : strlen(text);
	snprintf(out, size, "%.*s%s ", (int)n, text, at && *at == ',' ? "," : "");
}

static void read_text(const uint8_t *p, size_t avail, uint64_t addr, unsigned least, struct insn *out)
{
	char text[sizeof(out->text)] = "";
	char *from = text;
	size_t n = llvm.text(dis, (uint8_t *)p, avail, addr, text, sizeof(text));

	*out = (struct insn){ .len = n ? (unsigned)n : least };
	from += strspn(from, " \t");
	for (char *tab; (tab = strchr(from, '\t'));)
		*tab = ' ';
	snprintf(out->text, sizeof(out->text), "%s", n ? from : "(bad)");
	cut(out->link, sizeof(out->link), out->text, 0);
	cut(out->lead, sizeof(out->lead), out->text, 1);
}

static void arm64_read(const uint8_t *p, size_t avail, uint64_t addr, struct insn *out)
{
	read_text(p, avail, addr, avail < 4 ? (unsigned)avail : 4, out);
	out->has_to = out->len == 4 && a64_direct_target(word(p, 4), addr, &out->to);
}

static void riscv64_read(const uint8_t *p, size_t avail, uint64_t addr, struct insn *out)
{
	unsigned len = rv_length(p[0]);

	read_text(p, avail, addr, avail < len ? (unsigned)avail : len, out);
	out->has_to = avail >= len && rv_direct_target(word(p, len), addr, &out->to);
}

/* @open: bits that hold an address. */
static void put_hex(uint32_t w, uint32_t open, unsigned len, char *out)
{
	unsigned digits = 2 * len;

	for (unsigned i = 0; i < digits; i++) {
		unsigned shift = 4 * (digits - 1 - i);

		out[i] = open >> shift & 0xf ? '.' : "0123456789abcdef"[w >> shift & 0xf];
	}
	out[digits] = 0;
}

static void arm64_hex(const uint8_t *p, unsigned len, int is_open, char *out)
{
	uint32_t w = word(p, len);

	put_hex(w, is_open ? a64_address_bits(w) : 0, len, out);
}

static void riscv64_hex(const uint8_t *p, unsigned len, int is_open, char *out)
{
	uint32_t w = word(p, len);

	put_hex(w, is_open ? rv_address_bits(w) : 0, len, out);
}

const struct insn_reader insn_arm64 = { EM_AARCH64, arm64_open, arm64_read, arm64_hex };
const struct insn_reader insn_riscv64 = { EM_RISCV, riscv64_open, riscv64_read, riscv64_hex };
