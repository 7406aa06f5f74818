/* SPDX-License-Identifier: MIT */
/* quick.c - makes quick steps of a verified program; see quick.h */
#include "program/quick.h"

/* Sets the range of values, signed or not, for which the question has the answer yes. 0: there is none. */
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

/* The bytes of a text to compare, with the 0 behind it; those of its field, if that is shorter. */
static uint32_t compared(const struct uft_step *s)
{
	uint32_t n = UFT_STEP_BYTES(s->value) + 1, field = UFT_STEP_FIELD(s->value);

	return n < field ? n : field;
}

/* The size of the numbers for @n bytes of text: the last number may share bytes with the one before. */
static uint32_t size_of_part(uint32_t n)
{
	return n >= 8 ? 8 : n >= 4 ? 4 : n >= 2 ? 2 : 1;
}

/* The number of quick steps of a step; 0: it cannot become any. */
static uint32_t steps_of(const struct uft_step *s)
{
	unsigned load = s->load & ~UFT_STEP_MAYBE_NO;
	uint32_t n;

	if (s->op <= UFT_STEP_BITS)
		return UFT_LOAD_IS_NUMBER(load);
	if (s->op == UFT_STEP_IN_TASKS || (s->op == UFT_STEP_IN_CPUS && load == UFT_LOAD_CPU))
		return 1;
	if (s->op != UFT_STEP_TEXT || load == UFT_LOAD_COMM)
		return 0;
	if (load != UFT_LOAD_BYTES)
		return 1;
	n = compared(s);
	if (UFT_STEP_BYTES(s->value) > n)	/* it is longer than the field: no */
		return 1;
	return (n + size_of_part(n) - 1) / size_of_part(n);
}

static void make_number(const struct uft_step *s, unsigned load, struct uft_quick_step *q)
{
	int is_of_thread = load > UFT_LOAD_S64;
	unsigned bytes = is_of_thread ? 4 : 1u << (load & 3);

	q->size = load == UFT_LOAD_TID ? UFT_QUICK_TID : load == UFT_LOAD_CPU ? UFT_QUICK_CPU : (uint8_t)bytes;
	q->shift = (uint8_t)(64 - 8 * bytes);
	q->mask = load & 4 || bytes == 8 || is_of_thread ? UINT64_MAX : (1ull << 8 * bytes) - 1;
	if (!range_of(s, q))
		q->yes = q->no;
}

/* Compares a text in an array: @n steps from @first on, each of which leads to the next one. */
static void make_parts(const struct uft_step *s, const uint8_t *constant, struct uft_quick_step *q, uint32_t n,
		       uint32_t first)
{
	uint32_t bytes = compared(s), size = size_of_part(bytes);
	struct uft_quick_step last = *q;

	if (UFT_STEP_BYTES(s->value) > bytes) {		/* whatever it reads, but within: a field may have no bytes */
		*q = (struct uft_quick_step){
			.at = (uint16_t)(s->at ? s->at - 1 : 0), .size = 1, .yes = q->no, .no = q->no
		};
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = i + 1 < n ? i * size : bytes - size;

		q[i] = (struct uft_quick_step){
			.at = (uint16_t)(s->at + at), .size = (uint8_t)size, .shift = (uint8_t)(64 - 8 * size),
			.yes = i + 1 < n ? (uint16_t)(first + i + 1) : last.yes, .no = last.no,
			.mask = UINT64_MAX >> (64 - 8 * size), .from = quick_load(constant + at, size),
		};
	}
}

static uint32_t bytes_needed(const struct uft_step *s, unsigned load)
{
	if (load == UFT_LOAD_BYTES)
		return s->at + UFT_STEP_FIELD(s->value) ? s->at + UFT_STEP_FIELD(s->value) : 1;
	if (load == UFT_LOAD_TID || load == UFT_LOAD_CPU)
		return 0;
	return s->at + (load <= UFT_LOAD_S64 ? 1u << (load & 3) : 4);
}

static void make(const struct uft_program *p, const struct uft_step *s, struct uft_quick_step *q, uint32_t n,
		 uint32_t first, uint32_t *need, const void *base)
{
	unsigned load = s->load & ~UFT_STEP_MAYBE_NO;
	const uint8_t *constant = uft_program_constants(p) + UFT_STEP_OFFSET(s->value);
	uint32_t bytes = bytes_needed(s, load),
		 deep = load > UFT_LOAD_S64 && load != UFT_LOAD_BYTES ? UFT_QUICK_DEEP : 0;

	q->at = s->at;
	if (s->op <= UFT_STEP_BITS) {
		make_number(s, load, q);
	} else if (load == UFT_LOAD_BYTES) {
		make_parts(s, constant, q, n, first);
	} else {
		q->size = s->op == UFT_STEP_IN_TASKS ? UFT_QUICK_TASKS : s->op == UFT_STEP_IN_CPUS ? UFT_QUICK_CPUS :
			UFT_QUICK_TEXT;
		q->mask = load == UFT_LOAD_DATA_LOC ? 0u - 8 : s->at + 4u;
		q->from = (uint64_t)(constant - (const uint8_t *)base);
		q->span = UFT_STEP_BYTES(s->value);
	}
	/* GUARD(quick_need, 1 | deep) */
	*need = (bytes > (*need & ~UFT_QUICK_DEEP) ? bytes : *need & ~UFT_QUICK_DEEP) | (*need & UFT_QUICK_DEEP) | deep;
}

uint32_t uft_quick_append(const struct uft_program *p, int is_last, struct uft_quick_step *to, uint32_t n,
			  uint32_t *need, const void *base)
{
	uint16_t first[UFT_QUICK_STEPS], next[2];	/* first: of the quick steps of each of the program's */
	uint32_t end = n;

	if (p->nsteps > UFT_QUICK_STEPS - n)
		return 0;
	for (uint32_t i = 0; i < p->nsteps; i++) {
		uint32_t its = steps_of(&p->step[i]);

		if (!its || its > UFT_QUICK_STEPS - end)
			return 0;
		first[i] = (uint16_t)end;
		end += its;
	}
	for (uint32_t i = 0; i < p->nsteps; i++) {
		const struct uft_step *s = &p->step[i];

		next[0] = s->no;
		next[1] = s->yes;
		for (int k = 0; k < 2; k++)
			if (next[k] == UFT_STEP_REJECT)
				next[k] = is_last ? UFT_STEP_REJECT : (uint16_t)end;
			else if (next[k] != UFT_STEP_ACCEPT)
				next[k] = first[next[k]];
		to[first[i]] = (struct uft_quick_step){ .yes = next[1], .no = next[0] };
		make(p, s, &to[first[i]], steps_of(s), first[i], need, base);
	}
	return end;
}
