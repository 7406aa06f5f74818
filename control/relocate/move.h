/* SPDX-License-Identifier: MIT */
/* move.h - the first instructions of a function, written again for another place. Context: control; pure functions. */
#ifndef UFT_CONTROL_RELOCATE_MOVE_H
#define UFT_CONTROL_RELOCATE_MOVE_H

#include <stddef.h>
#include <stdint.h>

#define MOVE_MAX_INSNS	8

struct move {
	uint64_t from, to;		/* addresses of the first instruction, and of its copy */
	const uint8_t *code;		/* what stands at @from */
	size_t avail;
	unsigned change;		/* so many bytes will be overwritten at @from: 5 or 2 */
	/* filled: */
	unsigned nread;			/* whole instructions read, >= change unless is_end */
	int is_end;			/* the last one does not come back: nothing runs on behind it */
	int64_t jump;			/* is_end by a direct jump: where to, from @from; else 0 */
	unsigned ncode;
	/* offsets in out: the jump back; where a return address has been pushed; 0 none */
	unsigned back, pushed;
	uint8_t out[96];
	unsigned ninsns;
	uint8_t at[MOVE_MAX_INSNS], copy[MOVE_MAX_INSNS];	/* offset of each instruction in code and in out */
};

/*
 * Length of an instruction of those that nearly all functions begin with, if it is one and can be copied as
 * it is; else 0.
 */
unsigned move_usual(const uint8_t *p, size_t avail);

/**
 * move_code - whole instructions of at least @m->change bytes, and the way back behind them
 * @m: from, to, code, avail and change are given
 *
 * 0; -EINVAL what is there does not decode, or ends before an instruction does; -ENOTSUP an instruction that
 * can only be where it is; -ERANGE an operand is out of reach from @m->to; -E2BIG more than fits.
 */
int move_code(struct move *m);

#endif
