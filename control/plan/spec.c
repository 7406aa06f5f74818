// SPDX-License-Identifier: MIT
/*
 * spec.c - from patterns to sites: what of an object is to be traced
 *
 * A site is selected when a filter pattern matches its function (no filter: always), or a root pattern does, and
 * no notrace pattern does. Names are looked up and demangled only for this; without patterns nothing is read.
 */
#include "control/plan/watch_list.h"
#include "control/state/state.h"
#include "control/plan/plan.h"
#include "control/plan/unprepared.h"
#include "control/relocate/entry.h"
#include "symbol/tracer.h"
#include "symbol/words.h"
#include "symbol/prepare.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void patterns_free(struct uft_pattern *p, char **text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uft_pattern_free(&p[i]);
		free(text[i]);
	}
	free(p);
	free(text);
}

static int patterns_parse(const char *const *list, struct uft_pattern **out, char ***text, size_t *n,
			  struct uft_error *err)
{
	size_t count = 0;

	*out = NULL;
	*text = NULL;
	*n = 0;
	while (list && list[count])
		count++;
	if (!count)
		return 0;
	*out = calloc(count, sizeof(**out));
	*text = calloc(count, sizeof(**text));
	if (!*out || !*text)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (uft_pattern_parse(list[i] + (list[i][0] == '!'), &(*out)[i]))
			return uft_fail(err, -EINVAL, "'%s' is not a function pattern: use glob or glob:mod:object", list[i]);
		(*text)[i] = strdup(list[i]);
		(*n)++;
		if (!(*text)[i])
			return -ENOMEM;
	}
	return 0;
}

void spec_free(struct spec *sp)
{
	if (!sp)
		return;
	spec_free(sp->beside);
	patterns_free(sp->filter, sp->filter_text, sp->nfilter);
	patterns_free(sp->notrace, sp->notrace_text, sp->nnotrace);
	patterns_free(sp->roots, sp->roots_text, sp->nroots);
	patterns_free(sp->hidden, sp->hidden_text, sp->nhidden);
	patterns_free(sp->keep, sp->keep_text, sp->nkeep);
	patterns_free(sp->stack_of, sp->stack_of_text, sp->nstack_of);
	uft_words_free(sp->filter_words);
	uft_words_free(sp->notrace_words);
	uft_words_free(sp->root_words);
	uft_words_free(sp->hidden_words);
	uft_words_free(sp->stack_words);
	for (size_t i = 0; i < sp->nevent_words; i++) {
		free(sp->event_words[i]);
		free(sp->event_filters[i]);
	}
	for (size_t i = 0; i < sp->nevents; i++)
		free(sp->event[i].filter);
	free(sp->event_words);
	free(sp->event_filters);
	free(sp->event);
	spec_rules_free(sp);
	free(sp->keep_action);
	access_free(sp->watch, sp->nwatch);
	free(sp);
}

int spec_copy_events(const struct uft_trace_spec *from, struct spec *sp)
{
	size_t n = 0;

	while (from->trace_events && from->trace_events[n])
		n++;
	sp->event_words = calloc(n + 1, sizeof(*sp->event_words));
	sp->event_filters = calloc(n + 1, sizeof(*sp->event_filters));
	sp->event = calloc(from->nevents + 1, sizeof(*sp->event));
	if (!sp->event_words || !sp->event_filters || !sp->event)
		return -ENOMEM;
	while (sp->nevent_words < n) {
		size_t i = sp->nevent_words++;
		const char *filter = from->event_filters ? from->event_filters[i] : NULL;

		sp->event_words[i] = strdup(from->trace_events[i]);
		sp->event_filters[i] = filter ? strdup(filter) : NULL;
		if (!sp->event_words[i] || (filter && !sp->event_filters[i]))
			return -ENOMEM;
	}
	for (; sp->nevents < from->nevents; sp->nevents++) {
		const struct uft_event_want *want = &from->events[sp->nevents];
		char *filter = want->filter ? strdup(want->filter) : NULL;

		if (want->filter && !filter)
			return -ENOMEM;
		sp->event[sp->nevents] = (struct spec_event){ want->index, filter };
	}
	return 0;
}

