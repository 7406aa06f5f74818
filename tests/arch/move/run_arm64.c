/* SPDX-License-Identifier: MIT */
/* run_arm64.c - what arm64_move() makes, executed: functions of run_arm64.S */
#define AWAY	(64ull << 20)
#include "tests/arch/move/run.h"

#include "control/relocate/arm64_move.h"

static int move(uint64_t from, uint64_t to, uint8_t *out)
{
	struct arm64_move m = { .from = from, .to = to, .word = *(const uint32_t *)from };
	int ret = arm64_move(&m);

	memcpy(out, m.out, 4 * m.nout);
	return ret ? ret : (int)(4 * m.nout);
}
