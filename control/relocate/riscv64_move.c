// SPDX-License-Identifier: MIT
/*
 * riscv64_move.c - see riscv64_move.h
 *
 *	auipc			the same number: auipc and addi
 *	jal, c.j		a call leaves in its register what the original does: auipc, addi; then j
 *	jalr, c.jalr		the same, then jr; c.jr as it is
 *	branches, c.beqz, c.bnez	the opposite one over a j
 *	all else		as it is
 */
#include "control/relocate/riscv64_move.h"

#include <errno.h>

#include "runtime/arch/riscv64/encode.h"

#define SITE_BYTES	4u

static uint64_t here(const struct riscv64_move *m)
{
	return m->to + m->ncode;
}

static void put2(struct riscv64_move *m, uint32_t half)
{
	m->out[m->ncode++] = (uint8_t)half;
	m->out[m->ncode++] = (uint8_t)(half >> 8);
}

/* 0 did not fit. */
static int put(struct riscv64_move *m, uint32_t word)
{
	if (!word)
		return -ERANGE;
	put2(m, word);
	put2(m, word >> 16);
	return 0;
}

static int put_jump(struct riscv64_move *m, uint64_t target)
{
	return put(m, rv_jal(RV_ZERO, here(m), target));
}

/* auipc, addi */
static int put_number(struct riscv64_move *m, unsigned rd, uint64_t value)
{
	uint64_t pc = here(m);
	int ret = put(m, rv_auipc(rd, pc, value));

	return ret ? ret : put(m, rv_addi(rd, rd, pc, value));
}

/* 1: nothing follows it. */
static int move_call(struct riscv64_move *m, unsigned rd, uint64_t next, uint64_t target)
{
	int ret = rd ? put_number(m, rd, next) : 0;

	if (!ret)
		ret = put_jump(m, target);
	return ret ? ret : 1;
}

static int move_call_register(struct riscv64_move *m, unsigned rd, uint64_t next, uint32_t jalr)
{
	unsigned rs = jalr >> 15 & 31;
	int ret = rd ? put_number(m, rd, next) : 0;

	if (rd && rd == rs)
		return -ENOTSUP;
	if (!ret)
		ret = put(m, jalr & ~(31u << 7));
	return ret ? ret : 1;
}

static int move_branch(struct riscv64_move *m, uint32_t branch, uint64_t target)
{
	const uint32_t offset_bits = 0xfe000f80u;
	int ret = put(m, ((branch & ~offset_bits) ^ 1u << 12) | 8u << 7);	/* + 8 */

	return ret ? ret : put_jump(m, target);
}

static int move_word(struct riscv64_move *m, uint32_t w, uint64_t pc)
{
	unsigned rd = w >> 7 & 31;
	uint64_t target;

	if ((w & 0x1fu) == 0x1fu)			/* longer ones, which there are none of */
		return -EINVAL;
	switch (w & 0x7fu) {
	case 0x17:					/* auipc */
		return rd ? put_number(m, rd, pc + (uint64_t)(int64_t)(int32_t)(w & 0xfffff000u)) : put(m, RV_NOP);
	case 0x6f:					/* jal */
		return move_call(m, rd, pc + 4, rv_jal_target(w, pc));
	case 0x67:					/* jalr */
		return move_call_register(m, rd, pc + 4, w);
	case 0x63:					/* beq and its like */
		rv_direct_target(w, pc, &target);
		return (w >> 13 & 3) == 1 ? -EINVAL : move_branch(m, w, target);
	case 0x73:					/* ecall, ebreak, returns from traps; csr... may move */
		return (w >> 12 & 7) ? put(m, w) : -ENOTSUP;
	default:
		return put(m, w);
	}
}

static int move_half(struct riscv64_move *m, uint32_t h, uint64_t pc)
{
	unsigned rs = h >> 7 & 31;
	uint64_t target;

	if (!(h & 0xffffu))
		return -EINVAL;
	if ((h & 0xe003u) == 0xa001u) {			/* c.j */
		rv_direct_target(h, pc, &target);
		return move_call(m, RV_ZERO, 0, target);
	}
	if ((h & 0xc003u) == 0xc001u) {			/* c.beqz, c.bnez */
		rv_direct_target(h, pc, &target);
		return move_branch(m, 0x63u | (h >> 13 & 1) << 12 | (8 + (h >> 7 & 7)) << 15, target);
	}
	if (h == 0x9002u)				/* c.ebreak */
		return -ENOTSUP;
	if ((h & 0xf07fu) == 0x9002u)			/* c.jalr */
		return move_call_register(m, RV_RA, pc + 2, rv_jalr(RV_RA, rs, 0, 0));
	put2(m, h);
	return (h & 0xf07fu) == 0x8002u ? rs ? 1 : -EINVAL : 0;	/* c.jr */
}

int riscv64_move(struct riscv64_move *m)
{
	int ret = 0;

	m->nread = m->ncode = 0;
	while (!ret && m->nread < SITE_BYTES) {
		const uint8_t *p = m->code + m->nread;
		unsigned len = m->nread < m->avail ? rv_length(*p) : 4;
		uint64_t pc = m->from + m->nread;

		if (m->avail - m->nread < len)
			return -EINVAL;
		m->nread += len;
		ret = len == 4 ? move_word(m, p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24,
					   pc) :
		      move_half(m, p[0] | (uint32_t)p[1] << 8, pc);
	}
	if (ret < 0)
		return ret;
	return ret ? 0 : put_jump(m, m->from + m->nread);
}
