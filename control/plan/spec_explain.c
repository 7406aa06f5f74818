/* SPDX-License-Identifier: MIT */
/* spec_explain.c - explain why a pattern of a spec selects nothing, or why no function of a program can be traced */
#include "control/plan/plan.h"
#include "control/plan/spec_match.h"
#include "control/plan/unprepared.h"
#include "control/relocate/entry.h"
#include "symbol/prepare.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The best match of a pattern. */
enum match { MATCH_NONE, MATCH_USABLE, MATCH_SKIPPED /* only such that cannot be traced */,
	     MATCH_OTHER /* only functions that are no candidates */ };

/* A function that can be traced, of any name. */
static int has_usable(const struct space *sp, uint32_t index, int is_asked)
{
	const struct space_obj *o = &sp->obj[index];
	int can_be = 0;

	for (size_t i = 0; is_asked && !can_be && i < unprepared_count(o); i++)
		unprepared_func(o, i, &can_be);
	return can_be || o->nusable;
}

/* Among the plain functions of an object: those that were looked at tell, of others it is hoped for. */
static enum match find_plain(const struct uft_pattern *p, const struct space *sp, uint32_t index, const char **why)
{
	const struct space_obj *o = &sp->obj[index];
	struct uft_object *obj = sp->img->obj[index].obj;
	enum match found = MATCH_NONE;
	char text[256];

	for (size_t i = 0; i < unprepared_count(o); i++) {
		struct names f;
		int can_be, hit;
		uint64_t func = unprepared_func(o, i, &can_be);

		names_of(obj, func, &f, text, sizeof(text));
		f.needs_object = index != 0 && !obj->nbefore;
		hit = names_match(p, &f);
		free(f.demangled);
		if (hit && can_be)
			return MATCH_USABLE;
		if (hit) {
			*why = unprepared_why(o, i);
			found = MATCH_SKIPPED;
		}
	}
	return found;
}

static enum match find_match(const struct uft_pattern *p, const struct spec *spec, const struct space *sp,
			     uint32_t index, const char **why)
{
	struct uft_object *obj = sp->img->obj[index].obj;
	int is_asked = unprepared_is_asked(spec, sp, index) && (!index || p->object || obj->nbefore);
	enum match found = MATCH_NONE;
	char text[256];

	if (p->object && !pattern_names_object(p, obj))
		return MATCH_NONE;
	if (pattern_is_every(p) && has_usable(sp, index, is_asked))
		return MATCH_USABLE;
	if (uft_object_names(obj, NULL))
		return MATCH_NONE;
	if (unprepared_count(&sp->obj[index]) && is_asked)
		found = find_plain(p, sp, index, why);
	for (size_t i = 0; i < obj->nsite && found != MATCH_USABLE; i++) {
		struct names f;
		int hit;

		names_of(obj, obj->site[i].func, &f, text, sizeof(text));
		hit = names_match(p, &f);
		free(f.demangled);
		if (!hit)
			continue;
		if (obj->site[i].skip == UFT_SKIP_NONE)
			return MATCH_USABLE;
		*why = uft_skip_text(obj->site[i].skip);
		found = MATCH_SKIPPED;
	}
	for (size_t i = 0; !found && i < obj->nfunc; i++) {
		struct names f = { .raw = obj->func[i].name, .object = uft_base_name(obj->path) };

		if (f.raw && names_match(p, &f))
			found = is_asked && !unprepared_count(&sp->obj[index]) ? MATCH_USABLE : MATCH_OTHER;
		free(f.demangled);
	}
	return found;
}

/*
 * How many functions of an object are worth a suggestion, and the name of one: prepared, or else where plain
 * code is asked for.
 */
static size_t near_count(const struct uft_pattern *p, struct uft_object *obj, uint32_t index)
{
	if (p->object && !pattern_names_object(p, obj))
		return 0;
	if (obj->nsite)
		return obj->nsite;
	return (p->object || !index) && !uft_object_names(obj, NULL) ? obj->nfunc : 0;
}

static const char *near_name(struct uft_object *obj, size_t i)
{
	const struct uft_func *fn = obj->nsite ? uft_object_func(obj, obj->site[i].func) : &obj->func[i];

	return !fn || (obj->nsite && obj->site[i].skip != UFT_SKIP_NONE) ? NULL : fn->name;
}

