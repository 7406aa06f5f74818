// SPDX-License-Identifier: MIT
/*
 * arm_first.c - telling a target that stands in its exec of the sites of its program: four bytes each
 *
 * A start is over when its program is armed. So what all sites have in common is said once for all (struct
 * uft_arm). As with arm_bitmap.c bits that come back are of sites that the runtime leaves to lists; nothing
 * is noted of them, so they are in the one that follows (command_patch()), whose answer counts.
 */
#include "control/arm/arm.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ARM_MIN	256u	/* as many as the runtime has a way of its own for */

/* What a site that nobody was told of has to become; WANT_NOT: nothing, or it is of a kind that needs more words. */
static uint16_t state_of(const struct space *sp, uint32_t object, const struct target_obj *o, size_t i)
{
	const struct space_obj *so = &sp->obj[object];
	const struct uft_site *site = &sp->img->obj[object].obj->site[i];

	if (so->want[i] == WANT_NOT || o->state[i] != WANT_NOT || site->skip != UFT_SKIP_NONE || site->call_name ||
	    UFT_SITE_IS_OWN(site->kind))
		return WANT_NOT;
	return so->want[i];
}

struct chosen {
	uint16_t state;
	uint8_t kind_len;
};
#define SAMPLE	1024u

static unsigned most_of(const uint32_t *n, unsigned size)
{
	unsigned best = 0;

	for (unsigned i = 1; i < size; i++)
		best = n[i] > n[best] ? i : best;
	return best;
}

/* What most of them are and have to become, by every so many. 0: nothing. */
static int choose(const struct space *sp, uint32_t object, const struct target_obj *o, struct chosen *c)
{
	const struct uft_object *obj = sp->img->obj[object].obj;
	uint32_t states[SITE_NWANTS] = { 0 }, kinds[256] = { 0 };
	unsigned best;

	for (size_t i = 0; i < obj->nsite; i += 1 + obj->nsite / SAMPLE) {
		uint16_t state = state_of(sp, object, o, i);

		if (state == WANT_NOT)
			continue;
		states[site_want_index(state)]++;
		kinds[UFT_KIND_LEN(obj->site[i].kind, obj->site[i].len)]++;
	}
	best = most_of(states, SITE_NWANTS);
	*c = (struct chosen){ site_want_at(best), (uint8_t)most_of(kinds, 256) };
	return states[best] && (WANT_STATE(c->state) == UFT_FUNCTION || WANT_STATE(c->state) == UFT_GRAPH);
}

/* The order's bits, and where the sites lie. Returns how many. */
static size_t fill(const struct space *sp, uint32_t object, const struct target_obj *o, const struct chosen *c, uint64_t *word,
		   uint32_t *offset)
{
	const struct uft_mapped *m = &sp->img->obj[object];
	uint64_t base = m->text_start - m->bias;
	size_t n = 0;

	for (size_t i = 0; i < m->obj->nsite; i++) {
		const struct uft_site *site = &m->obj->site[i];
		int is_one = UFT_KIND_LEN(site->kind, site->len) == c->kind_len && state_of(sp, object, o, i) == c->state &&
			     site->addr - base <= UINT32_MAX;

		offset[i] = (uint32_t)(site->addr - base);
		word[i / 64] |= (uint64_t)is_one << i % 64;
		n += (size_t)is_one;
	}
	return n;
}

/* Only bits that were sent are taken from the answer. */
static void take_answer(struct target *t, uint32_t object, uint16_t state, const uint64_t *sent, const uint64_t *answer, size_t nwords)
{
	for (size_t k = 0; k < nwords; k++) {
		uint64_t done = sent[k] & ~__atomic_load_n(&answer[k], __ATOMIC_RELAXED);

		if (done == ~0ull)
			site_note_states(t, object, (uint32_t)(k * 64), 64, state);
		for (; done && done != ~0ull; done &= done - 1)
			site_note_state(t, object, (uint32_t)(k * 64 + (size_t)__builtin_ctzll(done)), state);
	}
}

size_t command_arm_bytes(size_t nsite)
{
	return sizeof(struct uft_arm) + (nsite + 63) / 64 * sizeof(uint64_t) + nsite * sizeof(uint32_t);
}

int command_arm(struct uft_session *s, struct target *t, uint32_t object)
{
	const struct uft_mapped *m = &t->space->img->obj[object];
	size_t nsite = m->obj->nsite, nwords = (nsite + 63) / 64;
	struct uft_cmd *c = arena_cmd(&s->arena, t->slice);
	struct uft_arm *order = (struct uft_arm *)((uint8_t *)c + UFT_CMD_PAYLOAD);
	uint64_t *word = (uint64_t *)(order + 1), *sent;
	struct chosen chosen;
	int ret;

	if (m->obj->machine != EM_X86_64 || !t->remote || nsite < ARM_MIN || !t->space->obj[object].want ||
	    command_arm_bytes(nsite) > s->arena.map->cmd_bytes - UFT_CMD_PAYLOAD ||
	    !choose(t->space, object, &t->obj[object], &chosen))
		return 0;
	ret = command_object(s, t, object);
	if (ret)
		return ret;
	sent = calloc(nwords, sizeof(*sent));
	if (!sent)
		return 0;		/* lists take less at a time */
	if (fill(t->space, object, &t->obj[object], &chosen, sent, (uint32_t *)(word + nwords)) < ARM_MIN)
		goto out;
	*c = (struct uft_cmd){ .op = UFT_CMD_ARM, .n = (uint32_t)nsite, .object = object, .flags = command_patch_flags(s, t, object) };
	*order = (struct uft_arm){ .text_start = m->text_start, .kind_len = chosen.kind_len, .state = WANT_STATE(chosen.state),
				   .action = WANT_ACTION(chosen.state) };
	memcpy(word, sent, nwords * sizeof(*word));
	ret = command_post(s, t);
	if (!ret)
		ret = command_wait(s, t);
	if (!ret)
		take_answer(t, object, chosen.state, sent, word, nwords);
out:
	free(sent);
	return ret == -ESRCH || ret == -ETIMEDOUT ? ret : 0;
}
