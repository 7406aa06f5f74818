// SPDX-License-Identifier: MIT
/*
 * arm64_scan.c - find the branch targets of an arm64 object
 */
#include "control/relocate/internal.h"

#include "runtime/arch/arm64/encode.h"
#include "symbol/object_internal.h"

int arm64_jump(const uint8_t *p, uint64_t at, uint64_t *to)
{
	uint32_t w = elf_get32(p);

	return !a64_is_bl(w) && a64_direct_target(w, at, to);
}

void arm64_scan(struct scanner *sc, const struct scan_text *t)
{
	uint64_t page[32] = { 0 }, to;
	size_t k = 0, i = (size_t)(-t->addr & 3);

	for (; i + 4 <= t->n; i += 4) {
		uint32_t w = elf_get32(t->p + i);
		uint64_t at = t->addr + i;

		if (a64_is_bl(w))
			scan_called(sc, a64_branch_target(w, at));
		else if (a64_direct_target(w, at, &to))
			scan_jump(sc, &k, at, to, 1);
		else if (a64_is_adrp(w))
			page[w & 31] = a64_adr_target(w, at);
		else if (a64_is_adr(w))
			scan_pointer(sc, a64_adr_target(w, at));
		else if ((w & 0xffc00000u) == 0x91000000u && page[w >> 5 & 31])	/* add x, x, #n */
			scan_pointer(sc, page[w >> 5 & 31] + (w >> 10 & 0xfff));
	}
}