size_t spec_first_event(const struct spec *sp, const struct uft_event_type *type)
{
	size_t lo = 0, hi = sp->nevents;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (sp->event[mid].index < type->index)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int spec_wants_event(const struct spec *sp, const struct uft_event_type *type)
{
	size_t at = spec_first_event(sp, type);

	if (at < sp->nevents && sp->event[at].index == type->index)
		return 1;
	for (size_t i = sp->nevent_words; i--;) {
		const char *word = sp->event_words[i];
		int is_not = *word == '!';

		if (uft_event_matches(word + is_not, strlen(word + is_not), type))
			return !is_not;
	}
	return 0;
}

static int words_make(const struct uft_pattern *p, char *const *text, size_t n, struct uft_words **out)
{
	uint8_t *is_not = n ? malloc(n) : NULL;

	if (!n)
		return 0;
	for (size_t i = 0; is_not && i < n; i++)
		is_not[i] = text[i][0] == '!';
	*out = is_not ? uft_words_make(p, is_not, n) : NULL;
	free(is_not);
	return *out ? 0 : -ENOMEM;
}

uint32_t spec_ops(const struct spec *sp, uint16_t want)
{
	uint32_t n = WANT_ACTION(want);

	return want == WANT_NOT ? 0 : n < sp->params.nactions ? sp->params.action[n].ops : 0;
}

static void make_actions(struct spec *sp)
{
	struct uft_action *a = sp->params.action;

	for (uint32_t ops = 0; ops < ACTION_KEPT; ops++)
		a[ops].ops = ops;
	for (uint32_t i = 0; i < sp->nlimits; i++)
		a[ACTION_KEPT + i].ops = UFT_ACT_ROOT | UFT_ACT_KEEP;
	sp->params.nactions = ACTION_KEPT + sp->nlimits;
}

/* Each limit is an action's; params hold it in clock units (session_set_times()). */
static int keep_parse(const struct uft_ops *in, struct spec *sp, struct uft_error *err)
{
	int ret = patterns_parse(in->keep, &sp->keep, &sp->keep_text, &sp->nkeep, err);

	if (ret || !sp->nkeep)
		return ret;
	if (in->events)
		return uft_fail(err, -EINVAL, "slow calls are kept without arguments, results and the like");
	if (in->tracer != UFT_TRACER_GRAPH || in->thresh_ns)
		return uft_fail(err, -EINVAL, "only the graph of slow calls is kept: not another tracer's, not beside a threshold");
	sp->keep_action = calloc(sp->nkeep, 1);
	if (!sp->keep_action)
		return -ENOMEM;
	for (size_t i = 0; i < sp->nkeep; i++) {
		uint32_t k = 0;

		while (k < sp->nlimits && sp->keep_ns[k] != in->keep_ns[i])
			k++;
		if (k == ACTION_LIMITS)
			return uft_fail(err, -E2BIG, "more than %u different times for slow calls", ACTION_LIMITS);
		sp->keep_ns[k] = in->keep_ns[i];
		sp->keep_action[i] = (uint8_t)(ACTION_KEPT + k);
		sp->nlimits = k == sp->nlimits ? k + 1 : sp->nlimits;
	}
	return 0;
}

/* What of each call is written beside its ENTRY and EXIT. Signal handlers are marked where calls are slow anyway. */
static uint32_t events_of(const struct uft_ops *in, const struct spec *sp)
{
	uint32_t events = 0;

	if (sp->events != UFT_TRACER_NOP)
		return UFT_EVENTS_SOME | (sp->events == UFT_TRACER_KMEMTRACE ? UFT_EVENTS_SOME_PARENT : 0);
	if (in->tracer == UFT_TRACER_PROFILE)
		return in->events & (UFT_EVENTS_CPU | UFT_EVENTS_SELF);
	if (in->tracer != UFT_TRACER_GRAPH)
		return 0;
	events = in->events & ~(uint32_t)UFT_EVENTS_SELF;
	return events || sp->params.has_roots ? events | UFT_EVENTS_HANDLERS : 0;
}

int spec_make_one(const struct uft_ops *in, struct spec **out, struct uft_error *err)
{
	const size_t max_pids = sizeof(((struct uft_tracer_params *)0)->pids) / sizeof(uint32_t);
	const struct uft_tracer_row *row = uft_tracer(in->tracer);
	struct spec *sp;
	int ret;

	if (in->tracer >= UFT_NTRACERS)
		return uft_fail(err, -EINVAL, "there is no tracer number %u", in->tracer);
	if (in->npids + in->nnot_pids > max_pids)
		return uft_fail(err, -E2BIG, "%zu process and thread ids are too many: %zu are possible", in->npids + in->nnot_pids, max_pids);
	sp = calloc(1, sizeof(*sp));
	if (!sp)
		return -ENOMEM;
	sp->events = uft_tracer_has_events(in->tracer) ? in->tracer : UFT_TRACER_NOP;
	sp->own = row->kind == UFT_KIND_OWN ? 1u << in->tracer : 0;
	sp->is_bare = sp->events && in->is_bare;
	sp->is_inits = row->is_inits;
	sp->tracer = row->target;
	sp->thresh_ns = sp->events || sp->is_inits || sp->own ? 0 : in->thresh_ns;	/* the reader's, of other times; our own */
	sp->hwlat = (struct spec_spin){ in->hwlat, in->thresh_ns };
	sp->osnoise = (struct spec_spin){ in->osnoise, in->thresh_ns };
	sp->sample_ns = in->sample_ns;
	ret = in->tracer == UFT_TRACER_MMIOTRACE ? access_parse(in->watch, &sp->watch, &sp->nwatch, err) : 0;
	if (!ret)
		ret = patterns_parse(in->filter, &sp->filter, &sp->filter_text, &sp->nfilter, err);
	if (!ret)
		ret = patterns_parse(in->notrace, &sp->notrace, &sp->notrace_text, &sp->nnotrace, err);
	if (!ret)
		ret = patterns_parse(in->roots, &sp->roots, &sp->roots_text, &sp->nroots, err);
	if (!ret && in->tracer == UFT_TRACER_GRAPH)
		ret = patterns_parse(in->hidden, &sp->hidden, &sp->hidden_text, &sp->nhidden, err);
	if (!ret)
		ret = patterns_parse(in->stack_of, &sp->stack_of, &sp->stack_of_text, &sp->nstack_of, err);
	if (!ret)
		ret = keep_parse(in, sp, err);
	if (!ret)
		ret = words_make(sp->filter, sp->filter_text, sp->nfilter, &sp->filter_words);
	if (!ret)
		ret = words_make(sp->notrace, sp->notrace_text, sp->nnotrace, &sp->notrace_words);
	if (!ret)
		ret = words_make(sp->roots, sp->roots_text, sp->nroots, &sp->root_words);
	if (!ret)
		ret = words_make(sp->hidden, sp->hidden_text, sp->nhidden, &sp->hidden_words);
	if (!ret)
		ret = words_make(sp->stack_of, sp->stack_of_text, sp->nstack_of, &sp->stack_words);
	if (ret) {
		spec_free(sp);
		return ret;
	}
	sp->params.tracer = sp->tracer;
	make_actions(sp);
	sp->params.stacks = sp->own ? in->stacks & UFT_STACKS_TRACEPOINT : in->stacks | (sp->nstack_of ? UFT_STACKS_SOME : 0);
	sp->has_switches = in->tracer == UFT_TRACER_SCHED_SWITCH || (in->has_switches && !sp->own && in->tracer != UFT_TRACER_NOP);
	sp->has_stacks = sp->own && in->stacks & ~(uint32_t)UFT_STACKS_TRACEPOINT;
	sp->params.max_depth = in->max_depth;
	sp->params.has_roots = (sp->nroots || sp->nkeep ? UFT_ROOTS_ONLY : 0) | (sp->nhidden ? UFT_ROOTS_NOT : 0);
	sp->params.has_pids = (in->npids ? UFT_PIDS_ONLY : 0) | (in->nnot_pids ? UFT_PIDS_NOT : 0);
	if (sp->params.has_pids && in->is_forking) {
		sp->params.has_pids |= UFT_PIDS_FORK;
		sp->params.kin = in->kin;
	}
	sp->params.npids = (uint32_t)in->npids;
	sp->params.nnot_pids = (uint32_t)in->nnot_pids;
	if (in->npids)
		memcpy(sp->params.pids, in->pids, in->npids * sizeof(uint32_t));
	if (in->nnot_pids)
		memcpy(sp->params.pids + in->npids, in->not_pids, in->nnot_pids * sizeof(uint32_t));
	sp->params.has_events = events_of(in, sp);
	*out = sp;
	return 0;
}

/* A function's names while patterns are tried; the demangled one is made when the raw one did not match. */
struct names {
	const char *raw, *object;
	char *demangled;
	int is_tried;
	int needs_object;		/* only patterns that name the object count */
};

/* 1: it has a demangled name that was not there before. */
static int demangle(struct names *f)
{
	if (f->is_tried || !f->raw)
		return 0;
	f->is_tried = 1;
	f->demangled = f->raw[0] == '_' ? uft_demangle(f->raw) : NULL;
	return f->demangled != NULL;
}

static int match_one(const struct uft_pattern *p, struct names *f)
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

static int names_object(const struct uft_pattern *p, const struct uft_object *obj)
{
	char any[] = "*";
	struct uft_pattern of = { any, p->object };

	return p->object && uft_pattern_match(&of, "x", NULL, uft_base_name(obj->path));
}

static int is_every(const struct uft_pattern *p)
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
		if (is_every(&sp->filter[i]) && (sp->filter[i].object ? names_object(&sp->filter[i], obj) : !needs_object))
			return 1;
	return !sp->nfilter && !needs_object;
}

