// SPDX-License-Identifier: MIT
/*
 * arm_rows.c - send a target the unwind rows of an object, and the ids of functions whose calls have a stack
 */
#include "control/arm/arm.h"
#include "symbol/names.h"
#include "symbol/sorted.h"

#include <errno.h>
#include <string.h>

/* Sends @n rows from @first on. 1: the target does not need the rest; 0, -ESRCH, -ETIMEDOUT, or the agent's error. */
static int send_part(struct uft_session *s, struct target *t, uint32_t object, uint32_t first, uint32_t n)
{
	const struct uft_mapped *m = &t->space->img->obj[object];
	const struct space_obj *o = &t->space->obj[object];
	const struct uft_cmd_rows r = {
		.bias = m->bias, .text_start = m->text_start, .text_end = m->text_end, .first = first, .total = o->nrow
	};
	uint8_t uft_shared *payload =
		(uint8_t uft_shared *)channel_payload(command_begin(s, t, UFT_CMD_ROWS, n, object));

	shared_write(payload, &r, sizeof(r));
	shared_write(payload + sizeof(r), o->row + first, n * sizeof(*o->row));
	return command_send(s, t);
}

/* Adds the record ids of the object's functions that are wanted with stacks. 0: there is no room for them. */
static int put_ids(const struct spec *spec, const struct uft_mapped *m, const uint16_t *want,
		   struct uft_tracer_params *p)
{
	uint32_t first_text_id = m->first_text_id - (uint32_t)((m->text_start & ~3ull) >> 2);

	for (uint32_t i = 0; i < m->nstubs; i++) {
		if (want[i] == WANT_NOT || !spec_wants_stack(spec, m->obj, m->stub_addr[i] - m->bias))
			continue;
		if (p->nstack_ids + 2 > UFT_NSTACK_IDS)
			return 0;
		p->stack_ids[p->nstack_ids++] = m->first_stub_id + i;
		if (WANT_STATE(want[i]) == UFT_FUNCTION)	/* unprepared code has the stub's id in both states */
			p->stack_ids[p->nstack_ids++] = first_text_id + (uint32_t)(m->site_addr[i] >> 2);
	}
	return 1;
}

void stacks_put_ids(struct uft_session *s, struct target *t, struct uft_tracer_params *p)
{
	struct space *sp = t->space;
	int has_room = 1;

	p->nstack_ids = 0;
	for (uint32_t i = 0; i < sp->nobj && has_room && s->spec->stack_words; i++)
		if (space_plan(s, sp, i, NULL) >= 0 && sp->obj[i].want && !uft_object_names(sp->img->obj[i].obj, NULL))
			has_room = put_ids(s->spec, &sp->img->obj[i], sp->obj[i].want, p);
	if (!has_room) {	/* record stacks of all calls: readers leave out those of other functions */
		p->nstack_ids = 0;
		p->stacks = (p->stacks & ~(uint32_t)UFT_STACKS_SOME) | (spec_has_func(s->spec) ? UFT_STACKS_FUNC : 0) |
			    (s->spec->tracer == UFT_TRACER_FUNCTION ? 0 : UFT_STACKS_ENTRY);
	}
	SORT_NUMBERS(p->stack_ids, p->nstack_ids);
}

int stacks_send(struct uft_session *s, struct target *t, uint32_t object)
{
	const struct space_obj *o = &t->space->obj[object];
	uint32_t max;
	int ret;

	if (!s->spec || !s->spec->params.stacks || t->obj[object].has_rows)
		return 0;
	if (!target_takes_commands(t) || t->is_put_back)
		return -ESRCH;
	ret = stacks_make(t->space, object);
	max = (uint32_t)((command_room(s, t, sizeof(struct uft_cmd_rows) + o->nrow * sizeof(*o->row)) -
			  sizeof(struct uft_cmd_rows)) /
			 sizeof(*o->row));
	for (uint32_t first = 0; first < o->nrow && !ret; first += max)
		ret = send_part(s, t, object, first, o->nrow - first < max ? o->nrow - first : max);
	if (ret == -ESRCH || ret == -ETIMEDOUT)
		return ret;
	if (ret < 0)
		session_warn_of(s, t->slice, "process %d: stacks end at %s: %s", t->pid,
				t->space->img->obj[object].obj->path, strerror(-ret));
	t->obj[object].has_rows = 1;
	return 0;
}
