/* SPDX-License-Identifier: MIT */
/* zydis.c - instructions of x86-64 as text; see insn.h */
#include <elf.h>
#include <stdio.h>

#include <Zydis/Zydis.h>

#include "cmd/disas/insn.h"
#include "runtime/arch/x86_64/encode.h"

#define ADDRESS_BYTES	4u	/* they end an instruction whose address is not known yet */

static ZydisDecoder decoder;
static ZydisFormatter formatter;

static const char *x86_open(void)
{
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_ATT);
	ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
	return NULL;
}

static void x86_read(const uint8_t *p, size_t avail, uint64_t addr, struct insn *out)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction in;
	uint64_t to;

	*out = (struct insn){ .len = 1 };
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, p, avail, &in, op)) ||
	    ZYAN_FAILED(ZydisFormatterFormatInstruction(&formatter, &in, op, in.operand_count_visible, out->text,
							sizeof(out->text), addr, NULL))) {
		snprintf(out->text, sizeof(out->text), "(bad)");
		return;
	}
	out->len = in.length;
	if (in.length > 1 && uft_insn_nop_length(p, in.length) == in.length)
		snprintf(out->text, sizeof(out->text), "nop (%u bytes)", in.length);
	snprintf(out->link, sizeof(out->link), "%s ", ZydisMnemonicGetString(in.mnemonic));
	snprintf(out->lead, sizeof(out->lead), "%s ", ZydisMnemonicGetString(in.mnemonic));
	if (in.meta.branch_type == ZYDIS_BRANCH_TYPE_NONE || ZYAN_FAILED(ZydisCalcAbsoluteAddress(&in, op, addr, &to)))
		return;
	if (op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		out->to = to;
		out->has_to = 1;
	} else if (op->type == ZYDIS_OPERAND_TYPE_MEMORY) {
		out->slot = to;
	}
}

static void x86_hex(const uint8_t *p, unsigned len, int is_open, char *out)
{
	for (unsigned i = 0; i < len; i++)
		out += is_open && i + ADDRESS_BYTES >= len ? sprintf(out, i ? " .." : "..") :
							     sprintf(out, i ? " %02x" : "%02x", p[i]);
}

const struct insn_reader insn_x86_64 = { EM_X86_64, x86_open, x86_read, x86_hex };
