/* SPDX-License-Identifier: MIT */
/* run.c - run a verified program on a record; see program.h */
#include "program/load.h"

static uint8_t byte_of(const uint8_t *p, uint32_t n, uint32_t i)
{
	return i < n ? p[i] : 0;
}

static int compare_masks(unsigned op, const uint8_t *a, uint32_t na, const uint8_t *b, uint32_t nb)
{
	uint32_t n = na > nb ? na : nb;

	for (uint32_t i = 0; i < n; i++) {
		uint8_t x = byte_of(a, na, i), y = byte_of(b, nb, i);

		if (op == UFT_STEP_MASK && x != y)
			return 0;
		if (op == UFT_STEP_MASK_MEETS && x & y)
			return 1;
	}
	return op == UFT_STEP_MASK;
}

/* Answers questions that need a constant. */
static int ask(const struct uft_program *p, const struct uft_step *s, unsigned load, const struct uft_record *r)
{
	const uint8_t *constant = uft_program_constants(p) + UFT_STEP_OFFSET(s->value), *bytes;
	uint32_t nconstant = UFT_STEP_BYTES(s->value), n;

	switch (s->op) {
	case UFT_STEP_IN_CPUS:
		return load_is_in_cpus(constant, nconstant, (uint64_t)uft_load_number(load, s->at, r));
	case UFT_STEP_IN_TASKS:
		return load_is_task_in(constant, nconstant, r);
	case UFT_STEP_IN_FUNCTION:
		return r->is_in_function(r, (uint64_t)uft_load_number(load, s->at, r), (const char *)constant);
	default:
		break;
	}
	bytes = uft_load_bytes(load, s->at, UFT_STEP_FIELD(s->value), r, &n);
	if (s->op == UFT_STEP_TEXT)
		return load_is_text(bytes, n, constant, nconstant);
	if (s->op == UFT_STEP_GLOB)
		return uft_glob_bytes((const char *)constant, bytes, n);
	return compare_masks(s->op, bytes, n, constant, nconstant);
}

static uint32_t facts_of(const struct uft_step *s, unsigned load)
{
	return uft_load_facts(load) | (s->op == UFT_STEP_IN_FUNCTION ? UFT_FACT_FUNCTION : 0);
}

/*
 * Answers a question about a number. Comparisons in sequence: their branches are predicted, and a jump table costs
 * more.
 */
static int is_so(unsigned op, int64_t v, uint64_t value)
{
	if (op == UFT_STEP_EQ)
		return (uint64_t)v == value;
	if (op == UFT_STEP_LT)
		return v < (int64_t)value;
	if (op == UFT_STEP_LE)
		return v <= (int64_t)value;
	if (op == UFT_STEP_BITS)
		return ((uint64_t)v & value) != 0;
	return op == UFT_STEP_ULT ? (uint64_t)v < value : (uint64_t)v <= value;
}

int uft_program_run(const struct uft_program *p, const struct uft_record *r)
{
	uint32_t i = 0;

	do {
		const struct uft_step *s = &p->step[i];
		unsigned load = s->load & ~UFT_STEP_MAYBE_NO;
		int64_t v;

		if (s->op > UFT_STEP_BITS || load > UFT_LOAD_S64) {
			if (facts_of(s, load) & ~r->known) {
				i = s->load & UFT_STEP_MAYBE_NO ? s->no : s->yes;
				continue;
			}
			if (s->op > UFT_STEP_BITS) {
				i = ask(p, s, load, r) ? s->yes : s->no;
				continue;
			}
		}
		v = load_number(load, s->at, r);
		i = is_so(s->op, v, s->value) ? s->yes : s->no;
	} while (i < UFT_STEP_ACCEPT);
	return i == UFT_STEP_ACCEPT;
}
