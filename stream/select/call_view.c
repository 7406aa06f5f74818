/* SPDX-License-Identifier: MIT */
/*
 * call_view.c - functions and tasks whose calls a buffer shows, where its records have calls of others as well
 *
 * Targets write one stream of records for all instances that want calls (control/plan/spec_select.c), and each buffer
 * gets all of it. A view matches functions by name, as the session did for the sites, once for each function and
 * stream. A view is made once, never changes, and is shared by the choices (choices.c) that name it, of a buffer and of
 * its copies.
 */
#include <stdlib.h>
#include <string.h>

#include "stream/select/select.h"
#include "symbol/array.h"
#include "symbol/tracer.h"
#include "symbol/words.h"

struct word_list { char *text; struct uft_pattern *p; size_t n; struct uft_words *words; };

struct call_view {
	int refs;			/* atomic */
	uint64_t number;		/* no other view has or had it */
	struct word_list filter, notrace, roots;
	uint32_t tracer;
	int is_bare;
	uint32_t *pids; size_t npids, nnot_pids;	/* pids to hide, behind those to show */
};

static void list_free(struct word_list *l)
{
	uft_words_free(l->words);
	for (size_t i = 0; i < l->n; i++)
		uft_pattern_free(&l->p[i]);
	free(l->p);
	free(l->text);
}

/* Makes a list of words. An invalid word matches nothing. 0: no memory. */
static int list_make(struct word_list *l, const char *text)
{
	size_t n = 0, len;
	uint8_t *is_not;

	l->text = strdup(text);
	for (const char *p = text; *p; p++)
		n += *p == '\n';
	l->p = calloc(n + 1, sizeof(*l->p));
	is_not = calloc(n + 1, 1);
	for (const char *p = text; l->text && l->p && is_not && *p; p += len + (p[len] == '\n')) {
		char *word;

		len = strcspn(p, "\n");
		is_not[l->n] = *p == '!';
		word = strndup(p + is_not[l->n], len - is_not[l->n]);
		l->n += word && !uft_pattern_parse(word, &l->p[l->n]);
		free(word);
	}
	if (l->n)
		l->words = uft_words_make(l->p, is_not, l->n);
	free(is_not);
	return l->text && l->p && (!l->n || l->words);
}

struct call_view *call_view_make(const struct uft_live_view *from)
{
	static uint64_t numbers;
	struct call_view *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->refs = 1;
	v->number = __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED);
	v->pids = malloc((from->npids + from->nnot_pids + 1) * sizeof(*v->pids));
	if (!list_make(&v->filter, from->filter) || !list_make(&v->notrace, from->notrace) ||
	    !list_make(&v->roots, from->roots) || !v->pids) {
		call_view_put(v);
		return NULL;
	}
	if (from->npids)
		memcpy(v->pids, from->pids, from->npids * sizeof(*v->pids));
	if (from->nnot_pids)
		memcpy(v->pids + from->npids, from->not_pids, from->nnot_pids * sizeof(*v->pids));
	v->tracer = from->tracer;
	v->is_bare = from->is_bare;
	v->npids = from->npids;
	v->nnot_pids = from->nnot_pids;
	return v;
}

struct call_view *call_view_get(struct call_view *v)
{
	if (v)
		__atomic_add_fetch(&v->refs, 1, __ATOMIC_RELAXED);
	return v;
}

void call_view_put(struct call_view *v)
{
	if (!v || __atomic_sub_fetch(&v->refs, 1, __ATOMIC_ACQ_REL))
		return;
	list_free(&v->filter);
	list_free(&v->notrace);
	list_free(&v->roots);
	free(v->pids);
	free(v);
}

int call_view_is(const struct call_view *v, const struct uft_live_view *other)
{
	if (!v || !other)
		return !v && !other;
	return !strcmp(v->filter.text, other->filter) && !strcmp(v->notrace.text, other->notrace) &&
	       !strcmp(v->roots.text, other->roots) && v->tracer == other->tracer && v->is_bare == other->is_bare &&
	       v->npids == other->npids && v->nnot_pids == other->nnot_pids &&
	       (!v->npids || !memcmp(v->pids, other->pids, v->npids * sizeof(*v->pids))) &&
	       (!v->nnot_pids || !memcmp(v->pids + v->npids, other->not_pids, v->nnot_pids * sizeof(*v->pids)));
}

