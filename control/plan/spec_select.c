// SPDX-License-Identifier: MIT
/*
 * spec_select.c - the state of a site that several ops want
 *
 * A site does one thing, so there is one list of what each is to be: armed for the graph (or the profile)
 * where that wants it, and then with UFT_ACT_FUNC if a function tracer wants the same; armed for the
 * function tracer where only that does, and where a plain function cannot have a graph. Beside the graph the
 * profile's have UFT_ACT_PROFILE, and if it alone wants them UFT_ACT_NOT_GRAPH. While several are wanted
 * targets are told (UFT_EVENTS_FUNC, _PROFILE), and then use fast paths that check these ops. Readers tell by the kind
 * and the function of a record to which of the ops it belongs.
 */
#include "control/plan/plan.h"
#include "control/plan/unprepared.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The numbers of both actions are ops: ops that share sites have no limits. */
static uint16_t both(uint16_t a, uint16_t b)
{
	uint32_t ops = WANT_ACTION(a) | WANT_ACTION(b);

	if (a == WANT_NOT || b == WANT_NOT)
		return a == WANT_NOT ? b : a;
	if (WANT_STATE(a) != WANT_STATE(b))	/* the graph has stubs, which know of the other */
		return WANT_OF(UFT_GRAPH, ops | UFT_ACT_FUNC);
	if (~(WANT_ACTION(a) & WANT_ACTION(b)) & UFT_ACT_NOT_GRAPH)
		ops &= ~(uint32_t)UFT_ACT_NOT_GRAPH;
	return WANT_OF(WANT_STATE(a), ops);
}

/* Adds @other to @want. @is_profile: @other is the profile's, beside a graph. Returns the number of sites wanted. */
static long join(uint16_t *want, uint16_t *other, size_t n, int is_profile)
{
	long all = 0;

	for (size_t i = 0; i < n; i++) {
		if (is_profile && other[i] != WANT_NOT)
			other[i] = WANT_OF(WANT_STATE(other[i]), UFT_ACT_PROFILE | UFT_ACT_NOT_GRAPH);
		want[i] = both(want[i], other[i]);
		all += want[i] != WANT_NOT;
	}
	return all;
}

long spec_select(const struct spec *sp, struct uft_object *obj, uint16_t *want, struct uft_error *err)
{
	long n = spec_select_own(sp, obj, want, err);
	uint16_t *other = sp->beside && n >= 0 ? malloc((obj->nsite + 1) * sizeof(*other)) : NULL;

	if (sp->beside && n >= 0 && !other)
		return -ENOMEM;
	for (sp = sp->beside; sp && n >= 0; sp = sp->beside) {
		n = spec_select_own(sp, obj, other, err);
		n = n < 0 ? n : join(want, other, obj->nsite, sp->tracer == UFT_TRACER_PROFILE);
	}
	free(other);
	return n;
}

long spec_select_plain(const struct spec *sp, struct uft_object *obj, const struct space_obj *o, int is_program,
		       uint16_t *want, struct uft_error *err)
{
	size_t nplain = unprepared_count(o);
	long n = spec_select_own_plain(sp, obj, o, is_program, want, err);
	uint16_t *other = sp->beside && n >= 0 ? malloc((nplain + 1) * sizeof(*other)) : NULL;

	if (sp->beside && n >= 0 && !other)
		return -ENOMEM;
	for (sp = sp->beside; sp && n >= 0; sp = sp->beside) {
		memset(other, 0xff, nplain * sizeof(*other));
		n = spec_select_own_plain(sp, obj, o, is_program, other, err);
		n = n < 0 ? n : join(want, other, nplain, sp->tracer == UFT_TRACER_PROFILE);
	}
	free(other);
	return n;
}