static void near_names(const struct uft_pattern *p, struct space *const *spaces, size_t nspaces, char *out, size_t size)
{
	const char **names = NULL, *near[3];
	char **owned = NULL;
	size_t n = 0, room = 0, found;

	out[0] = '\0';
	for (size_t k = 0; k < nspaces; k++)
		for (uint32_t o = 0; o < spaces[k]->nobj; o++)
			room += near_count(p, spaces[k]->img->obj[o].obj, o);
	names = calloc(room + 1, sizeof(*names));
	owned = calloc(room + 1, sizeof(*owned));
	for (size_t k = 0; names && owned && k < nspaces; k++) {
		for (uint32_t o = 0; o < spaces[k]->nobj; o++) {
			struct uft_object *obj = spaces[k]->img->obj[o].obj;
			size_t count = near_count(p, obj, o);

			for (size_t i = 0; i < count && n < room; i++) {
				const char *name = near_name(obj, i);

				if (!name)
					continue;
				owned[n] = name[0] == '_' ? uft_demangle(name) : NULL;
				names[n] = owned[n] ? owned[n] : name;
				n++;
			}
		}
	}
	found = n ? uft_near(p->func, names, n, near, 3) : 0;
	for (size_t i = 0, len = 0; i < found && len < size; i++)
		len += (size_t)snprintf(out + len, size - len, "%s%s", i ? ", " : "; near: ", near[i]);
	for (size_t i = 0; i < n; i++)
		free(owned[i]);
	free(owned);
	free(names);
}

/* A function has one name here; is this another one of it? */
static int other_name(const struct uft_pattern *p, struct space *const *spaces, size_t nspaces, char *out, size_t size)
{
	for (size_t k = 0; k < nspaces; k++)
		for (uint32_t o = 0; o < spaces[k]->nobj; o++) {
			struct uft_object *obj = spaces[k]->img->obj[o].obj;
			const struct uft_func *fn;
			uint64_t addr;

			if (p->object ? !pattern_names_object(p, obj) : o && !obj->nsite)
				continue;
			addr = uft_object_symbol(obj, p->func, NULL);
			fn = addr ? uft_object_func(obj, addr) : NULL;
			if (!fn || fn->addr != addr || !fn->name || !strcmp(fn->name, p->func))
				continue;
			snprintf(out, size, "; it goes by the name '%s'", fn->name);
			return 1;
		}
	return 0;
}

/* The kernel keeps filters for modules that are loaded later; so does uft for objects. */
static int object_is_absent(const struct uft_pattern *p, struct space *const *spaces, size_t nspaces)
{
	if (!p->object)
		return 0;
	for (size_t k = 0; k < nspaces; k++)
		for (uint32_t o = 0; o < spaces[k]->nobj; o++)
			if (uft_glob_match(p->object, uft_base_name(spaces[k]->img->obj[o].obj->path)))
				return 0;
	return 1;
}

/* Writes why a pattern selects nothing. @other: an object that has such functions, or NULL. */
static int explain(const char *text, enum match best, const char *why, const struct uft_object *other,
		   int is_library, const char *near, struct uft_error *err)
{
	if (best == MATCH_SKIPPED)
		return uft_fail(err, -ENOENT, "'%s' matches only functions that cannot be traced: %s", text, why);
	if (best == MATCH_OTHER && is_library)
		return uft_fail(err, -ENOENT,
				"'%s' is only found in %s, which was not built for tracing; to trace it there: "
				"'%s:mod:%s'", text, uft_base_name(other->path), text, uft_base_name(other->path));
	if (best == MATCH_OTHER)
		return uft_fail(err, -ENOENT, "'%s' matches only functions that were not built for tracing "
				"(`uft cflags` prints the options)", text);
	return uft_fail(err, -ENOENT, "'%s' matches no function%s", text, near);
}

static int is_stripped(const struct space *sp)
{
	char from[PATH_MAX];

	return sp->nobj && uft_object_names_from(sp->img->obj[0].obj, from, sizeof(from)) < 2;
}

/* @least: so much at least is to be found. */
static int check_pattern(const struct spec *sp, const struct uft_pattern *p, const char *text, enum match least,
			 struct space *const *spaces, size_t nspaces, struct uft_error *err)
{
	const struct uft_object *other = NULL;
	enum match best = MATCH_NONE;
	const char *why = "";
	char near[256] = "";
	int is_library = 0;

