/* SPDX-License-Identifier: MIT */
/*
 * spec_match.c - the functions of an object that the patterns of a spec select
 *
 * A site is selected when a filter pattern matches its function (no filter: always), or a root pattern does, and
 * no notrace pattern does. Names are looked up and demangled only for this; without patterns nothing is read.
 */
#include "control/plan/spec_match.h"

#include "control/plan/plan.h"
#include "control/plan/unprepared.h"
#include "symbol/tracer.h"
#include "symbol/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 1: a demangled name was made now. */
static int demangle(struct names *f)
{
	if (f->is_tried || !f->raw)
		return 0;
	f->is_tried = 1;
	f->demangled = f->raw[0] == '_' ? uft_demangle(f->raw) : NULL;
	return f->demangled != NULL;
}

int names_match(const struct uft_pattern *p, struct names *f)
{
	if (f->needs_object && !p->object)
		return 0;
	return uft_pattern_match(p, f->raw, f->demangled, f->object) ||
	       (demangle(f) && uft_pattern_match(p, f->raw, f->demangled, f->object));
}

/* The last word that matches decides. Without a `!` any does, so the name that costs nothing is tried first. */
static int match_list(const struct uft_words *w, struct names *f)
{
	long at;

	if (!w)
		return 0;
	if (uft_words_has_not(w))
		demangle(f);
	at = uft_words_last(w, f->raw, f->demangled, f->object, f->needs_object);
	if (at < 0 && demangle(f))
		at = uft_words_last(w, f->raw, f->demangled, f->object, f->needs_object);
	return at >= 0 && !uft_words_is_not(w, (size_t)at);
}

int pattern_names_object(const struct uft_pattern *p, const struct uft_object *obj)
{
	char any[] = "*";
	struct uft_pattern of = { any, p->object };

	return p->object && uft_pattern_match(&of, "x", NULL, uft_base_name(obj->path));
}

int pattern_is_every(const struct uft_pattern *p)
{
	return !strcmp(p->func, "*");
}

/* All functions of the object, whatever they are called: no names are needed, which cost more than to arm them. */
static int is_match_all(const struct spec *sp, const struct uft_object *obj, int needs_object)
{
	if (sp->nnotrace || sp->nroots || sp->nhidden || sp->nkeep || sp->min_size || sp->events || sp->is_inits)
		return 0;
	for (size_t i = 0; i < sp->nfilter; i++)
		if (sp->filter_text[i][0] == '!')
			return 0;
	for (size_t i = 0; i < sp->nfilter; i++)
		if (pattern_is_every(&sp->filter[i]) &&
		    (sp->filter[i].object ? pattern_names_object(&sp->filter[i], obj) : !needs_object))
			return 1;
	return !sp->nfilter && !needs_object;
}

static uint8_t site_state(const struct spec *sp)
{
	return sp->tracer == UFT_TRACER_FUNCTION ? UFT_FUNCTION : UFT_GRAPH;
}

void names_of(struct uft_object *obj, uint64_t func, struct names *f, char *text, size_t size)
{
	const struct uft_func *fn = uft_object_func(obj, func);

	*f = (struct names){ .raw = fn ? fn->name : NULL, .object = uft_base_name(obj->path) };
	if (!f->raw) {
		snprintf(text, size, "%s+0x%llx", f->object, (unsigned long long)func);
		f->raw = text;
	}
}

/* The size is that of the symbol or unwind entry; a function of unknown size is not small. */
static int is_small(const struct spec *sp, struct uft_object *obj, uint64_t func)
{
	const struct uft_func *fn = sp->min_size ? uft_object_func(obj, func) : NULL;

	return fn && fn->size && fn->size < sp->min_size;
}

/* The number of a root's action; 0: no root. A root without a limit wins over one with a limit. */
static unsigned root_of(const struct spec *sp, struct names *f)
{
	if (match_list(sp->root_words, f))
		return UFT_ACT_ROOT;
	for (size_t i = 0; i < sp->nkeep; i++)
		if (names_match(&sp->keep[i], f))
			return sp->keep_action[i];
	return 0;
}

