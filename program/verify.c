/* SPDX-License-Identifier: MIT */
/*
 * verify.c - check that bytes are a valid program; see program.h
 *
 * Every step must lead to later ones or to an end, ask a question that fits the kind of its value, read a place within
 * the largest record, and name a constant behind the steps. run.c relies on nothing else.
 */
#include "program/program.h"

static int is_next(const struct uft_program *p, uint32_t from, uint32_t next)
{
	return next >= UFT_STEP_ACCEPT || (next > from && next < p->nsteps);
}

/* The bytes of the record that the value needs; UINT32_MAX: there is no such value. */
static uint32_t bytes_of(const struct uft_step *s, unsigned load)
{
	switch (load) {
	case UFT_LOAD_U8: case UFT_LOAD_S8: return 1;
	case UFT_LOAD_U16: case UFT_LOAD_S16: return 2;
	case UFT_LOAD_U32: case UFT_LOAD_S32: case UFT_LOAD_DATA_LOC: case UFT_LOAD_REL_LOC: return 4;
	case UFT_LOAD_U64: case UFT_LOAD_S64: return 8;
	case UFT_LOAD_TID: case UFT_LOAD_CPU: case UFT_LOAD_COMM: return 0;
	case UFT_LOAD_BYTES: return UFT_STEP_FIELD(s->value);
	default: return UINT32_MAX;
	}
}

static int is_constant(const struct uft_program *p, const struct uft_step *s)
{
	const uint8_t *constants = uft_program_constants(p);
	uint32_t room = p->bytes - (uint32_t)(constants - (const uint8_t *)p);
	uint32_t at = UFT_STEP_OFFSET(s->value), n = UFT_STEP_BYTES(s->value);

	if (at > room || n > room - at)
		return 0;
	switch (s->op) {
	case UFT_STEP_IN_FUNCTION: case UFT_STEP_TEXT: case UFT_STEP_GLOB:
		return n < room - at && !constants[at + n];
	default:
		return 1;
	}
}

static int is_good_step(const struct uft_program *p, uint32_t i)
{
	const struct uft_step *s = &p->step[i];
	unsigned load = s->load & ~UFT_STEP_MAYBE_NO;
	uint32_t facts = uft_load_facts(load) | (s->op == UFT_STEP_IN_FUNCTION ? UFT_FACT_FUNCTION : 0);
	uint32_t bytes = bytes_of(s, load);

	if (s->op >= UFT_NSTEPS_OPS || load >= UFT_NLOADS || !is_next(p, i, s->yes) || !is_next(p, i, s->no) ||
	    facts & ~(uint32_t)p->facts)
		return 0;
	if (bytes > UFT_PROGRAM_RECORD || s->at > UFT_PROGRAM_RECORD - bytes ||
	    UFT_LOAD_IS_NUMBER(load) != (s->op <= UFT_STEP_IN_FUNCTION))
		return 0;
	if (s->op == UFT_STEP_IN_TASKS && load != UFT_LOAD_TID)
		return 0;
	return s->op <= UFT_STEP_BITS || is_constant(p, s);
}

int uft_program_is_good(const void *program, size_t bytes)
{
	const struct uft_program *p = program;

	if (bytes < sizeof(*p) || p->bytes < sizeof(*p) || p->bytes > bytes || p->bytes > UFT_PROGRAM_BYTES ||
	    p->bytes % 8)
		return 0;
	if (!p->nsteps || p->nsteps > UFT_PROGRAM_STEPS || p->nsteps > (p->bytes - sizeof(*p)) / sizeof(p->step[0]))
		return 0;
	for (uint32_t i = 0; i < p->nsteps; i++)
		if (!is_good_step(p, i))
			return 0;
	return 1;
}
