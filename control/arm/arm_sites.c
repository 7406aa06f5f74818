// SPDX-License-Identifier: MIT
/*
 * arm_sites.c - bring the sites of an object to their wanted states
 *
 *	1. diff_make(): compare the wanted state of each site with the state that was sent last
 *	2. bits_send(): send many sites with the same next state, a bit each (arm_bits.c)
 *	3. send_list(): send the others in lists; unprepared functions come last, each after its code (arm_unprepared.c)
 *	4. sites that may not change while threads run are gathered for a stop of all tasks (arm_stopped.c)
 *
 * All orders are one command, UFT_CMD_PATCH, in the form that struct uft_site_order names. The agent's answers are data
 * from a target: they are never used as indices into our tables.
 */
#include "control/arm/arm_sites.h"
#include "control/arm/arm_stopped.h"
#include "control/plan/unprepared.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Calls that the file binds to libc's mcount are calls of the program's own if an object of the process defines one:
 * the dynamic linker binds them to that. (Not if libc comes first; but to keep a call does no harm.)
 */
static uint8_t site_kind(const struct space_obj *o, const struct uft_site *site)
{
	/* GUARD(site_own_call, site->kind) */
	uint8_t kind = site->call_name & o->own_calls ? UFT_SITE_OWN_CALL : site->kind;

	/* A program's own mcount is called after the frame is set up, its own __fentry__ before. */
	return kind == UFT_SITE_OWN_CALL && site->is_framed ? UFT_SITE_OWN_FRAMED : kind;
}

/* An imported name can be resolved when all objects of the start are known. The site is not called before. */
static int must_wait(const struct space *sp, const struct uft_site *site)
{
	return site->call_name && sp->is_dynamic && sp->rbrk && !sp->started; /* GUARD(must_wait_site) */
}

/*
 * Lists of sites are sent in parts. While the agent works on one part, the session fills the next in memory of its own:
 * the command area stays small, so that few of its pages are ever allocated.
 */
#define PART_SITES	(1u << 14)
#define PART_FIRST	(1u << 12)	/* smaller, so that the agent can begin early */

struct part {
	struct uft_patch patch[PART_SITES];
	uint32_t index[PART_SITES];	/* of the site; never taken from the agent's answer */
	uint32_t n;
};

/* The sites of a part for which a command has memory: all of them, unless the file system is full. */
struct lot {
	struct uft_patch *patch;
	uint32_t *index, n;
};

/* Scratch of a session. */
struct sender {
	struct part part[2];
	unsigned filling;		/* the part that is filled; the other one may be under way */
	uint32_t most;			/* sites in the part that is filled */
	struct lot posted;		/* the lot under way; n 0: none */
};

/* Notes the results of a lot. Sites that need a stop are added to the batch, and keep their state until then. */
static int take_answer(const struct site_diff *d, const struct lot *sent)
{
	const struct uft_patch uft_shared *answer =
		(const struct uft_patch uft_shared *)channel_payload(arena_cmd(&d->s->arena, d->t->slice));
	struct uft_patch *copy = malloc(sent->n * sizeof(*copy));
	int ret;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, sent->patch, sent->n * sizeof(*copy));
	for (uint32_t i = 0; i < sent->n; i++)	/* only statuses are taken from the answer, each once */
		copy[i].status = SHARED_LOAD(&answer[i].status);
	site_note_patched(d->t, d->object, sent->patch, sent->index, sent->n, copy);
	ret = arm_stopped_patches(d->s, d->t, d->object, sent->patch, sent->index, copy, sent->n);
	free(copy);
	return ret;
}

/* Waits for the lot under way, if there is one, and notes its results. */
static int lot_wait(const struct site_diff *d)
{
	struct sender *snd = d->s->sender;
	const struct lot sent = snd->posted;
	int ret;

	if (!sent.n)
		return 0;
	snd->posted.n = 0;
	ret = command_wait(d->s, d->t);
	return ret ? ret : take_answer(d, &sent);
}

/* Waits for the lot under way, and sends the next one. */
static int lot_post(const struct site_diff *d, struct lot lot)
{
	struct uft_cmd uft_shared *c;
	int ret = lot_wait(d);

	if (!ret && lot.n && lot.index[0] >= d->nsite)
		ret = unprepared_send_code(d, lot.patch, lot.index, &lot.n);
	if (ret || !lot.n)
		return ret;
	c = command_begin(d->s, d->t, UFT_CMD_PATCH, lot.n, d->object);
	SHARED_STORE(&c->flags, command_patch_flags(d->s, d->t, d->object));
	shared_write(channel_payload(c), lot.patch, lot.n * sizeof(*lot.patch));
	ret = command_post(d->s, d->t);
	if (!ret)
		d->s->sender->posted = lot;
	return ret;
}

