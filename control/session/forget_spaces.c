// SPDX-License-Identifier: MIT
/*
 * forget_spaces.c - the session forgets images that no process has any more
 *
 * Each exec makes a space, of kilobytes. A session that lasts would grow by each program that comes and goes, and each
 * search through the spaces would take longer. A space is forgotten when nothing can ask for it again:
 *
 *  1. No target has it, nor has an observer or the session's user (holders). A space that is being made had no target
 *     so far, and stays.
 *  2. An older space has each of its objects: the list of functions is of every object that there was, in the order
 *     in which they came.
 *  3. No process that is not a target yet has its auxiliary vector. Such a process is a fork child that has said
 *     nothing so far; its parent may have ended.
 *  4. No slice is live without a target: its child may have ended, and is then taken for its parent's.
 *
 * Only a session whose user lets go of an image at slice_end (uft_session_opts.forgets_images) does so: a recording
 * refers to its images until it ends.
 */
#include "control/proc/proc.h"
#include "control/proc/proc_list.h"
#include "control/session/internal.h"
#include "control/target/target.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_SPACES	128	/* so many are no burden; beyond them, twice as many as were needed at the last look */

int space_older_has(const struct space *of, uint32_t index)
{
	const struct uft_object *obj = of->img->obj[index].obj;

	for (const struct space *sp = of->next; sp; sp = sp->next)
		for (uint32_t i = 0; i < sp->nobj; i++)
			if (sp->img->obj[i].obj == obj && !i == !index)
				return 1;
	return 0;
}

static int older_have_all(const struct space *sp)
{
	uint32_t i = 0;

	while (i < sp->nobj && space_older_has(sp, i))
		i++;
	return i == sp->nobj;
}

static void mark_unneeded(struct uft_session *s)
{
	for (struct space *sp = s->spaces; sp; sp = sp->next)
		sp->is_unneeded = sp->was_used && !sp->holders;
	for (const struct target *t = s->targets; t; t = t->next)
		t->space->is_unneeded = 0;
	for (struct space *sp = s->spaces; sp; sp = sp->next)
		sp->is_unneeded = sp->is_unneeded && older_have_all(sp);
}

/* A child that ended before it was announced is known by its parent's slice alone. */
static int has_stray(struct uft_session *s)
{
	return request_next_stray(s, 0) < s->arena.map->nslices;
}

static void keep_that_of(struct uft_session *s, pid_t pid)
{
	uint8_t raw[UFT_AUXV_MAX];
	struct auxv av;
	size_t bytes;

	if (auxv_read(pid, raw, &bytes, &av))
		return;
	for (struct space *sp = s->spaces; sp; sp = sp->next)
		if (sp->is_unneeded && sp->auxv_bytes == bytes /* GUARD(space_is_awaited, !bytes) */ &&
		    !memcmp(sp->auxv, raw, bytes))
			sp->is_unneeded = 0;
}

static int keep_those_of_processes(struct uft_session *s)
{
	DIR *d = proc_list(0);
	pid_t pid;

	if (!d)
		return -1;
	while ((pid = proc_list_next(d)))
		if (arena_may_be_mapped_by(&s->arena, pid) && !target_by_pid(s, pid))
			keep_that_of(s, pid);
	proc_list_end(d);
	return 0;
}

static void forget(struct uft_session *s)
{
	for (struct space *sp = s->spaces, *next; sp; sp = next) {
		next = sp->next;
		if (!sp->is_unneeded)
			continue;
		for (uint32_t i = 0; i < s->arena.map->nslices; i++)
			if (s->last[i].space == sp)
				s->last[i].space = NULL;
		space_drop(s, sp);
	}
}

void uft_session_hold_image(struct uft_session *s, const struct uft_image *img, int by)
{
	for (struct space *sp = s->spaces; sp && img; sp = sp->next)
		if (sp->img == img)
			sp->holders += (uint32_t)by;
}

void forget_spaces(struct uft_session *s)
{
	if (!s->opts.forgets_images || s->nspaces < LEAST_SPACES || s->nspaces < 2 * s->nspaces_needed)
		return;
	mark_unneeded(s);
	/* Two looks: a process may fork between the parts of one. */
	if (!has_stray(s) && !keep_those_of_processes(s) && !keep_those_of_processes(s) && !has_stray(s))
		forget(s);
	s->nspaces_needed = s->nspaces;
}