static uint8_t site_state(const struct spec *sp)
{
	return sp->tracer == UFT_TRACER_FUNCTION ? UFT_FUNCTION : UFT_GRAPH;
}

/* The names of the function at @func; @text holds a made-up one. */
static void func_names(struct uft_object *obj, uint64_t func, struct names *f, char *text, size_t size)
{
	const struct uft_func *fn = uft_object_func(obj, func);

	*f = (struct names){ .raw = fn ? fn->name : NULL, .object = uft_base_name(obj->path) };
	if (!f->raw) {
		snprintf(text, size, "%s+0x%llx", f->object, (unsigned long long)func);
		f->raw = text;
	}
}

/* By symbol or unwind entry; one whose size nothing tells is not small. */
static int is_small(const struct spec *sp, struct uft_object *obj, uint64_t func)
{
	const struct uft_func *fn = sp->min_size ? uft_object_func(obj, func) : NULL;

	return fn && fn->size && fn->size < sp->min_size;
}

/* The number of a root's action; 0: no root. What is kept always wins over what may not be. */
static unsigned root_of(const struct spec *sp, struct names *f)
{
	if (match_list(sp->root_words, f))
		return UFT_ACT_ROOT;
	for (size_t i = 0; i < sp->nkeep; i++)
		if (match_one(&sp->keep[i], f))
			return sp->keep_action[i];
	return 0;
}

