// SPDX-License-Identifier: MIT
/* functions.c - see functions.h */
#include "control/functions.h"

#include "control/target/target.h"
#include "control/session/internal.h"
#include "control/plan/unprepared.h"
#include "control/relocate/entry.h"

#include <stdio.h>
#include <string.h>

#define MAX_SENT	64		/* spaces looked at */

struct each {
	int (*fn)(void *arg, const struct uft_function *f);
	void *arg;
	const uint16_t *sent[MAX_SENT];	/* by stub index, of each live space that has the object */
	uint32_t nstubs[MAX_SENT];
	size_t nsent;
	struct uft_object *obj;
	int is_program;
};

static int one(const struct each *e, uint64_t func, uint32_t stub)
{
	const struct uft_func *known = uft_object_func(e->obj, func);
	struct uft_function f = { .object = uft_base_name(e->obj->path), .is_program = e->is_program, .addr = func };
	char text[256];

	f.name = known && known->name ? known->name : text;
	if (f.name == text)
		snprintf(text, sizeof(text), "%s+0x%llx", f.object, (unsigned long long)func);
	for (size_t i = 0; i < e->nsent && !f.is_armed; i++) {
		if (stub >= e->nstubs[i] || e->sent[i][stub] == WANT_NOT)
			continue;
		f.is_touched = 1;
		f.is_armed = WANT_STATE(e->sent[i][stub]) >= UFT_FUNCTION;
	}
	return e->fn(e->arg, &f);
}

static int each_site(const struct each *e)
{
	int ret = uft_object_names(e->obj, NULL);

	for (size_t i = 0; i < e->obj->nsite && !ret; i++)
		if (e->obj->site[i].skip == UFT_SKIP_NONE)
			ret = one(e, e->obj->site[i].func, (uint32_t)i);
	return ret;
}

static int each_plain(struct uft_session *s, const struct each *e, const struct uft_mapped *m, struct space_obj *o)
{
	const struct entries *list;
	int ret = unprepared_list(s, o, m, &list);

	if (!ret)
		ret = uft_object_names(e->obj, NULL);
	for (size_t i = 0; !ret && i < list->n; i++)
		if (list->entry[i].skip == ENTRY_OK)
			ret = one(e, list->entry[i].func, (uint32_t)(e->obj->nsite + i));
	return ret;
}

/* The oldest space that has the object tells of it: the list is newest first. */
static int is_first(const struct space *of, uint32_t index)
{
	const struct uft_object *obj = of->img->obj[index].obj;

	for (uint32_t i = 0; i < index; i++)
		if (of->img->obj[i].obj == obj)
			return 0;
	return !space_older_has(of, index);
}

static void find_sent(const struct uft_session *s, struct each *e)
{
	for (const struct target *t = s->targets; t; t = t->next)
		for (uint32_t i = 0; !t->is_over && i < t->space->nobj && e->nsent < MAX_SENT; i++) {
			const struct space_obj *o = &t->space->obj[i];

			if (t->space->img->obj[i].obj != e->obj || !o->sent)
				continue;
			e->sent[e->nsent] = o->sent;
			e->nstubs[e->nsent++] = t->space->img->obj[i].nstubs;
		}
}

/* The one that was added next after @than; NULL: the oldest of all. */
static struct space *space_after(struct uft_session *s, const struct space *than)
{
	struct space *sp = s->spaces;

	while (sp && sp->next != than)
		sp = sp->next;
	return sp;
}

/* The oldest program first: what is added comes behind, so that the numbers of lines stay. */
int uft_session_functions(struct uft_session *s, const char *object, int (*fn)(void *arg, const struct uft_function *f),
			  void *arg)
{
	int ret = 0;

	for (struct space *sp = space_after(s, NULL); sp && !ret; sp = space_after(s, sp))
		for (uint32_t i = 0; i < sp->nobj && !ret; i++) {
			struct uft_mapped *m = &sp->img->obj[i];
			struct space_obj *o = &sp->obj[i];
			struct each e = { .fn = fn, .arg = arg, .obj = m->obj, .is_program = i == 0 };

			if (!is_first(sp, i) || uft_object_sites(m->obj, NULL))
				continue;
			find_sent(s, &e);
			ret = each_site(&e);
			if (!ret && (m->obj->nbefore ||
				     (!o->nusable && (!i || (s->spec && spec_names_object(s->spec, m->obj)) ||
						      (object &&
						       uft_glob_match(object, uft_base_name(m->obj->path)))))))
				ret = each_plain(s, &e, m, o);
		}
	return ret;
}

int uft_session_has_object(struct uft_session *s, const char *object)
{
	for (struct space *sp = s->spaces; sp; sp = sp->next)
		for (uint32_t i = 0; i < sp->nobj; i++)
			if (uft_glob_match(object, uft_base_name(sp->img->obj[i].obj->path)))
				return 1;
	return 0;
}

int uft_session_detach(struct uft_session *s, pid_t pid)
{
	return session_detach(s, pid);
}
