/* SPDX-License-Identifier: MIT */
/*
 * quick.h - programs that ask about numbers alone, as steps of one kind: what most filters are
 *
 * A quick step takes a number of the record, extends it by its sign, masks it, and asks whether it lies in a range: == < <= and & are
 * all that. It takes 17 instructions, a step of run.c about 50. It reads what the program wrote a moment ago, by loads of the size of the
 * stores: a whole word that was written in halves would wait for them. Several programs, one of which has to accept, become one: where one rejects, the
 * next is asked. The answer is that of uft_program_run() for each record that is as long as the steps need; shorter ones are run.c's.
 *
 * Context: any.
 */
#ifndef UFT_QUICK_H
#define UFT_QUICK_H

#include "program/load.h"

#define UFT_QUICK_STEPS	64u	/* of all programs together */

struct uft_quick_step {
	uint16_t at;		/* of the number, behind the common fields */
	uint8_t size, shift;	/* its bytes; the bits that a word has more */
	uint16_t yes, no;	/* what comes next, as in struct uft_step */
	uint64_t mask, from, span;	/* yes: (value & mask) - from <= span */
};
_Static_assert(sizeof(struct uft_quick_step) == 32, "a shift finds it");

/*
 * Appends the steps of @p, which is verified, to @n at @to, whose last program is it (@is_last) or not. Returns how many there are
 * then; 0: it asks something else, or there would be more than UFT_QUICK_STEPS. *need: raised to the bytes that a record has to have.
 */
uint32_t uft_quick_append(const struct uft_program *p, int is_last, struct uft_quick_step *to, uint32_t n,
			  uint32_t *need);

static inline uint64_t quick_load(const uint8_t *p, unsigned size)
{
	if (size == 4)
		return *(const any_u32 *)p;
	if (size == 8)
		return *(const any_u64 *)p;
	return size == 2 ? *(const any_u16 *)p : *p;
}

/* 1: one of the programs accepts it. */
static inline int uft_quick_run(const struct uft_quick_step *steps, const uint8_t *payload)
{
	uint32_t i = 0;

	do {
		const struct uft_quick_step *s = &steps[i];
		uint64_t v = quick_load(payload + s->at, s->size);

		v = (uint64_t)((int64_t)(v << s->shift) >> s->shift) & s->mask;
		i = v - s->from <= s->span ? s->yes : s->no;
	} while (i < UFT_STEP_ACCEPT);
	return i == UFT_STEP_ACCEPT;
}

#endif