	for (size_t k = 0; k < nspaces; k++)
		for (uint32_t o = 0; o < spaces[k]->nobj; o++) {
			enum match m = find_match(p, sp, spaces[k], o, &why);

			if (m && m <= least)
				return 0;
			if (m && (!best || m < best)) {
				best = m;
				other = spaces[k]->img->obj[o].obj;
				is_library = o && !p->object && !spaces[k]->obj[o].nusable;
			}
		}
	/* All functions are wanted and none can be traced: no mistake of the user; the recording tells it. */
	if (object_is_absent(p, spaces, nspaces) || (pattern_is_every(p) && best))
		return 0;
	if (!best && !other_name(p, spaces, nspaces, near, sizeof(near)))
		near_names(p, spaces, nspaces, near, sizeof(near));
	if (!best && !near[0] && nspaces && is_stripped(spaces[0]))
		snprintf(near, sizeof(near),
			 " with a name (the program is stripped; its -dbgsym package, DEBUGINFOD_URLS or "
			 "--symbols give names)%s",
			 p->object ? "" :
			 "; for a library, or for a program that this one starts, write NAME:mod:FILE");
	return explain(text, best, why, other, is_library, near, err);
}

static int check_list(const struct spec *sp, const struct uft_pattern *p, char *const *text, size_t n, enum match least,
		      struct space *const *spaces, size_t nspaces, struct uft_error *err)
{
	int ret = 0;

	for (size_t i = 0; i < n && !ret; i++)
		ret = check_pattern(sp, &p[i], text[i], least, spaces, nspaces, err);
	return ret;
}

int spec_check(const struct spec *sp, struct space *const *spaces, size_t nspaces, struct uft_error *err)
{
	/*
	 * A function that must not be recorded may be one that cannot be: only a name that no function has is
	 * a mistake.
	 */
	const struct { const struct uft_pattern *pattern; char *const *text; size_t n; enum match least; } lists[] = {
		{ sp->filter, sp->filter_text, sp->nfilter, MATCH_USABLE },
		{ sp->roots, sp->roots_text, sp->nroots, MATCH_USABLE },
		{ sp->keep, sp->keep_text, sp->nkeep, MATCH_USABLE },
		{ sp->notrace, sp->notrace_text, sp->nnotrace, MATCH_OTHER },
		{ sp->hidden, sp->hidden_text, sp->nhidden, MATCH_OTHER },
	};
	int ret = 0;

	for (size_t i = 0; sp->tracer != UFT_TRACER_NOP && i < sizeof(lists) / sizeof(lists[0]) && !ret; i++)
		ret = check_list(sp, lists[i].pattern, lists[i].text, lists[i].n, lists[i].least, spaces, nspaces, err);
	return ret;
}

void spec_explain_none(const struct space *sp, char *text, size_t size)
{
	uint64_t reason[UFT_SKIP_NKINDS] = { 0 }, most = 0;
	enum uft_skip why = UFT_SKIP_NONE;
	int is_known = !sp->nobj || entries_are_known(sp->img->obj[0].obj);

	for (uint32_t o = 0; o < sp->nobj; o++)
		for (size_t i = 0; i < sp->img->obj[o].obj->nsite; i++)
			if (sp->img->obj[o].obj->site[i].skip < UFT_SKIP_NKINDS)
				reason[sp->img->obj[o].obj->site[i].skip]++;
	for (int i = UFT_SKIP_NONE + 1; i < UFT_SKIP_NKINDS; i++)
		if (reason[i] > most) {
			most = reason[i];
			why = (enum uft_skip)i;
		}
	if (most)
		snprintf(text, size, "%s has no function that can be traced: %llu were skipped: %s", sp->img->exe,
			 (unsigned long long)most, uft_skip_text(why));
	else
		snprintf(text, size,
			 "%s has no function that can be traced: it was not built for it, and %s; build it with %s "
			 "(`uft cflags` prints the options for your compiler)", sp->img->exe, is_known ?
			 "has no unwind tables to find its functions by" : "code of its machine is not rewritten",
			 !sp->nobj ?
			 UFT_PREPARE_X86_64 : uft_prepare_options(sp->img->obj[0].obj->machine));
}
