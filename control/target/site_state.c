// SPDX-License-Identifier: MIT
/*
 * site_state.c - the states of a target's sites, by commands and answers
 */
#include "control/target/target.h"

#include <string.h>

static int is_armed(uint16_t state)
{
	return state != WANT_NOT && (WANT_STATE(state) == UFT_FUNCTION || WANT_STATE(state) == UFT_GRAPH);
}

void site_note_state(struct target *t, uint32_t object, uint32_t index, uint16_t state)
{
	uint16_t *now = &t->obj[object].state[index];

	t->armed += (uint64_t)is_armed(state) - (uint64_t)is_armed(*now);
	*now = t->space->obj[object].sent[index] = state;
}

void site_note_states(struct target *t, uint32_t object, uint32_t index, uint32_t n, uint16_t state)
{
	uint16_t *now = &t->obj[object].state[index], *sent = &t->space->obj[object].sent[index];
	uint64_t were_armed = 0;

	for (uint32_t i = 0; i < n; i++) {
		were_armed += (uint64_t)is_armed(now[i]);
		now[i] = sent[i] = state;
	}
	t->armed += (is_armed(state) ? n : 0) - were_armed;
}

/* What became of patches, by the agent's copy: only statuses are taken from it. */
void site_note_patched(struct target *t, uint32_t object, const struct uft_patch *told, const uint32_t *index,
		       uint32_t n,
			  const struct uft_patch *answer)
{
	for (uint32_t i = 0; i < n; i++) {
		uint16_t state = WANT_OF(told[i].state, told[i].action);

		if (answer[i].status != UFT_ST_OK)
			state = WANT_NOT;	/* as it was: tried again with the next change */
		site_note_state(t, object, index[i], state);
	}
}
