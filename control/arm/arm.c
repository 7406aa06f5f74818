// SPDX-License-Identifier: MIT
/*
 * arm.c - bring a target to what the session wants: parameters; hooks, unwind rows, tracepoints and sites of objects
 */
#include "control/arm/arm.h"
#include "control/arm/arm_stopped.h"

#include <stdlib.h>

int target_arm(struct uft_session *s, struct target *t, int force)
{
	int ret = target_grow(t, t->space->nobj);
	int first = 0, was_open = t->hold != NULL;

	if (!ret)
		ret = command_params(s, t);
	if (!ret && !was_open)
		ret = arm_stopped_begin(s, t);
	for (uint32_t i = 0; !ret && i < t->nobj; i++) {
		struct uft_error err = { "" };

		if (!t->obj[i].is_mapped || t->obj[i].is_assumed)
			continue;
		ret = space_plan(s, t->space, i, &err);
		if (ret < 0) {		/* go on with the other objects */
			session_warn_of(s, t->slice, "%s", err.text);
			first = first ? first : ret;
			ret = 0;
			continue;
		}
		ret = command_hooks(s, t, i);
		if (!ret)
			ret = stacks_send(s, t, i);
		if (!ret)
			ret = command_tracepoints(s, t, i);
		if (!ret)
			ret = command_patch(s, t, i, force);
	}
	if (!ret && !was_open)
		ret = arm_stopped_commit(t);
	if (!was_open)
		arm_stopped_drop(t);
	if (!ret)
		t->spec_sent = s->spec->generation;
	return ret ? ret : first;
}

void unresponsive_poll(struct uft_session *s)
{
	for (struct target *t = s->targets; t; t = t->next)
		if (unresponsive_ends(s, t) && s->spec)
			target_arm(s, t, 1);
}