/* One whose arguments and results the tracer is made of? enum uft_action_ops, or 0. */
static uint32_t event_of(const struct spec *sp, const struct names *f)
{
	uint32_t ops;

	if (!sp->events || (f->needs_object && !uft_tracer_wants_object(f->object)) ||
	    !uft_tracer_role(sp->events, f->raw, &ops))
		return 0;
	return ops;
}

/* What the function at @func is to be, or WANT_NOT. */
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
	func_names(obj, func, &f, text, sizeof(text));
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

	func_names(obj, func, &f, text, sizeof(text));
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
		if (names_object(&sp->filter[i], obj))
			return 1;
	for (size_t i = 0; i < sp->nroots; i++)
		if (names_object(&sp->roots[i], obj))
			return 1;
	for (size_t i = 0; i < sp->nkeep; i++)
		if (names_object(&sp->keep[i], obj))
			return 1;
	return sp->beside && spec_names_object(sp->beside, obj);
}

/* ---- Nothing matches ----------------------------------------------------------------------- */

/* How well a pattern does. */
enum match { MATCH_NONE, MATCH_USABLE, MATCH_SKIPPED /* only such that cannot be traced */,
	     MATCH_OTHER /* only functions that are no candidates */ };

/* One that can be traced, of any name. */
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

		func_names(obj, func, &f, text, sizeof(text));
		f.needs_object = index != 0 && !obj->nbefore;
		hit = match_one(p, &f);
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

