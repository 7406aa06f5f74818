// SPDX-License-Identifier: MIT
/* plan.c - moving instructions; contract in plan.h */
#include "control/relocate/plan.h"

#include <errno.h>

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

int plan_takes_flags(const uint8_t *code, size_t size)
{
	uint32_t live = ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_ZF | ZYDIS_CPUFLAG_SF |
			ZYDIS_CPUFLAG_OF;
	ZydisDecodedInstruction in;
	ZydisDecoder d;
	size_t at = 0;

	decoder_init(&d);
	for (unsigned n = 0; n < MAX_FLAG_INSNS && live; n++, at += in.length) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d, NULL, code + at, size - at, &in)))
			return 0;
		if (in.cpu_flags && in.cpu_flags->tested & live)
			return 1;
		if (in.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE)
			return 0;
		if (in.cpu_flags)
			live &= ~(in.cpu_flags->modified | in.cpu_flags->set_0 | in.cpu_flags->set_1 | in.cpu_flags->undefined);
	}
	return 0;
}
