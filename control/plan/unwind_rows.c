// SPDX-License-Identifier: MIT
/*
 * unwind_rows.c - tables by which the runtime walks stacks, made of unwind tables
 *
 * .eh_frame is a program for each function, which nobody wants to run in a traced thread. So it is run here, once an object
 * and image, for two questions only: where is the frame address, and where was the frame pointer saved; the answers are rows
 * of 8 bytes (abi.h). libc has 28,000 of them. What a row cannot say (a frame larger than 256 KiB, an expression other than
 * that of functions which align their stack) is UFT_RULE_NONE.
 */
#include "control/internal.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct rows {
	struct uft_stack_row *v;
	size_t n, room;
	uint32_t flags;			/* enum uft_unwind_flags, of the function */
	int error;
};

static void put(struct rows *r, uint64_t start, struct uft_stack_row row)
{
	if (start > UINT32_MAX || r->error)
		return;
	row.start = (uint32_t)start;
	if (r->n && r->v[r->n - 1].start >= row.start) {	/* nothing lies between, or entries overlap */
		if (r->v[r->n - 1].start > row.start)
			return;
		r->n--;
	}
	if (r->n && r->v[r->n - 1].cfa == row.cfa && r->v[r->n - 1].fp == row.fp && r->v[r->n - 1].rule == row.rule)
		return;
	if (r->n == r->room) {
		size_t room = r->room ? 2 * r->room : 1024;
		struct uft_stack_row *grown = realloc(r->v, room * sizeof(*grown));

		if (!grown) {
			r->error = -ENOMEM;
			return;
		}
		r->v = grown;
		r->room = room;
	}
	r->v[r->n++] = row;
}

static int put_stretch(void *arg, const struct uft_cfa *cfa)
{
	struct rows *r = arg;
	struct uft_stack_row row = { .rule = UFT_RULE_NONE };
	int64_t words = cfa->offset / 8, fp = cfa->fp / 8;

	if (r->flags & UFT_UNWIND_SIGNAL)
		row.rule = UFT_RULE_SIGNAL;
	else if (r->flags & UFT_UNWIND_OUTERMOST)
		row.rule = UFT_RULE_END;
	else if (cfa->offset % 8 || words != (int16_t)words || cfa->fp % 8 || fp != (int8_t)fp)
		row.rule = UFT_RULE_NONE;
	else if (cfa->reg == 7)
		row.rule = UFT_RULE_SP;
	else if (cfa->reg == 6)
		row.rule = UFT_RULE_FP;
	else if (cfa->reg == -1 && cfa->is_indirect)
		row.rule = UFT_RULE_MEMORY;
	if (row.rule == UFT_RULE_SP || row.rule == UFT_RULE_FP || row.rule == UFT_RULE_MEMORY)
		row.cfa = (int16_t)words;
	if (row.rule == UFT_RULE_SP || row.rule == UFT_RULE_FP)
		row.fp = (int8_t)fp;
	put(r, cfa->addr, row);
	return r->error;
}

int stacks_make_rows(const struct uft_unwind *u, size_t nunwind, struct uft_stack_row **out, uint32_t *n)
{
	struct rows r = { NULL };

	for (size_t i = 0; i < nunwind && !r.error; i++) {
		uint64_t end = u[i].addr + u[i].size;

		r.flags = u[i].flags;
		uft_unwind_each(&u[i], put_stretch, &r);
		if (i + 1 == nunwind || u[i + 1].addr > end)
			put(&r, end, (struct uft_stack_row){ .rule = UFT_RULE_NONE });
	}
	if (r.error || r.n > UINT32_MAX) {
		free(r.v);
		return -ENOMEM;
	}
	*out = r.v;
	*n = (uint32_t)r.n;
	return 0;
}

