// SPDX-License-Identifier: MIT
/*
 * site_state.c - what the sites of a target are, as it was told and as it answered
 */
#include "control/target/target.h"

#include <string.h>

static int is_armed(uint8_t state)
{
	return state != WANT_NOT && ((state & 0xf) == UFT_FUNCTION || (state & 0xf) == UFT_GRAPH);
}

uint8_t site_stub_flags(uint8_t state)
{
	return (uint8_t)((state & WANT_ROOT ? UFT_SITE_ROOT : 0) | state >> WANT_KEEP_SHIFT << 2);
}

void site_note_state(struct target *t, uint32_t object, uint32_t index, uint8_t state)
{
	uint8_t *now = &t->obj[object].state[index];

	t->armed += (uint64_t)is_armed(state) - (uint64_t)is_armed(*now);
	*now = t->space->obj[object].sent[index] = state;
}

void site_note_states(struct target *t, uint32_t object, uint32_t index, uint32_t n, uint8_t state)
{
	memset(t->obj[object].state + index, state, n);
	memset(t->space->obj[object].sent + index, state, n);
	t->armed += is_armed(state) ? n : 0;
}

/* What became of patches, by the agent's copy: only statuses are taken from it. */
void site_note_patched(struct target *t, uint32_t object, const struct uft_patch *told, const uint32_t *index, uint32_t n,
			  const struct uft_patch *answer)
{
	for (uint32_t i = 0; i < n; i++) {
		uint8_t flags = told[i].flags;
		uint8_t state = (uint8_t)(told[i].state | (flags & UFT_SITE_ROOT ? WANT_ROOT : 0) |
					  (flags & UFT_SITE_KEEP) >> 2 << WANT_KEEP_SHIFT);

		if (answer[i].status != UFT_ST_OK)
			state = WANT_NOT;	/* as it was: tried again with the next change */
		site_note_state(t, object, index[i], state);
	}
}
