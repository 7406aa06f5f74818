/* SPDX-License-Identifier: MIT */
/*
 * riscv64_move.h - the first instructions of a function of riscv64, written again for another place. Context:
 * control; pure functions.
 */
#ifndef UFT_CONTROL_RELOCATE_RISCV64_MOVE_H
#define UFT_CONTROL_RELOCATE_RISCV64_MOVE_H

#include <stddef.h>
#include <stdint.h>

#define RISCV64_MOVE_MAX	28	/* bytes: two instructions and the way back */

struct riscv64_move {
	uint64_t from, to;	/* addresses of the first instruction, and of its copy; both even */
	const uint8_t *code;	/* what stands at @from */
	size_t avail;
	/* filled: */
	/* 4, or 6 where the second instruction ends there; 2 if the first one does not come back */
	unsigned nread;
	unsigned ncode;
	uint8_t out[RISCV64_MOVE_MAX];
};

/**
 * riscv64_move - whole instructions of at least four bytes, which is what a jump takes, and the way back behind them
 * @m: from, to, code and avail are given
 *
 * No register but those that the instructions write themselves is changed.
 *
 * 0; -EINVAL no instruction; -ENOTSUP one that can only be where it is, or is not understood; -ERANGE an
 * operand is out of reach from @m->to (jal: 1 MiB).
 */
int riscv64_move(struct riscv64_move *m);

#endif
