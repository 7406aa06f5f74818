// SPDX-License-Identifier: MIT
/*
 * riscv64_scan.c - find the branch targets of a riscv64 object
 */
#include "control/relocate/internal.h"
#include "control/relocate/riscv64_insn.h"

#include <string.h>

/* instructions behind auipc that may be the second of its pair; compilers keep them together */
#define AUIPC_LOOK	2u

int riscv64_jump(const uint8_t *p, size_t avail, uint64_t at, uint64_t *to)
{
	unsigned len;
	uint32_t w = insn_at(p, avail, &len);

	return w && !is_call(w, len) && rv_direct_target(w, at, to);
}

void riscv64_scan(struct scanner *sc, const struct entries *e, const struct scan_text *t)
{
	uint64_t value = 0, to;			/* of an auipc just before */
	unsigned holder = 0, left = 0;
	size_t k = 0, next = 0, i = t->addr & 1;
	unsigned len;

	for (; i + 2 <= t->n; i += len) {
		uint32_t w = insn_at(t->p + i, t->n - i, &len);
		uint64_t at = t->addr + i;
		uint32_t jump = register_jump(w, len);

		while (next < e->n && e->entry[next].func <= at)
			next++;
		if (next < e->n && e->entry[next].func < at + len)	/* what stood before it is none */
			len = 2;
		if (!w)
			continue;
		left -= left != 0;
		if (jump && left && rs1_of(jump) == holder) {
			to = value + (uint64_t)((int64_t)(int32_t)jump >> 20);
			if (rd_of(jump))
				scan_called(sc, to);
			else
				scan_jump(sc, &k, at, to, 1);
		} else if (rv_direct_target(w, at, &to)) {
			if (is_call(w, len))
				scan_called(sc, to);
			else
				scan_jump(sc, &k, at, to, 1);
		} else if (len == 4 && (w & 0x7fu) == 0x17u) {
			value = at + (uint64_t)(int64_t)(int32_t)(w & 0xfffff000u);
			holder = rd_of(w);
			left = AUIPC_LOOK + 1;
		} else if (len == 4 && (w & 0x707fu) == 0x13u && left && rs1_of(w) == holder) {	/* addi */
			scan_pointer(sc, value + (uint64_t)((int64_t)(int32_t)w >> 20));
		}
	}
}