/* enum uft_action_ops of a function whose arguments and results the tracer needs, or 0. */
static uint32_t event_of(const struct spec *sp, const struct names *f)
{
	uint32_t ops;

	if (!sp->events || (f->needs_object && !uft_tracer_wants_object(f->object)) ||
	    !uft_tracer_role(sp->events, f->raw, &ops))
		return 0;
	return ops;
}

/* The wanted state of the function at @func, or WANT_NOT. */
static uint16_t select_func(const struct spec *sp, struct uft_object *obj, uint64_t func, int needs_object)
{
	struct names f;
	char text[256];
	int is_wanted;
	unsigned action;

	if (sp->is_inits && !uft_object_is_init(obj, func))
		return WANT_NOT;
	needs_object &= !sp->is_inits;
	if (!sp->events && is_small(sp, obj, func))
		return WANT_NOT;
	names_of(obj, func, &f, text, sizeof(text));
	f.needs_object = needs_object;
	action = root_of(sp, &f);
	if (!action)
		action = event_of(sp, &f);
	is_wanted = action || (!sp->is_bare && ((!sp->nfilter && !needs_object) || match_list(sp->filter_words, &f)));
	f.needs_object = 0;
	is_wanted = is_wanted && !match_list(sp->notrace_words, &f);
	if (is_wanted && match_list(sp->hidden_words, &f))	/* also if it is a root */
		action = UFT_ACT_HIDE;
	free(f.demangled);
	return is_wanted ? WANT_OF(site_state(sp), action) : WANT_NOT;
}

int spec_wants_stack(const struct spec *sp, struct uft_object *obj, uint64_t func)
{
	struct names f;
	char text[256];
	int ret;

	names_of(obj, func, &f, text, sizeof(text));
	ret = match_list(sp->stack_words, &f);
	free(f.demangled);
	return ret;
}

long spec_select_own(const struct spec *sp, struct uft_object *obj, uint16_t *want, struct uft_error *err)
{
	uint16_t armed = WANT_OF(site_state(sp), 0);
	long n = 0;
	int ret;

	memset(want, 0xff, obj->nsite * sizeof(*want));
	if (sp->tracer == UFT_TRACER_NOP)
		return 0;
	if (is_match_all(sp, obj, 0)) {
		for (size_t i = 0; i < obj->nsite; i++) {
			if (obj->site[i].skip != UFT_SKIP_NONE)
				continue;
			want[i] = armed;
			n++;
		}
		return n;
	}
	if (!obj->nsite)
		return 0;
	ret = uft_object_names(obj, err);
	if (ret)
		return ret;
	for (size_t i = 0; i < obj->nsite; i++) {
		if (obj->site[i].skip != UFT_SKIP_NONE)
			continue;
		want[i] = select_func(sp, obj, obj->site[i].func, 0);
		n += want[i] != WANT_NOT;
	}
	return n;
}

long spec_select_own_plain(const struct spec *sp, struct uft_object *obj, const struct space_obj *o, int is_program,
			   uint16_t *want, struct uft_error *err)
{
	int all = is_match_all(sp, obj, !is_program), can_be;
	int ret = all || sp->tracer == UFT_TRACER_NOP ? 0 : uft_object_names(obj, err);
	long n = 0;

	if (ret || sp->tracer == UFT_TRACER_NOP)
		return ret;
	for (size_t i = 0; i < unprepared_count(o); i++) {
		uint64_t func = unprepared_func(o, i, &can_be);

		want[i] = all ? WANT_OF(site_state(sp), 0) : select_func(sp, obj, func, !is_program);
		n += want[i] != WANT_NOT;
	}
	return n;
}

int spec_names_object(const struct spec *sp, struct uft_object *obj)
{
	if (sp->events && uft_tracer_wants_object(uft_base_name(obj->path)))
		return 1;
	if (sp->is_inits && uft_object_inits(obj))
		return 1;
	for (size_t i = 0; i < sp->nfilter; i++)
		if (pattern_names_object(&sp->filter[i], obj))
			return 1;
	for (size_t i = 0; i < sp->nroots; i++)
		if (pattern_names_object(&sp->roots[i], obj))
			return 1;
	for (size_t i = 0; i < sp->nkeep; i++)
		if (pattern_names_object(&sp->keep[i], obj))
			return 1;
	return sp->beside && spec_names_object(sp->beside, obj);
}
