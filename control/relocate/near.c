// SPDX-License-Identifier: MIT
/*
 * near.c - short branches that lead to an entry
 *
 * A branch with 8 bits of displacement can stand anywhere within 130 bytes. Every byte there that could be
 * one and would lead to the bytes in question is a candidate, one function in five has any; then the function
 * it lies in is decoded, from its start, to see if an instruction begins there. What does not decode counts
 * as a branch.
 */
#include "control/relocate/internal.h"

#include <string.h>

#include <Zydis/Zydis.h>

#define REACH_BACK	(128u + ENTRY_JUMP)	/* bytes behind the site that reach it */
#define REACH_AHEAD	129u			/* bytes before it */

static int is_short_branch(unsigned b)
{
	return ((b & 0xf0) == 0x70) | (b == 0xeb) | ((b & 0xfc) == 0xe0);
}

/* Does an instruction of entry @i end with the two bytes at @at? */
static int is_real(struct entries_priv *pr, const struct scan_text *t, const struct entry *e, uint64_t at)
{
	uint64_t pc = e->func;
	ZydisDecodedInstruction in;
	ZydisDecoder d;

	if (!look_again(pr, at - pc))
		return 1;
	ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisDecoderEnableMode(&d, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
	while (pc <= at) {
		if (!ZYAN_SUCCESS(
			    ZydisDecoderDecodeInstruction(&d, NULL, t->p + (pc - t->addr), t->n - (pc - t->addr), &in)))
			return 1;
		pc += in.length;
	}
	return pc == at + 2 && in.raw.imm[0].is_relative;
}

/* Could any byte of the window be such a branch? Sixteen at a time; most windows have none. */
static int any_candidate(const uint8_t *p, size_t n, size_t site)
{
	typedef uint8_t bytes __attribute__((vector_size(16)));
	typedef uint64_t words __attribute__((vector_size(16)));
	static const bytes step = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	bytes found = { 0 }, op, disp, to;
	words all;

	/* Offsets modulo 256: a window is 262 bytes, so some candidates are none; the caller looks closer. */
	for (size_t at = 0; at < n; at += 16) {
		if (n - at < 16)
			at = n > 16 ? n - 16 : 0;
		memcpy(&op, p + at, 16);
		memcpy(&disp, p + at + 1, 16);
		to = disp + step + (uint8_t)(at + 2 - site + SHORT_BEFORE);
		found |= (bytes)(to < SHORT_BEFORE + ENTRY_JUMP) &
			 ((bytes)((op & 0xf0) == 0x70) | (bytes)(op == 0xeb) | (bytes)((op & 0xfc) == 0xe0));
	}
	all = (words)found;
	return (all[0] | all[1]) != 0;
}

unsigned short_branches(const struct entries *e, const struct scan_text *t, size_t i)
{
	const struct entry *own = &e->entry[i];
	size_t site = own->addr - t->addr, at = own->before ? site : site > REACH_AHEAD ? site - REACH_AHEAD : 0;
	size_t end = site + REACH_BACK < t->n - 1 ? site + REACH_BACK : t->n - 1;
	unsigned hits = 0;

	/* A compiler's function with a pad is not entered from the middle of another one. */
	if (own->before && own->func + own->size - t->addr < end)
		end = own->func + own->size - t->addr;
	if (at >= end || (end - at >= 16 && !any_candidate(t->p + at, end - at, site - at)))
		return 0;
	for (; at < end; at++) {
		unsigned to = (unsigned)(at + 2 + (size_t)(int8_t)t->p[at + 1] - site + SHORT_BEFORE);
		const struct entry *f;
		size_t k;

		if (to >= SHORT_BEFORE + ENTRY_JUMP || !is_short_branch(t->p[at]) || hits >> to & 1)
			continue;
		k = own->before ? i : entries_index(e, t->addr + at);
		f = k < e->n && t->addr + at - e->entry[k].func < e->entry[k].size ? &e->entry[k] : NULL;
		/* To its start from elsewhere is a call. */
		if (to <= SHORT_BEFORE && f != own)
			continue;
		if (!f || is_real(e->priv, t, f, t->addr + at))
			hits |= 1u << to;
	}
	return hits;
}
