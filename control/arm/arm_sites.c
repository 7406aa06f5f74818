// SPDX-License-Identifier: MIT
/*
 * arm_sites.c - the sites of an object are brought to what is wanted, by lists
 *
 * What the agent writes back is data from a target: indices into our own tables are never taken from it.
 */
#include "control/arm/arm.h"
#include "control/arm/arm_stopped.h"
#include "control/plan/unprepared.h"
#include "symbol/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Calls of libc's mcount, by what the file says, are the program's own if some object of the process has one: then
 * the dynamic linker leads them there. (It may not, if libc comes first; a call that is kept does no harm.)
 */
static uint8_t site_kind(const struct space_obj *o, const struct uft_site *site)
{
	uint8_t kind = site->call_name & o->own_calls ? UFT_SITE_OWN_CALL : site->kind;

	/* A program's own mcount is called when the frame stands, its own __fentry__ before. */
	return kind == UFT_SITE_OWN_CALL && site->is_framed ? UFT_SITE_OWN_FRAMED : kind;
}

/* What an imported name stands for is known when all objects of the start are. Nobody calls it before. */
static int must_wait(const struct space *sp, const struct uft_site *site)
{
	return site->call_name && sp->is_dynamic && sp->rbrk && !sp->started;
}

/*
 * Lists of sites go out in parts: while the agent works on one, the next is written, beside the command area, which
 * stays small so that few of its pages are ever made.
 */
#define PART_SITES	(1u << 14)
#define PART_FIRST	(1u << 12)	/* it is not waited for long */

struct part {
	struct uft_patch patch[PART_SITES];
	uint32_t index[PART_SITES];	/* of the site; what the agent writes back is not taken for it */
	uint32_t n;
};

/* Scratch of a session. */
struct sender {
	struct part part[2];
	unsigned filling;		/* the other one may be under way */
	uint32_t most;			/* sites in it */
	int is_posted;
};

/* What has to wait until all stand is as it was, for now. */
static int take_answer(struct uft_session *s, struct target *t, uint32_t object, const struct uft_patch *told,
		       const uint32_t *index, uint32_t n)
{
	const struct uft_patch *answer = channel_payload(arena_cmd(&s->arena, t->slice));
	struct uft_patch *copy = malloc(n * sizeof(*copy));
	int ret;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, told, n * sizeof(*copy));
	for (uint32_t i = 0; i < n; i++)	/* only statuses are taken from the answer, each once */
		copy[i].status = __atomic_load_n(&answer[i].status, __ATOMIC_RELAXED);
	site_note_patched(t, object, told, index, n, copy);
	ret = arm_stopped_patches(s, t, object, told, index, copy, n);
	free(copy);
	return ret;
}

int command_patch_list(struct uft_session *s, struct target *t, uint32_t object, const struct uft_patch *p,
		       const uint32_t *index, uint32_t n)
{
	struct uft_cmd *c = arena_cmd(&s->arena, t->slice);
	int ret;

	*c = (struct uft_cmd){ .op = UFT_CMD_PATCH, .n = n, .object = object, .flags = command_patch_flags(s, t, object) };
	memcpy(channel_payload(c), p, n * sizeof(*p));
	ret = command_post(s, t);
	if (!ret)
		ret = command_wait(s, t);
	return ret ? ret : take_answer(s, t, object, p, index, n);
}

/* Waits for the part under way, if there is one, and records what the agent says became of it. */
static int part_wait(struct uft_session *s, struct target *t, uint32_t object)
{
	const struct part *sent = &s->sender->part[!s->sender->filling];
	int ret;

	if (!s->sender->is_posted)
		return 0;
	s->sender->is_posted = 0;
	ret = command_wait(s, t);
	return ret ? ret : take_answer(s, t, object, sent->patch, sent->index, sent->n);
}

/* Sends what was filled, behind what is under way. */
static int part_post(struct uft_session *s, struct target *t, uint32_t object)
{
	struct uft_cmd *c = arena_cmd(&s->arena, t->slice);
	struct part *part = &s->sender->part[s->sender->filling];
	int ret = part_wait(s, t, object);

	if (ret)
		return ret;
	*c = (struct uft_cmd){ .op = UFT_CMD_PATCH, .n = part->n, .object = object, .flags = command_patch_flags(s, t, object) };
	table_populate(channel_payload(c), part->n * sizeof(*part->patch));
	memcpy(channel_payload(c), part->patch, part->n * sizeof(*part->patch));
	ret = command_post(s, t);
	s->sender->is_posted = !ret;
	s->sender->filling ^= 1;
	s->sender->most = PART_SITES;
	s->sender->part[s->sender->filling].n = 0;
	return ret;
}

/* Fills and sends. What is under way at the end, an error included, is not waited for. */
static int send_sites(struct uft_session *s, struct target *t, uint32_t object, int force)
{
	const struct uft_mapped *m = &t->space->img->obj[object];
	struct space_obj *so = &t->space->obj[object];
	int ret = 0;

	for (size_t i = 0; i < m->obj->nsite && so->want && !ret; i++) {
		struct part *part = &s->sender->part[s->sender->filling];
		const struct uft_site *site = &m->obj->site[i];
		uint16_t state = site_next_state(so->want[i], t->obj[object].state[i], force);
		uint8_t kind = site_kind(so, site);

		if (site->skip != UFT_SKIP_NONE || state == WANT_NOT || must_wait(t->space, site))
			continue;
		if (!t->obj[object].is_sent) {
			ret = command_object(s, t, object);
			if (ret)
				break;
		}
		part->patch[part->n] = (struct uft_patch){		/* clears status */
			.addr = site->addr + m->bias, .stub = (uint32_t)i, .kind_len = UFT_KIND_LEN(kind, site->len),
			.state = WANT_STATE(state), .action = WANT_ACTION(state),
		};
		part->index[part->n++] = (uint32_t)i;
		if (part->n == s->sender->most)
			ret = part_post(s, t, object);
	}
	return ret || !s->sender->part[s->sender->filling].n ? ret : part_post(s, t, object);
}

int command_patch(struct uft_session *s, struct target *t, uint32_t object, int force)
{
	struct space_obj *so = &t->space->obj[object];
	int ret, end;

	if (t->is_over || t->is_stuck || t->is_put_back || !t->has_agent)
		return -ESRCH;
	if (target_grow(t, t->nobj))
		return -ENOMEM;
	if (!s->sender)
		s->sender = malloc(sizeof(*s->sender));
	if (!s->sender)
		return -ENOMEM;
	if (!so->has_own_calls && (!t->space->is_dynamic || !t->space->rbrk || t->space->started)) {
		so->own_calls = t->space->own_calls;
		so->has_own_calls = 1;
	}
	s->sender->is_posted = 0;
	s->sender->part[s->sender->filling = 0].n = 0;
	s->sender->most = PART_FIRST;
	ret = force ? 0 : command_sweep(s, t, object);
	if (!ret && !force)
		ret = command_arm(s, t, object);
	if (!ret)
		ret = send_sites(s, t, object, force);
	end = part_wait(s, t, object);
	ret = ret ? ret : end;
	return ret ? ret : unprepared_patch(s, t, object, force);
}