static int make(struct space_obj *o, struct uft_object *obj)
{
	struct uft_unwind *u = NULL;
	size_t n = 0;
	int ret = obj->machine == EM_X86_64 ? uft_object_unwind(obj, &u, &n) : -ENOTSUP;	/* ARCH_HAS_STACKS */

	if (!ret)
		ret = stacks_make_rows(u, n, &o->row, &o->nrow);
	free(u);
	o->has_rows = 1;
	return ret;
}

int stacks_make(struct space *sp, uint32_t object)
{
	struct space_obj *o = &sp->obj[object];

	return o->has_rows ? 0 : make(o, sp->img->obj[object].obj);
}

/* One part; 1: the rest is not needed. */
static int send_part(struct uft_session *s, struct target *t, uint32_t object, uint32_t first, uint32_t n)
{
	const struct uft_mapped *m = &t->space->img->obj[object];
	const struct space_obj *o = &t->space->obj[object];
	struct uft_cmd *c = arena_cmd(&s->arena, t->slice);
	struct uft_cmd_rows *r = (struct uft_cmd_rows *)((uint8_t *)c + UFT_CMD_PAYLOAD);
	int ret;

	*c = (struct uft_cmd){ .op = UFT_CMD_ROWS, .n = n, .object = object };
	*r = (struct uft_cmd_rows){ .bias = m->bias, .text_start = m->text_start, .text_end = m->text_end, .first = first,
				    .total = o->nrow };
	memcpy(r + 1, o->row + first, n * sizeof(*o->row));
	ret = command_post(s, t);
	return ret ? ret : command_wait(s, t);
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The ids that records of the object's functions have, of those that are wanted. 0: there is no room for them. */
static int put_ids(const struct spec *spec, const struct uft_mapped *m, const uint8_t *want, struct uft_tracer_params *p)
{
	uint32_t first_text_id = m->first_text_id - (uint32_t)((m->text_start & ~3ull) >> 2);

	for (uint32_t i = 0; i < m->nstubs; i++) {
		if (want[i] == WANT_NOT || !spec_wants_stack(spec, m->obj, m->stub_addr[i] - m->bias))
			continue;
		if (p->nstack_ids + 2 > UFT_NSTACK_IDS)
			return 0;
		p->stack_ids[p->nstack_ids++] = m->first_stub_id + i;
		if ((want[i] & 0xf) == UFT_FUNCTION)	/* that of plain code is the stub's in both */
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
	if (!has_room) {	/* of all: who reads leaves out the others */
		p->nstack_ids = 0;
		p->stacks = (p->stacks & ~(uint32_t)UFT_STACKS_SOME) | (spec_has_func(s->spec) ? UFT_STACKS_FUNC : 0) |
			    (s->spec->tracer == UFT_TRACER_FUNCTION ? 0 : UFT_STACKS_ENTRY);
	}
	qsort(p->stack_ids, p->nstack_ids, sizeof(p->stack_ids[0]), by_number);
}

int stacks_send(struct uft_session *s, struct target *t, uint32_t object)
{
	uint32_t max = (uint32_t)((s->arena.map->cmd_bytes - UFT_CMD_PAYLOAD - sizeof(struct uft_cmd_rows)) / sizeof(struct uft_stack_row));
	const struct space_obj *o = &t->space->obj[object];
	int ret;

	if (!s->spec || !s->spec->params.stacks || t->obj[object].has_rows)
		return 0;
	if (t->is_over || t->is_stuck || t->has_faulted || !t->has_agent)
		return -ESRCH;
	ret = stacks_make(t->space, object);
	for (uint32_t first = 0; first < o->nrow && !ret; first += max)
		ret = send_part(s, t, object, first, o->nrow - first < max ? o->nrow - first : max);
	if (ret == -ESRCH || ret == -ETIMEDOUT)
		return ret;
	if (ret < 0)
		session_warn(s, "process %d: stacks end at %s: %s", t->pid, t->space->img->obj[object].obj->path, strerror(-ret));
	t->obj[object].has_rows = 1;
	return 0;
}
