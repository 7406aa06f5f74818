/* SPDX-License-Identifier: MIT */
/* arm64_move.h - one instruction of arm64, written again for another place. Context: control; pure functions. */
#ifndef UFT_CONTROL_RELOCATE_ARM64_MOVE_H
#define UFT_CONTROL_RELOCATE_ARM64_MOVE_H

#include <stddef.h>
#include <stdint.h>

#define ARM64_MOVE_MAX	4	/* words that one becomes */

struct arm64_move {
	uint64_t from, to;	/* addresses of the instruction, and of the first word of its copy */
	uint32_t word;		/* what stands at @from */
	/* filled: */
	unsigned nout;
	uint32_t out[ARM64_MOVE_MAX];
};

/**
 * arm64_move - the same for another place, and the way back to what follows the original behind it
 * @m: from, to and word are given
 *
 * Registers: x16 may be spent, as by a branch to a function; nothing else but what the instruction writes itself.
 *
 * 0; -EINVAL no instruction; -ENOTSUP one that can only be where it is, or is not understood; -ERANGE an
 * operand is out of reach from @m->to (of what lies in the reach of branches nothing is).
 */
int arm64_move(struct arm64_move *m);

/* Bytes of the landing pad that must stay at an entry. */
unsigned arm64_lead(const uint8_t *p, size_t avail);

#endif
