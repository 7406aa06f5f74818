/* SPDX-License-Identifier: MIT */
/* quick.c - makes quick steps of a verified program; see quick.h */
#include "program/quick.h"

/* The range of values, signed or not, that a question says yes to. 0: none. */
static int range_of(const struct uft_step *s, struct uft_quick_step *to)
{
	uint64_t lowest = s->op == UFT_STEP_LT || s->op == UFT_STEP_LE ? 1ull << 63 : 0;

	to->from = lowest;
	to->span = s->value - lowest;
	switch (s->op) {
	case UFT_STEP_EQ:
		to->from = s->value;
		to->span = 0;
		return 1;
	case UFT_STEP_BITS:
		to->mask &= s->value;
		to->from = 1;
		to->span = UINT64_MAX - 1;
		return 1;
	case UFT_STEP_LT: case UFT_STEP_ULT:
		to->span--;
		return s->value != lowest;
	default:
		return 1;
	}
}

/* Of a step of its program, to which of all: @first is its program's first, @otherwise what follows its rejection. */
static uint16_t next_of(uint16_t next, uint32_t first, uint16_t otherwise)
{
	return next == UFT_STEP_REJECT ? otherwise : next == UFT_STEP_ACCEPT ? next : (uint16_t)(first + next);
}

uint32_t uft_quick_append(const struct uft_program *p, int is_last, struct uft_quick_step *to, uint32_t n,
			  uint32_t *need)
{
	uint16_t otherwise = is_last ? UFT_STEP_REJECT : (uint16_t)(n + p->nsteps);

	if (p->nsteps > UFT_QUICK_STEPS - n)
		return 0;
	for (uint32_t i = 0; i < p->nsteps; i++) {
		const struct uft_step *s = &p->step[i];
		unsigned load = s->load & ~UFT_STEP_MAYBE_NO, bytes = 1u << (load & 3);
		struct uft_quick_step *q = &to[n + i];

		if (s->op > UFT_STEP_BITS || load > UFT_LOAD_S64)
			return 0;
		*q = (struct uft_quick_step){
			.at = s->at, .size = (uint8_t)bytes, .shift = (uint8_t)(64 - 8 * bytes),
			.yes = next_of(s->yes, n, otherwise), .no = next_of(s->no, n, otherwise),
			.mask = load & 4 || bytes == 8 ? UINT64_MAX : (1ull << 8 * bytes) - 1,
		};
		if (!range_of(s, q))
			q->yes = q->no;
		*need = s->at + bytes > *need ? s->at + bytes : *need;
	}
	return n + p->nsteps;
}