/* ---- Trying ---------------------------------------------------------------------------------- */

static int is_in(const struct word_list *l, const char *raw, const char *demangled, const char *object,
		 int needs_object)
{
	long at = l->words ? uft_words_last(l->words, raw, demangled, object, needs_object) : -1;

	return at >= 0 && !uft_words_is_not(l->words, (size_t)at);
}

/* Returns the index of the symbol's object; UINT32_MAX: none. */
static uint32_t find_object(const struct uft_image *img, const struct uft_sym *sym)
{
	for (uint32_t i = 0; sym->of && i < img->nobj; i++)
		if (uft_object_is_same(img->obj[i].obj, sym->of))
			return i;
	return UINT32_MAX;
}

/* Is it one of the functions that make the tracer, as control/plan/spec.c has them? */
static int has_role(const struct call_view *v, const char *raw, const char *object, int needs_object)
{
	return (!needs_object || uft_tracer_wants_object(object)) &&
	       uft_tracer_role(v->tracer, raw, NULL) != UFT_ROLE_NONE;
}

/* Unprepared code in libraries is wanted only if a word names its object: control/plan/spec.c. */
static int wants_func(const struct call_view *v, const struct uft_image *img, const struct uft_sym *sym)
{
	uint32_t at = find_object(img, sym);
	const struct uft_object *obj = at == UINT32_MAX ? NULL : img->obj[at].obj;
	const struct uft_func *fn = obj ? uft_object_func((struct uft_object *)obj, sym->vaddr) : NULL;
	const char *raw = fn && fn->name ? fn->name : sym->name;
	char *demangled = raw[0] == '_' ? uft_demangle(raw) : NULL;
	int needs_object = obj && at && !obj->nsite && !obj->nbefore;
	int is_wanted = v->filter.n ? is_in(&v->filter, raw, demangled, sym->object, needs_object) : !needs_object;

	is_wanted = (is_wanted && !v->is_bare) || is_in(&v->roots, raw, demangled, sym->object, needs_object) ||
		    has_role(v, raw, sym->object, needs_object) || uft_tracer(v->tracer)->is_inits;
	is_wanted = is_wanted && !is_in(&v->notrace, raw, demangled, sym->object, 0);
	free(demangled);
	return is_wanted;
}

/* Returns the remembered matches of image @index; NULL: no memory. */
static uint8_t *match_of(struct selection *s, const struct call_view *v, uint32_t index)
{
	if (s->view_number != v->number && s->cap_view_match)
		memset(s->view_match, 0, s->cap_view_match);
	s->view_number = v->number;
	return array_reach(s->view_match, s->cap_view_match, index) ? NULL : &s->view_match[index];
}

static int has(const uint32_t *list, size_t n, uint32_t pid, uint32_t tid)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == tid || list[i] == pid)
			return 1;
	return 0;
}

int call_view_wants_task(const struct call_view *v, uint32_t pid, uint32_t tid)
{
	return !v ||
	       ((!v->npids || has(v->pids, v->npids, pid, tid)) && !has(v->pids + v->npids, v->nnot_pids, pid, tid));
}

int call_view_wants_func(struct selection *s, const struct call_view *v, const struct uft_image *img,
			 const struct uft_sym *sym)
{
	uint8_t *match;

	if (!v || !sym || !img)
		return 1;
	match = match_of(s, v, sym->index);
	if (!match)
		return wants_func(v, img, sym);
	if (!*match)
		*match = 1 + (uint8_t)wants_func(v, img, sym);
	return *match == 2;
}

int call_view_wants(struct selection *s, const struct call_view *v, const struct uft_event *ev)
{
	return call_view_wants_task(v, ev->task->pid, ev->task->tid) &&
	       call_view_wants_func(s, v, s->image_of ? s->image_of(ev->task) : NULL, ev->sym);
}
