// SPDX-License-Identifier: MIT
/*
 * arm_bitmap.c - telling a target to switch sites that it knows: a bit each
 *
 * What a tracer's change or a filter's asks for is mostly one state for most sites of an object. Those that
 * the target was told of before go out as one order for all (struct uft_sweep), in a hundredth of a list's
 * bytes. Bits that come back are of sites that the runtime does not find alike, or with foreign bytes: as
 * nothing is noted of them, they are in the list that follows (command_patch()), whose answer counts.
 */
#include "control/arm/arm.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SWEEP_MIN	256u	/* sites for which a command of its own pays */

/* Of a site: what it has to become, if a bit can say so. */
static uint16_t next_state(const struct space_obj *so, const struct target_obj *o, size_t i)
{
	return o->state[i] == WANT_NOT ? WANT_NOT : site_next_state(so->want[i], o->state[i], 0);
}

/* What most of them have to become; WANT_NOT: too few. */
static uint16_t find_state(const struct space_obj *so, const struct target_obj *o, size_t nsite)
{
	uint32_t n[SITE_NWANTS] = { 0 };
	unsigned best = 0;

	for (size_t i = 0; i < nsite; i++)
		if (next_state(so, o, i) != WANT_NOT)
			n[site_want_index(next_state(so, o, i))]++;
	for (unsigned k = 1; k < SITE_NWANTS; k++)
		best = n[k] > n[best] ? k : best;
	return n[best] < SWEEP_MIN ? WANT_NOT : site_want_at(best);
}

/* Only bits that were sent are taken from the answer. */
static void take_answer(struct target *t, uint32_t object, uint16_t state, const uint64_t *sent, const uint64_t *answer, size_t nsite)
{
	for (size_t i = 0; i < nsite; i++)
		if (sent[i / 64] & ~answer[i / 64] & 1ull << i % 64)
			site_note_state(t, object, (uint32_t)i, state);
}

int command_sweep(struct uft_session *s, struct target *t, uint32_t object)
{
	const struct space_obj *so = &t->space->obj[object];
	const struct uft_object *obj = t->space->img->obj[object].obj;
	size_t nwords = (obj->nsite + 63) / 64;
	struct uft_cmd *c = arena_cmd(&s->arena, t->slice);
	struct uft_sweep *order = (struct uft_sweep *)((uint8_t *)c + UFT_CMD_PAYLOAD);
	uint64_t *sent;
	uint16_t state;
	int ret;

	if (obj->machine != EM_X86_64 || !t->obj[object].is_sent || !so->want || (nwords + 1) * 8 > s->arena.map->cmd_bytes - UFT_CMD_PAYLOAD)
		return 0;
	state = find_state(so, &t->obj[object], obj->nsite);
	sent = state == WANT_NOT ? NULL : calloc(nwords, sizeof(*sent));
	if (!sent)
		return 0;
	for (size_t i = 0; i < obj->nsite; i++)
		sent[i / 64] |= (uint64_t)(next_state(so, &t->obj[object], i) == state) << i % 64;
	*c = (struct uft_cmd){ .op = UFT_CMD_SWEEP, .n = (uint32_t)nwords, .object = object };
	*order = (struct uft_sweep){ .state = WANT_STATE(state), .action = WANT_ACTION(state) };
	memcpy(order + 1, sent, nwords * sizeof(*sent));
	ret = command_post(s, t);
	if (!ret)
		ret = command_wait(s, t);
	if (!ret)
		take_answer(t, object, state, sent, (const uint64_t *)(order + 1), obj->nsite);
	free(sent);
	return ret == -ESRCH || ret == -ETIMEDOUT ? ret : 0;
}
