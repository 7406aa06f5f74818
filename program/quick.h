/* SPDX-License-Identifier: MIT */
/*
 * quick.h - programs that ask only about numbers, texts, the thread and its CPU, as steps of one kind: most filters
 *
 * A quick step takes a number of the record, sign-extends it, masks it, and checks whether it lies in a range: this
 * covers == < <= and &. It takes 17 instructions, a step of run.c about 50. It reads bytes that the program wrote a
 * moment ago, so its loads have the size of the stores: the load of a word that was written in halves would wait for
 * both stores. A text in an array is compared as several numbers that cover it and the 0 behind it. Several programs,
 * one of which has to accept, become one: if one rejects, the next is asked. The answer equals that of
 * uft_program_run() for each record that is as long as the steps need; run.c handles shorter ones.
 *
 * Deep steps ask for values without a fixed place in the record: a text whose place a word gives, the thread's number
 * and CPU, lists of these. Their `size` is not that of a number. uft_quick_run() does not check for them, so lists with
 * deep steps go to uft_quick_run_deep(). The answers about the thread's number stay the same as long as the thread
 * lives: uft_quick_ask_thread() asks those at the beginning, and the rest can be run from there.
 *
 * Context: any.
 */
#ifndef UFT_QUICK_H
#define UFT_QUICK_H

#include "program/load.h"

#define UFT_QUICK_STEPS	64u	/* of all programs together */
#define UFT_QUICK_DEEP	(1u << 31)	/* in the bytes that a record needs: some steps are deep */

struct uft_quick_step {
	uint16_t at;		/* of the number, or of the word, behind the common fields */
	uint8_t size, shift;	/* the number's bytes, or enum uft_quick_deep; the bits that a word has more */
	uint16_t yes, no;	/* what comes next, as in struct uft_step */
	/*
	 * yes: (value & mask) - from <= span. Texts, lists: the constant is at `from`, `span` bytes of it; texts: `mask`
	 * is what the offset in the word needs to be one of the payload.
	 */
	uint64_t mask, from, span;
};
_Static_assert(sizeof(struct uft_quick_step) == 32, "a shift finds it");

enum uft_quick_deep { UFT_QUICK_TID = 16, UFT_QUICK_TASKS, UFT_QUICK_CPU, UFT_QUICK_CPUS, UFT_QUICK_TEXT };

/*
 * Appends the steps of @p, which is verified, to the @n steps at @to; @is_last: no program follows. Returns the new
 * number of steps; 0: the program asks something else, or there would be more than UFT_QUICK_STEPS. *need: raised to
 * the bytes that a record must have; UFT_QUICK_DEEP is set in it if a step is deep. @base: uft_quick_run_deep() gets
 * the same bytes, with @p at the same place in them.
 */
uint32_t uft_quick_append(const struct uft_program *p, int is_last, struct uft_quick_step *to, uint32_t n,
			  uint32_t *need, const void *base);

static inline uint64_t quick_load(const uint8_t *p, unsigned size)
{
	if (size == 4)
		return *(const any_u32 *)p;
	if (size == 8)
		return *(const any_u64 *)p;
	return size == 2 ? *(const any_u16 *)p : *p;
}

static inline uint32_t quick_next(const struct uft_quick_step *s, uint64_t v)
{
	v = (uint64_t)((int64_t)(v << s->shift) >> s->shift) & s->mask;
	return v - s->from <= s->span ? s->yes : s->no;
}

/* 1: one of the programs accepts the record. No step may be deep. */
static inline int uft_quick_run(const struct uft_quick_step *steps, const uint8_t *payload)
{
	uint32_t i = 0;

	do {
		const struct uft_quick_step *s = &steps[i];

		i = quick_next(s, quick_load(payload + s->at, s->size));
	} while (i < UFT_STEP_ACCEPT);
	return i == UFT_STEP_ACCEPT;
}

/*
 * Is the text, whose place the word at @at gives, the one of @nb bytes at @b? The record is as long as the steps need.
 */
static inline int quick_is_text(const uint8_t *payload, uint32_t bytes, uint32_t at, uint32_t shift, const uint8_t *b,
				uint32_t nb)
{
	uint32_t word = *(const any_u32 *)(payload + at), n = word >> 16, from = (word & 0xffff) + shift;
	const uint8_t *a = payload + from;

	if (from > bytes || n > bytes - from) /* GUARD(quick_in_record) */
		return !nb;
	if (n < nb || (n > nb && a[nb]))
		return 0;
	for (uint32_t i = 0; i < nb; i++)
		if (a[i] != b[i])
			return 0;
	return 1;
}

static inline int quick_is_thread(const struct uft_quick_step *s)
{
	return s->size == UFT_QUICK_TID || s->size == UFT_QUICK_TASKS;
}

static inline int quick_is_so(const struct uft_quick_step *s, const struct uft_record *r, const uint8_t *constant)
{
	if (s->size == UFT_QUICK_TEXT)
		return quick_is_text(r->payload, r->bytes, s->at, (uint32_t)s->mask, constant, (uint32_t)s->span);
	if (s->size == UFT_QUICK_TASKS)
		return load_is_task_in(constant, (uint32_t)s->span, r);
	return load_is_in_cpus(constant, (uint32_t)s->span, r->cpu);
}

static inline uint32_t quick_next_deep(const struct uft_quick_step *s, const struct uft_record *r, const void *base)
{
	if (s->size < UFT_QUICK_TID)
		return quick_next(s, quick_load(r->payload + s->at, s->size));
	if (s->size == UFT_QUICK_TID || s->size == UFT_QUICK_CPU)
		return quick_next(s, s->size == UFT_QUICK_TID ? r->tid : r->cpu);
	return quick_is_so(s, r, (const uint8_t *)base + s->from) ? s->yes : s->no;
}

/* The same for steps of any kind, from step @i on. @r->tid, pid and cpu must be known if steps ask for them. */
static inline int uft_quick_run_deep(const struct uft_quick_step *steps, uint32_t i, const struct uft_record *r,
				     const void *base)
{
	while (i < UFT_STEP_ACCEPT)
		i = quick_next_deep(&steps[i], r, base);
	return i == UFT_STEP_ACCEPT;
}

/* The step from which uft_quick_run_deep() gives the same answers for each record of the thread @r->tid, pid. */
static inline uint32_t uft_quick_ask_thread(const struct uft_quick_step *steps, const struct uft_record *r,
					    const void *base)
{
	uint32_t i = 0;

	while (i < UFT_STEP_ACCEPT && quick_is_thread(&steps[i]))
		i = quick_next_deep(&steps[i], r, base);
	return i;
}

#endif
