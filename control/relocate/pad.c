// SPDX-License-Identifier: MIT
/*
 * pad.c - padding between functions that can hold a jump
 *
 * What lies between the end of one unwind entry and the start of the next, begins right behind the first one's last
 * instruction, and is nops or int3 throughout, is nobody's: the last instruction does not run on into it and nothing
 * leads there. Zeros are not used: they may be data.
 */
#include "control/relocate/internal.h"

#include <string.h>

#include <Zydis/Zydis.h>

#include "runtime/arch/x86_64/encode.h"

#define GAP_MAX		128u	/* bytes looked at */
#define GAP_DECODE	512u	/* bytes of a long function that are decoded to find its last instruction */

size_t pad_length(const uint8_t *p, size_t n)
{
	size_t at = 0, len;

	for (; at < n; at += len) {
		len = p[at] == UFT_OP_INT3 ? 1 : uft_insn_nop_length(p + at, n - at);
		if (!len)
			break;
	}
	return at;
}

/* The last instruction of [addr, end) goes elsewhere: ret, jmp, a trap, or a call of what does not return. */
static int ends_there(const struct scan_text *t, uint64_t addr, uint64_t end)
{
	ZydisDecodedInstruction in;
	ZydisDecoder d;

	if (end - addr > 2 * GAP_DECODE)
		addr = end - GAP_DECODE;
	ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	memset(&in, 0, sizeof(in));
	while (addr < end) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d, NULL, t->p + (addr - t->addr), end - addr, &in)))
			return 0;
		addr += in.length;
	}
	return in.meta.category == ZYDIS_CATEGORY_RET || in.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
	       in.meta.category == ZYDIS_CATEGORY_CALL || in.mnemonic == ZYDIS_MNEMONIC_UD2 ||
	       in.mnemonic == ZYDIS_MNEMONIC_HLT || in.mnemonic == ZYDIS_MNEMONIC_INT3;
}

static void gap_learn(struct entries *e, const struct scan_text *t, size_t i)
{
	const struct entry *f = &e->entry[i];
	struct gap *g = &e->priv->gap[i];
	uint64_t end = f->func + f->size, next = i + 1 < e->n ? e->entry[i + 1].func : end;
	unsigned need = f->addr + ENTRY_JUMP > end ? (unsigned)(f->addr + ENTRY_JUMP - end) : 0;
	size_t n;

	g->state = GAP_NONE;
	if (f->skip == ENTRY_NO_UNWIND || !f->size || end - t->addr >= t->n || next <= end || next - t->addr > t->n)
		return;
	n = next - end < GAP_MAX ? next - end : GAP_MAX;
	n = pad_length(t->p + (end - t->addr), n);
	/* The entry itself needs the first bytes if it is shorter than a jump. */
	if (n < need + ENTRY_JUMP || !ends_there(t, f->func, end))
		return;
	*g = (struct gap){ GAP_FREE, (uint8_t)need, (uint8_t)n };
}

/* The highest pad of gap @i that a jump at @site reaches. */
static uint64_t gap_take(struct entries *e, const struct scan_text *t, size_t i, uint64_t site)
{
	uint64_t end = e->entry[i].func + e->entry[i].size;
	struct gap *g = &e->priv->gap[i];

	if (g->state == GAP_UNKNOWN)
		gap_learn(e, t, i);
	while (g->state == GAP_FREE && g->high - g->low >= (int)ENTRY_JUMP) {
		uint64_t pad = end + g->high - ENTRY_JUMP;
		int64_t jump = (int64_t)(pad - (site + ENTRY_SHORT_JUMP));

		if (jump < -128)
			return 0;
		if (jump <= 127) {
			g->high -= ENTRY_JUMP;
			if (!scan_any(t, t->target, pad, ENTRY_JUMP) && !entries_is_ours(e->priv, pad, ENTRY_JUMP))
				return pad;
			continue;
		}
		/* Too far: but what is nearer may be in reach, and what is skipped is small. */
		if (end + g->low + ENTRY_JUMP > site + ENTRY_SHORT_JUMP + 127 + ENTRY_JUMP)
			return 0;
		g->high--;
	}
	return 0;
}

uint64_t pad_take(struct entries *e, const struct scan_text *t, size_t i, uint64_t site)
{
	uint64_t pad = 0;

	for (size_t k = i; k < e->n && !pad && e->entry[k].func + e->entry[k].size < site + 130; k++)
		pad = gap_take(e, t, k, site);
	for (size_t k = i; k-- && !pad && e->entry[k].func + e->entry[k].size + GAP_MAX + 128 > site;)
		pad = gap_take(e, t, k, site);
	return pad;
}