/* Sends the part that was filled, and begins the other one. */
static int part_post(const struct site_diff *d)
{
	struct sender *snd = d->s->sender;
	struct part *part = &snd->part[snd->filling];
	const int is_code = part->n && part->index[0] >= d->nsite;
	const size_t size = is_code ? sizeof(struct uft_code) : sizeof(*part->patch);
	const uint32_t most = (uint32_t)(command_room(d->s, d->t, part->n * size) / size);
	int ret = part->n ? 0 : lot_wait(d);

	for (uint32_t at = 0, n; at < part->n && !ret; at += n) {
		n = part->n - at < most ? part->n - at : most;
		ret = lot_post(d, (struct lot){ part->patch + at, part->index + at, n });
	}
	if (ret)
		return ret;
	snd->filling ^= 1;
	snd->most = is_code ? snd->most : PART_SITES;
	snd->part[snd->filling].n = 0;
	return 0;
}

static struct uft_patch prepared_site(const struct site_diff *d, uint32_t i)
{
	const struct uft_mapped *m = diff_mapped(d);
	const struct uft_site *site = &m->obj->site[i];

	return (struct uft_patch){		/* clears status */
		.addr = site->addr + m->bias, .stub = i,
		.kind_len = UFT_KIND_LEN(site_kind(&d->t->space->obj[d->object], site), site->len),
		.state = WANT_STATE(d->next[i]), .action = WANT_ACTION(d->next[i]),
	};
}

static int send_range(const struct site_diff *d, uint32_t from, uint32_t end)
{
	struct sender *snd = d->s->sender;
	int ret = 0;

	for (uint32_t i = from; i < end && !ret; i++) {
		struct part *part = &snd->part[snd->filling];

		if (d->next[i] == WANT_NOT)
			continue;
		if (!part->n)
			ret = command_object(d->s, d->t, d->object);
		if (ret)
			break;
		part->patch[part->n] = i < d->nsite ? prepared_site(d, i) : unprepared_site(d, i);
		part->index[part->n++] = i;
		if (part->n == snd->most)
			ret = part_post(d);
	}
	return ret || !snd->part[snd->filling].n ? ret : part_post(d);
}

/* Sends all sites in lists. Waits for the last list also after an error. */
static int send_list(const struct site_diff *d)
{
	struct sender *snd = d->s->sender;
	int ret, end;

	snd->posted.n = 0;
	snd->part[snd->filling = 0].n = 0;
	snd->most = PART_FIRST;
	ret = send_range(d, 0, d->nsite);
	snd->most = unprepared_list_max(d->s) < PART_SITES ? unprepared_list_max(d->s) : PART_SITES;
	if (!ret)
		ret = send_range(d, d->nsite, d->n);
	end = lot_wait(d);
	return ret ? ret : end;
}

/* Fills d->next. Returns 1 if a site has to change, else 0; -ENOMEM. */
static int diff_make(struct site_diff *d)
{
	const struct uft_mapped *m = diff_mapped(d);
	const struct space_obj *so = &d->t->space->obj[d->object];
	int is_any = 0;

	if (!so->want || !d->n)
		return 0;
	d->next = malloc(d->n * sizeof(*d->next));
	if (!d->next)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->n; i++) {
		uint16_t next = site_next_state(so->want[i], diff_state(d)[i], d->force);

		if (next != WANT_NOT &&
		    (i < d->nsite ? m->obj->site[i].skip != UFT_SKIP_NONE || must_wait(d->t->space, &m->obj->site[i]) :
					 !unprepared_may_arm(d, i)))
			next = WANT_NOT;
		d->next[i] = next;
		is_any |= next != WANT_NOT;
	}
	return is_any;
}

int command_patch(struct uft_session *s, struct target *t, uint32_t object, int force)
{
	struct space_obj *so = &t->space->obj[object];
	struct site_diff d = { .s = s, .t = t, .object = object, .n = t->space->img->obj[object].nstubs,
			       .nsite = (uint32_t)t->space->img->obj[object].obj->nsite, .force = force };
	int ret;

	if (!target_takes_commands(t) || t->is_put_back)
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
	ret = diff_make(&d);
	if (ret > 0)
		ret = bits_send(&d);
	if (d.next && !ret)
		ret = send_list(&d);
	free(d.next);
	return ret;
}
