// SPDX-License-Identifier: MIT
/*
 * unwind_rows.c - tables by which the runtime walks stacks, made of unwind tables
 *
 * .eh_frame has a program for each function, which is too slow to run in a traced thread. So it is run here,
 * once an object and image, for two questions only: where is the frame address, and where was the frame
 * pointer saved; the answers are rows of 8 bytes (abi.h). libc has 28,000 of them. What a row cannot say (a
 * frame larger than 256 KiB, an expression other than that of functions which align their stack) is
 * UFT_RULE_NONE.
 */
#include "control/plan/plan.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/object_internal.h"

struct rows {
	struct uft_stack_row *v;
	size_t n, room;
	uint32_t flags;			/* enum uft_unwind_flags, of the function */
	struct parse_bound *bound;
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
		struct uft_stack_row *grown = bound_grow(r->bound, "rows for stacks", r->v, room, sizeof(*grown));

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
		row.rule = UFT_RULE_SP; /* GUARD(row_by_sp, UFT_RULE_NONE) */
	else if (cfa->reg == 6)
		row.rule = UFT_RULE_FP;
	else if (cfa->reg == -1 && cfa->is_indirect)
		row.rule = UFT_RULE_MEMORY; /* GUARD(row_in_memory, UFT_RULE_NONE) */
	if (row.rule == UFT_RULE_SP || row.rule == UFT_RULE_FP || row.rule == UFT_RULE_MEMORY)
		row.cfa = (int16_t)words;
	if (row.rule == UFT_RULE_SP || row.rule == UFT_RULE_FP)
		row.fp = (int8_t)fp;
	put(r, cfa->addr, row);
	return r->error;
}

/*
 * Makes unwind rows of the functions @u of @obj, in the order of their addresses (abi.h), for bound_free(). 0
 * or -errno.
 */
static int stacks_make_rows(const struct uft_object *obj, const struct uft_unwind *u, size_t nunwind,
			    struct uft_stack_row **out, uint32_t *n)
{
	struct rows r = { .bound = object_priv(obj)->view.bound };

	for (size_t i = 0; i < nunwind && !r.error; i++) {
		uint64_t end = u[i].addr + u[i].size;

		r.flags = u[i].flags;
		uft_unwind_each(&u[i], put_stretch, &r);
		if (i + 1 == nunwind || u[i + 1].addr > end)
			put(&r, end, (struct uft_stack_row){ .rule = UFT_RULE_NONE });
	}
	if (r.error || r.n > UINT32_MAX) {
		bound_free(r.v);
		return bound_error(r.bound, obj->path, "rows for stacks", NULL);
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
		ret = stacks_make_rows(obj, u, n, &o->row, &o->nrow);
	bound_free(u);
	o->has_rows = 1;
	return ret;
}

int stacks_make(struct space *sp, uint32_t object)
{
	struct space_obj *o = &sp->obj[object];

	return o->has_rows ? 0 : make(o, sp->img->obj[object].obj);
}
