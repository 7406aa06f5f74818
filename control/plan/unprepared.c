// SPDX-License-Identifier: MIT
/*
 * unprepared.c - functions without compiler support: which are candidates, and their code
 *
 * Which objects. The program, if none of its own functions is prepared; any other such object when a pattern
 * names it (`:mod:`); and any in which functions were compiled with pads before their entries: those only.
 * Their unwind entries get stub ids behind those of the object's sites, so every array by stub index (want,
 * state, sent) has the sites first and then these.
 *
 * Life: listed when a spec first asks for the object; decoded (relocate/) when a spec first wants the function; code
 * sent to a target when it first wants it there. An object's list is kept for the life of the session:
 * programs start by the thousand with the same libc.
 *
 * Hooks come first: a function whose bytes overlap one is not traced (ENTRY_OURS).
 */
#include "control/state/state.h"
#include "control/plan/plan.h"
#include "control/plan/unprepared.h"
#include "control/relocate/entry.h"
#include "symbol/array.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unprepared {
	struct unprepared *next;
	struct uft_object *obj;
	struct entries list;
};

const char *uft_plain_skip_text(unsigned reason)
{
	if (reason == PLAIN_NO_GRAPH)
		return "only the function tracer can trace it (something reads its return address)";
	return reason < ENTRY_NSKIPS ? entry_skip_text((enum entry_skip)reason) : "";
}

static int keep_off_hooks(struct unprepared *p, const struct space_obj *o, uint64_t bias)
{
	struct uft_range *r = calloc(o->nhook + 1, sizeof(*r));
	int ret;

	if (!r)
		return -ENOMEM;
	for (uint32_t i = 0; i < o->nhook; i++)
		r[i] = (struct uft_range){ o->hook[i].addr - bias, o->hook[i].len ? o->hook[i].len :
			sizeof(o->hook[i].bytes) };
	ret = entries_ours(&p->list, r, o->nhook);
	free(r);
	return ret;
}

static int look_up(struct uft_session *s, struct space_obj *o, const struct uft_mapped *m, struct unprepared **out)
{
	struct unprepared *p;
	int ret = hooks_find(o, m);	/* the list, which is kept, has to know them all */

	if (ret)
		return ret;
	for (p = s->plain; p; p = p->next)
		if (p->obj == m->obj) {
			*out = p;
			return 0;
		}
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	ret = entries_list(m->obj, &p->list);
	if (ret) {
		free(p);
		return ret;
	}
	ret = keep_off_hooks(p, o, m->bias);
	if (ret) {
		entries_free(&p->list);
		free(p);
		return ret;
	}
	p->obj = uft_object_get(m->obj);
	p->next = s->plain;
	s->plain = p;
	*out = p;
	return 0;
}

void unprepared_free(struct uft_session *s)
{
	while (s->plain) {
		struct unprepared *p = s->plain;

		s->plain = p->next;
		entries_free(&p->list);
		uft_object_put(p->obj);
		free(p);
	}
}

int unprepared_list(struct uft_session *s, struct space_obj *o, const struct uft_mapped *m, const struct entries **out)
{
	struct unprepared *p;
	int ret = look_up(s, o, m, &p);

	*out = ret ? NULL : &p->list;
	return ret;
}

/* ---- Which objects ------------------------------------------------------------------------- */

int unprepared_is_asked(const struct spec *spec, const struct space *sp, uint32_t index)
{
	if (!spec || spec->tracer == UFT_TRACER_NOP || !entries_are_known(sp->img->obj[index].obj))
		return 0;
	if (sp->img->obj[index].obj->nbefore)
		return 1;
	if (sp->obj[index].nusable)
		return 0;
	return index == 0 || spec_names_object(spec, sp->img->obj[index].obj);
}

size_t unprepared_count(const struct space_obj *o)
{
	return o->plain ? o->plain->list.n : 0;
}