static enum match find_match(const struct uft_pattern *p, const struct spec *spec, const struct space *sp, uint32_t index,
			     const char **why)
{
	struct uft_object *obj = sp->img->obj[index].obj;
	int is_asked = unprepared_is_asked(spec, sp, index) && (!index || p->object || obj->nbefore);
	enum match found = MATCH_NONE;
	char text[256];

	if (p->object && !names_object(p, obj))
		return MATCH_NONE;
	if (is_every(p) && has_usable(sp, index, is_asked))
		return MATCH_USABLE;
	if (uft_object_names(obj, NULL))
		return MATCH_NONE;
	if (unprepared_count(&sp->obj[index]) && is_asked)
		found = find_plain(p, sp, index, why);
	for (size_t i = 0; i < obj->nsite && found != MATCH_USABLE; i++) {
		struct names f;
		int hit;

		func_names(obj, obj->site[i].func, &f, text, sizeof(text));
		hit = match_one(p, &f);
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

		if (f.raw && match_one(p, &f))
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
	if (p->object && !names_object(p, obj))
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

			if (p->object ? !names_object(p, obj) : o && !obj->nsite)
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

/* The kernel keeps filters for modules that are still to come; so do we for objects. */
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

/* Says why a pattern selects nothing. @other: an object that has such functions, or NULL. */
static int explain(const char *text, enum match best, const char *why, const struct uft_object *other,
		   int is_library, const char *near, struct uft_error *err)
{
	if (best == MATCH_SKIPPED)
		return uft_fail(err, -ENOENT, "'%s' matches only functions that cannot be traced: %s", text, why);
	if (best == MATCH_OTHER && is_library)
		return uft_fail(err, -ENOENT, "'%s' is only found in %s, which was not built for tracing; to trace it there: "
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
	/* All that can be traced is asked for, and that is nothing: no mistake, and the recording says so. */
	if (object_is_absent(p, spaces, nspaces) || (is_every(p) && best))
		return 0;
	if (!best && !other_name(p, spaces, nspaces, near, sizeof(near)))
		near_names(p, spaces, nspaces, near, sizeof(near));
	if (!best && !near[0] && nspaces && is_stripped(spaces[0]))
		snprintf(near, sizeof(near), " with a name (the program is stripped; its -dbgsym package, DEBUGINFOD_URLS or "
			 "--symbols give names)%s", p->object ? "" : "; of a library, or of a program that this one starts: NAME:mod:FILE");
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
		{ sp->filter, sp->filter_text, sp->nfilter, MATCH_USABLE }, { sp->roots, sp->roots_text, sp->nroots, MATCH_USABLE },
		{ sp->keep, sp->keep_text, sp->nkeep, MATCH_USABLE }, { sp->notrace, sp->notrace_text, sp->nnotrace, MATCH_OTHER },
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
		snprintf(text, size, "%s has no function that can be traced: it was not built for it, and %s; build it with %s "
			 "(`uft cflags` prints the options for your compiler)", sp->img->exe, is_known ?
			 "has no unwind tables to find its functions by" : "code of its machine is not rewritten", !sp->nobj ?
			 UFT_PREPARE_X86_64 : uft_prepare_options(sp->img->obj[0].obj->machine));
}

/* Under an emulator for a second time, when the program has said what its clock is: before it runs. */
void session_set_times(struct uft_session *s, struct spec *sp)
{
	sp->params.thresh = session_clock_units(s, sp->thresh_ns);
	sp->params.clocks_per_ns = session_clock_units(s, sp->params.has_events & UFT_EVENTS_CPU ? 1ull << 32 : 0);
	for (uint32_t i = 0; i < sp->nlimits; i++)
		sp->params.action[ACTION_KEPT + i].limit = session_clock_units(s, sp->keep_ns[i]);
}
