// SPDX-License-Identifier: MIT
/*
 * plan_words.c - decide which instructions at an entry can be moved unchanged, where they are words (plan.h)
 *
 * What moves an instruction writes it anew if it depends on where it stands. So what comes out as it went in does not.
 */
#include "control/relocate/arm64_move.h"
#include "control/relocate/plan.h"
#include "control/relocate/riscv64_move.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "runtime/arch/riscv64/encode.h"
#include "symbol/elf_view.h"

#define HERE		0x40000000u
#define ELSEWHERE	0x40003000u
#define RISCV_HOOK	8u		/* auipc ; jr */
#define LOOK		2048u		/* bytes: compilers branch to a function's start, if at all, from near */

static int plan_arm64(const uint8_t *code, size_t size, size_t *skip)
{
	struct arm64_move m = { .from = HERE, .to = ELSEWHERE };
	int ret;

	*skip = arm64_lead(code, size);
	if (size < *skip + 4)
		return -EINVAL;
	m.word = elf_get32(code + *skip);
	ret = arm64_move(&m);
	return ret == -EINVAL ? ret : !ret && m.nout == 2 && m.out[0] == m.word ? 4 : -ENOTSUP;
}

/* Is it t6 that one of the instructions reads or writes? Fields that are no registers count, too. */
static int uses_t6(const uint8_t *code, size_t n)
{
	for (size_t i = 0; i < n; i += rv_length(code[i])) {
		uint32_t w = rv_length(code[i]) == 4 ? elf_get32(code + i) : code[i] | (uint32_t)code[i + 1] << 8;

		if ((w >> 7 & 31) == RV_T6 ||
		    (rv_length(code[i]) == 4 ? (w >> 15 & 31) == RV_T6 || (w >> 20 & 31) == RV_T6 :
		     (w >> 2 & 31) == RV_T6))
			return 1;
	}
	return 0;
}

/* Does a branch of the function lead between them? */
static int is_entered(const uint8_t *code, size_t size, size_t n)
{
	unsigned len;
	uint64_t to;

	for (size_t i = 0; i + 4 <= size && i < LOOK; i += len) {
		len = rv_length(code[i]);
		if (rv_direct_target(len == 4 ? elf_get32(code + i) : code[i] | (uint32_t)code[i + 1] << 8, HERE + i,
				     &to) &&
		    to - HERE - 1 < n - 1)
			return 1;
	}
	return 0;
}

static int plan_riscv64(const uint8_t *code, size_t size)
{
	size_t n = 0;

	while (n < RISCV_HOOK) {
		struct riscv64_move m = { .from = HERE, .to = ELSEWHERE, .code = code + n, .avail = size - n };
		int ret = riscv64_move(&m);

		if (ret == -EINVAL)
			return ret;
		if (ret || m.ncode != m.nread + 4 || memcmp(m.out, m.code, m.nread))
			return -ENOTSUP;
		n += m.nread;
	}
	return uses_t6(code, n) || is_entered(code, size, n) ? -ENOTSUP : (int)n;
}

int plan_words(uint16_t machine, const uint8_t *code, size_t size, size_t *skip)
{
	*skip = 0;
	return machine == EM_AARCH64 ? plan_arm64(code, size, skip) : machine == EM_RISCV ? plan_riscv64(code, size) :
		-ENOTSUP;
}
