// SPDX-License-Identifier: MIT
/* plan.c - moving instructions; contract in plan.h */
#include "control/relocate/plan.h"

#include <errno.h>
#include <string.h>

#include <Zydis/Zydis.h>

#define MAX_FLAG_INSNS	32

static void decoder_init(ZydisDecoder *d)
{
	ZydisDecoderInit(d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

/* Where a relative branch at @at goes, as an offset in the code; no branch: 0, which no branch of interest reaches. */
static int64_t branch_target(const ZydisDecodedInstruction *in, size_t at)
{
	for (unsigned i = 0; i < 2; i++)
		if (in->raw.imm[i].is_relative)
			return (int64_t)at + in->length + in->raw.imm[i].value.s;
	return 0;
}

int plan_prologue(const uint8_t *code, size_t size, size_t need)
{
	ZydisDecodedInstruction in;
	ZydisDecoder d;
	size_t len = 0;

	decoder_init(&d);
	while (len < need) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d, NULL, code + len, size - len, &in)))
			return -EINVAL;
		if (in.attributes & ZYDIS_ATTRIB_IS_RELATIVE || in.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE ||
		    in.meta.category == ZYDIS_CATEGORY_SYSCALL || in.meta.category == ZYDIS_CATEGORY_INTERRUPT)
			return -ENOTSUP;
		len += in.length;
	}
	/* What cannot be decoded (data between code) ends the search: a compiler's branch comes before. */
	for (size_t at = len; at < size; at += in.length) {
		int64_t to;

		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d, NULL, code + at, size - at, &in)))
			break;
		to = branch_target(&in, at);
		if (to > 0 && to < (int64_t)len)
			return -ENOTSUP;
	}
	return (int)len;
}

int plan_is_boundary(const uint8_t *code, size_t size, size_t offset)
{
	ZydisDecodedInstruction in;
	ZydisDecoder d;
	size_t at = 0;

	decoder_init(&d);
	while (at < offset && ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d, NULL, code + at, size - at, &in)))
		at += in.length;
	return at == offset;
}

/* What nearly all functions do first: pushes and moves of registers, then an instruction that sets all flags. */
static int sets_flags_soon(const uint8_t *p, size_t n)
{
	size_t i = n > 4 && !memcmp(p, "\xf3\x0f\x1e\xfa", 4) ? 4 : 0, rex;	/* endbr64 */

	for (; i + 4 <= n; i += rex + 1) {
		rex = (p[i] & 0xf0) == 0x40;
		if ((p[i + rex] & 0xf8) == 0x50)
			continue;
		if ((p[i + rex] != 0x89 && p[i + rex] != 0x8b) || p[i + rex + 1] < 0xc0)
			break;
		i++;
	}
	if (i + 4 > n)
		return 0;
	rex = (p[i] & 0xf0) == 0x40;
	switch (p[i + rex]) {
	case 0x81: case 0x83:		/* but for adc and sbb, which read one */
		return (p[i + rex + 1] >> 3 & 7) != 2 && (p[i + rex + 1] >> 3 & 7) != 3;
	case 0x01: case 0x03: case 0x09: case 0x0b: case 0x21: case 0x23: case 0x29: case 0x2b: case 0x31: case 0x33:
	case 0x39: case 0x3b: case 0x84: case 0x85:
		return 1;
	default:
		return 0;
	}
}

int plan_takes_flags(const uint8_t *code, size_t size)
{
	uint32_t live = ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF | ZYDIS_CPUFLAG_SF |
			ZYDIS_CPUFLAG_OF;
	ZydisDecodedInstruction in;
	ZydisDecoder d;
	size_t at = 0;

	if (sets_flags_soon(code, size))
		return 0;
	decoder_init(&d);
	for (unsigned n = 0; n < MAX_FLAG_INSNS && live; n++, at += in.length) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d, NULL, code + at, size - at, &in)))
			return 0;
		if (in.cpu_flags && in.cpu_flags->tested & live)
			return 1;
		if (in.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE)
			return 0;
		if (in.cpu_flags)
			live &= ~(in.cpu_flags->modified | in.cpu_flags->set_0 | in.cpu_flags->set_1 |
				  in.cpu_flags->undefined);
	}
	return 0;
}
