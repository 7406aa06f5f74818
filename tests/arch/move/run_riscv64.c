/* SPDX-License-Identifier: MIT */
/* run_riscv64.c - what riscv64_move() makes, executed: functions of run_riscv64.S */
#define AWAY	(512ull << 10)
#include "tests/arch/move/run.h"

#include "control/relocate/riscv64_move.h"

static int move(uint64_t from, uint64_t to, uint8_t *out)
{
	struct riscv64_move m = { .from = from, .to = to, .code = (const uint8_t *)from, .avail = 16 };
	int ret = riscv64_move(&m);

	memcpy(out, m.out, m.ncode);
	return ret ? ret : (int)m.ncode;
}