/* Ids of sites that cannot be used were never in a record: all of the object's move to a new range. */
static int take_ids(struct uft_session *s, struct space *sp, struct uft_mapped *m, uint32_t n)
{
	uint32_t *from = n > s->arena.map->profile_ids - sp->next_stub_id ? &sp->next_text_id : &sp->next_stub_id;

	if (n > UFT_REC_VALUE_MAX - *from)
		return -E2BIG;
	m->first_stub_id = *from;
	*from += n;
	return 0;
}

/* Makes room in all arrays by stub index. */
static int widen(struct space *sp, uint32_t index, const struct entries *list)
{
	struct space_obj *o = &sp->obj[index];
	struct uft_mapped *m = &sp->img->obj[index];
	size_t nsite = m->obj->nsite, n = nsite + list->n, had = m->nstubs, had_want = o->want ? had : 0;

	if (array_resize(m->stub_addr, n) || array_resize(m->site_addr, n) || array_resize(o->sent, n) ||
	    array_resize(o->want, n))
		return -ENOMEM;
	memset(m->stub_addr + had, 0, (n - had) * sizeof(*m->stub_addr));
	memset(m->site_addr + had, 0, (n - had) * sizeof(*m->site_addr));
	memset(o->sent + had, 0xff, (n - had) * sizeof(*o->sent));
	memset(o->want + had_want, 0xff, (n - had_want) * sizeof(*o->want));
	for (size_t i = 0; i < list->n; i++) {
		m->stub_addr[nsite + i] = list->entry[i].func + m->bias;
		m->site_addr[nsite + i] = list->entry[i].addr + entry_len(m->obj, &list->entry[i]) + m->bias;
	}
	return 0;
}

int unprepared_find(struct uft_session *s, struct space *sp, uint32_t index)
{
	struct space_obj *o = &sp->obj[index];
	struct uft_mapped *m = &sp->img->obj[index];
	struct unprepared *p;
	int ret;

	if (o->plain || !m->ntext_ids || !unprepared_is_asked(s->spec, sp, index))
		return 0;
	ret = look_up(s, o, m, &p);
	if (ret || !p->list.n)
		return ret;
	p->list.with_traps |= s->opts.int3;
	ret = widen(sp, index, &p->list);
	if (!ret)
		ret = take_ids(s, sp, m, (uint32_t)(m->obj->nsite + p->list.n));
	if (ret)
		return ret;
	m->nstubs = (uint32_t)(m->obj->nsite + p->list.n);
	o->plain = p;
	return 0;
}

/* ---- Which functions ----------------------------------------------------------------------- */

uint64_t unprepared_func(const struct space_obj *o, size_t i, int *can_be)
{
	const struct entry *e = &o->plain->list.entry[i];

	*can_be = e->skip == ENTRY_OK;
	return e->func;
}

const char *unprepared_why(const struct space_obj *o, size_t i)
{
	return entry_skip_text((enum entry_skip)o->plain->list.entry[i].skip);
}

const struct entry *unprepared_entry(const struct space_obj *o, size_t i)
{
	return &o->plain->list.entry[i];
}

/* What the names of functions that @fn chooses from have in them: memcpy_ is in __memcpy_avx_unaligned_erms. */
static void variant_key(const struct uft_func *fn, char *key, size_t size)
{
	const char *name = fn->name + strspn(fn->name, "_");

	snprintf(key, size, "%.*s_", (int)strcspn(name, "@"), name);
}

static int is_variant(const struct uft_func *fn, const char *key)
{
	return fn->name && fn->flags & UFT_FUNC_LOCAL && !(fn->flags & UFT_FUNC_CHOOSER) && strstr(fn->name, key);
}

static int wants_variant(const struct uft_object *obj, const struct unprepared *p, const uint16_t *want,
			 const char *key)
{
	for (size_t i = 0; i < obj->nfunc; i++) {
		const struct entry *e =
			is_variant(&obj->func[i], key) ? entries_find(&p->list, obj->func[i].addr) : NULL;

		if (e && want[e - p->list.entry] != WANT_NOT)
			return 1;
	}
	return 0;
}

