/* SPDX-License-Identifier: MIT */
/*
 * riscv64_insn.h - internal to relocate/: parts of riscv64 instructions that the encoder does not need.
 * Context: any.
 */
#ifndef UFT_CONTROL_RELOCATE_RISCV64_INSN_H
#define UFT_CONTROL_RELOCATE_RISCV64_INSN_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/arch/riscv64/encode.h"
#include "symbol/object_internal.h"

/* The instruction at @p, of *len bytes; 0 and two where there is none. */
static inline uint32_t insn_at(const uint8_t *p, size_t avail, unsigned *len)
{
	*len = avail >= 4 ? rv_length(*p) : 2;
	if (*len == 4)
		return elf_get32(p);
	return avail >= 2 && rv_length(*p) == 2 ? p[0] | (uint32_t)p[1] << 8 : 0;
}

static inline unsigned rd_of(uint32_t w)
{
	return w >> 7 & 31;
}

static inline unsigned rs1_of(uint32_t w)
{
	return w >> 15 & 31;
}

static inline int is_jalr(uint32_t w)
{
	return (w & 0x707fu) == 0x67u;
}

/* jr and jalr, as if they were long: compressed ones have no offset. 0: it is none. */
static inline uint32_t register_jump(uint32_t w, unsigned len)
{
	if (len == 4)
		return is_jalr(w) ? w : 0;
	if ((w & 0xe07fu) != 0x8002u || !rd_of(w))
		return 0;
	return rv_jalr(w >> 12 & 1 ? RV_RA : RV_ZERO, rd_of(w), 0, 0);
}

static inline int is_call(uint32_t w, unsigned len)
{
	uint32_t jump = register_jump(w, len);

	return (jump && rd_of(jump)) || (len == 4 && (w & 0x7fu) == 0x6fu && rd_of(w));
}

#endif
