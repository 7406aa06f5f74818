// SPDX-License-Identifier: MIT
/*
 * spec.c - the specification of a session: patterns, kept calls, events and limits, as parsed
 *
 * spec_match.c selects functions by it, and spec_explain.c says why it selects none.
 */
#include "control/plan/watch_list.h"
#include "control/state/state.h"
#include "control/plan/plan.h"
#include "symbol/sorted.h"
#include "symbol/tracer.h"
#include "symbol/words.h"

#include <errno.h>
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
			return uft_fail(err, -EINVAL, "'%s' is not a function pattern: use glob or glob:mod:object",
					list[i]);
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
	for (size_t i = 0; i < sp->nevents; i++) {
		free(sp->event[i].filter);
		free((uint32_t *)sp->event[i].tasks.pids);
	}
	free(sp->event_words);
	free(sp->event_filters);
	free(sp->event);
	spec_rules_free(sp);
	free(sp->keep_action);
	access_free(sp->watch, sp->nwatch);
	free(sp);
}

/* The second list lies behind the first. */
static int copy_tasks(const struct uft_event_tasks *from, struct uft_event_tasks *to)
{
	uint32_t *pids = from->npids + from->nnot_pids ?
		malloc((from->npids + from->nnot_pids) * sizeof(*pids)) : NULL;

	*to = (struct uft_event_tasks){ pids, pids ? pids + from->npids : NULL, from->npids, from->nnot_pids };
	if (!pids)
		return from->npids + from->nnot_pids ? -ENOMEM : 0;
	if (from->npids)
		memcpy(pids, from->pids, from->npids * sizeof(*pids));
	if (from->nnot_pids)
		memcpy(pids + from->npids, from->not_pids, from->nnot_pids * sizeof(*pids));
	return 0;
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
		sp->event[sp->nevents] = (struct spec_event){
			.index = want->index, .filter = filter, .action = want->action, .count = want->count,
			.key = want->key,
		};
		if (want->row)
			sp->event[sp->nevents].row = *want->row;
		if (copy_tasks(&want->tasks, &sp->event[sp->nevents].tasks)) {
			free(filter);
			return -ENOMEM;
		}
	}
	return 0;
}

size_t spec_first_event(const struct spec *sp, const struct uft_event_type *type)
{
	return SORTED_FIRST(i, sp->nevents, sp->event[i].index >= type->index);
}

size_t spec_last_word(const struct spec *sp, const struct uft_event_type *type)
{
	for (size_t i = sp->nevent_words; i--;) {
		const char *word = sp->event_words[i];
		int is_not = *word == '!';

		if (uft_event_matches(word + is_not, strlen(word + is_not), type))
			return i;
	}
	return sp->nevent_words;
}

int spec_has_word(const struct spec *sp, size_t word)
{
	return word < sp->nevent_words && *sp->event_words[word] != '!';
}

int spec_wants_event(const struct spec *sp, const struct uft_event_type *type)
{
	size_t at = spec_first_event(sp, type);

	return (at < sp->nevents && sp->event[at].index == type->index) || spec_has_word(sp, spec_last_word(sp, type));
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
		return uft_fail(err, -EINVAL, "keeping slow calls does not go with arguments, results or stacks");
	if (in->tracer != UFT_TRACER_GRAPH || in->thresh_ns)
		return uft_fail(err, -EINVAL,
				"keeping slow calls needs the tracer function_graph, without a threshold");
	sp->keep_action = calloc(sp->nkeep, 1);
	if (!sp->keep_action)
		return -ENOMEM;
	for (size_t i = 0; i < sp->nkeep; i++) {
		uint32_t k = 0;

		while (k < sp->nlimits && sp->keep_ns[k] != in->keep_ns[i])
			k++;
		if (k == ACTION_LIMITS)
			return uft_fail(err, -E2BIG, "slow calls may have %u different times at most", ACTION_LIMITS);
		sp->keep_ns[k] = in->keep_ns[i];
		sp->keep_action[i] = (uint8_t)(ACTION_KEPT + k);
		sp->nlimits = k == sp->nlimits ? k + 1 : sp->nlimits;
	}
	return 0;
}

/* The events written with each call. Signal handlers are marked where calls are slow anyway. */
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
		return uft_fail(err, -E2BIG, "%zu process and thread ids are too many: %zu are possible",
				in->npids + in->nnot_pids, max_pids);
	sp = calloc(1, sizeof(*sp));
	if (!sp)
		return -ENOMEM;
	sp->events = uft_tracer_has_events(in->tracer) ? in->tracer : UFT_TRACER_NOP;
	sp->own = row->kind == UFT_KIND_OWN ? 1u << in->tracer : 0;
	sp->is_bare = sp->events && in->is_bare;
	sp->is_inits = row->is_inits;
	sp->tracer = row->target;
	/* the reader's, of other times; our own */
	sp->thresh_ns = sp->events || sp->is_inits || sp->own ? 0 : in->thresh_ns;
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
	sp->params.stacks =
		sp->own ? in->stacks & UFT_STACKS_TRACEPOINT : in->stacks | (sp->nstack_of ? UFT_STACKS_SOME : 0);
	sp->has_switches =
		in->tracer == UFT_TRACER_SCHED_SWITCH || (in->has_switches && !sp->own && in->tracer != UFT_TRACER_NOP);
	sp->has_stacks = sp->own && in->stacks & ~(uint32_t)UFT_STACKS_TRACEPOINT;
	sp->params.max_depth = in->max_depth;
	sp->params.has_roots = (sp->nroots || sp->nkeep ? UFT_ROOTS_ONLY : 0) | (sp->nhidden ? UFT_ROOTS_NOT : 0) |
			       (in->graph_turn ? UFT_ROOTS_TRIGGER : 0);
	sp->params.graph_turn = in->graph_turn;
	sp->params.has_pids = (in->npids ? UFT_PIDS_ONLY : 0) | (in->nnot_pids ? UFT_PIDS_NOT : 0);
	if (sp->params.has_pids && in->are_pids_of_calls)
		sp->params.has_pids |= UFT_PIDS_CALLS;
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

/* Called a second time under an emulator, when the program has told its clock, before it runs. */
void session_set_times(struct uft_session *s, struct spec *sp)
{
	sp->params.thresh = session_clock_units(s, sp->thresh_ns);
	sp->params.clocks_per_ns = session_clock_units(s, sp->params.has_events & UFT_EVENTS_CPU ? 1ull << 32 : 0);
	for (uint32_t i = 0; i < sp->nlimits; i++)
		sp->params.action[ACTION_KEPT + i].limit = session_clock_units(s, sp->keep_ns[i]);
}