/* One that is wanted without what it chooses from. Names are read by then. */
static const struct uft_func *find_chooser(const struct uft_object *obj, const struct unprepared *p,
					   const uint16_t *want)
{
	char key[100];

	for (size_t i = 0; i < obj->nfunc; i++) {
		const struct uft_func *fn = &obj->func[i];
		const struct entry *e =
			fn->name && fn->flags & UFT_FUNC_CHOOSER ? entries_find(&p->list, fn->addr) : NULL;

		if (!e || want[e - p->list.entry] == WANT_NOT)
			continue;
		variant_key(fn, key, sizeof(key));
		if (!wants_variant(obj, p, want, key))
			return fn;
	}
	return NULL;
}

void unprepared_describe_ifunc(const struct uft_object *obj, const struct uft_func *fn, struct uft_session_stats *out)
{
	char key[100];

	out->chooser = fn->name;
	out->chooser_object = uft_base_name(obj->path);
	out->chosen[0] = '\0';
	variant_key(fn, key, sizeof(key));
	/* By the first letters: what memcpy chooses may go by the name __memmove_avx512_unaligned_erms. */
	for (size_t i = 0; i < obj->nfunc && !out->chosen[0]; i++)
		if (is_variant(&obj->func[i], key) && !strncmp(obj->func[i].name, "__", 2) &&
		    !strncmp(obj->func[i].name + 2, key, 3))
			snprintf(out->chosen, sizeof(out->chosen), "%.3s", key);
}

/* Decodes the wanted functions. Functions that cannot be rewritten are counted and no longer wanted. */
int unprepared_plan(const struct spec *spec, struct space *sp, uint32_t index, struct uft_error *err)
{
	struct space_obj *o = &sp->obj[index];
	struct uft_object *obj = sp->img->obj[index].obj;
	uint16_t *want;
	uint8_t *all;
	long n;
	int ret;

	if (!o->plain)
		return 0;
	want = o->want + obj->nsite;
	memset(want, 0xff, o->plain->list.n * sizeof(*want));
	o->nplain = 0;
	n = spec_select_plain(spec, obj, o, index == 0 || obj->nbefore, want, err);
	/* Nothing is wanted any more, after a detach, say: choices and reasons of before are told at the end. */
	if (n <= 0)
		return (int)n;
	memset(o->plain_skip, 0, sizeof(o->plain_skip));
	o->chooser = (size_t)n < o->plain->list.n ? find_chooser(obj, o->plain, want) : NULL;
	all = malloc(o->plain->list.n);
	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < o->plain->list.n; i++)
		all[i] = want[i] != WANT_NOT;
	ret = entries_plan(obj, &o->plain->list, all);
	free(all);
	if (ret)
		uft_fail(err, ret, "cannot read the functions of %s: %s", obj->path, strerror(-ret));
	for (size_t i = 0; i < o->plain->list.n; i++) {
		const struct entry *e = &o->plain->list.entry[i];
		int no_graph = e->is_plain && WANT_STATE(want[i]) == UFT_GRAPH;

		if (want[i] == WANT_NOT)
			continue;
		if (!ret && e->skip == ENTRY_OK && (!no_graph || spec_ops(spec, want[i]) & UFT_ACT_FUNC)) {
			want[i] = no_graph ? WANT_OF(UFT_FUNCTION, 0) : want[i];
			o->nplain++;
			continue;
		}
		want[i] = WANT_NOT;
		if (e->skip != ENTRY_NOT_FUNCTION && e->skip != ENTRY_UNPREPARED)
			o->plain_skip[e->skip == ENTRY_OK ? PLAIN_NO_GRAPH : e->skip]++;
	}
	return ret;
}
