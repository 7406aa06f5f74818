/* SPDX-License-Identifier: MIT */
/*
 * select.c - decide which events the reader gets
 *
 * Applied to finished events: the stacks have all calls, so depths and durations do not depend on the selection. LOST
 * passes unless another CPU or another time is selected.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stream/select/select.h"
#include "symbol/array.h"
#include "symbol/sorted.h"

static int sel_in(const uint32_t *list, size_t n, uint32_t v)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == v)
			return 1;
	return 0;
}

/* Looked up once per symbol. */
static int sel_func(struct selection *s, const struct uft_sym *sym)
{
	if (array_reach(s->sym_match, s->cap_match, sym->index))
		return 1;
	if (!s->sym_match[sym->index]) {
		char *demangled = sym->raw ? uft_demangle(sym->raw) : NULL;
		uint8_t match = 1;

		for (size_t i = 0; i < s->asked.nfuncs && match == 1; i++)
			if (uft_pattern_match(&s->pattern[i], sym->raw ? sym->raw : sym->name,
					      demangled ? demangled : sym->name, sym->object))
				match = 2;
		free(demangled);
		s->sym_match[sym->index] = match;
	}
	return s->sym_match[sym->index] == 2;
}

/* The spans are in order. Events at both their ends are shown. */
static int is_hidden(const struct selection *s, uint64_t clock)
{
	size_t lo = SORTED_FIRST(i, s->nhidden, s->hidden[i].to > clock);

	return lo < s->nhidden && s->hidden[lo].from < clock;
}

/*
 * Converts time stamps of the selection to times since the first event. Printed time stamps are rounded to
 * microseconds.
 */
void sel_begin(struct selection *s, uint64_t first_ns)
{
	struct uft_select *asked = &s->asked;

	s->first_ns = first_ns;
	if (asked->is_from_stamp && asked->from_ns + 500 > first_ns)
		asked->from_ns = asked->from_ns > first_ns + 500 ? asked->from_ns - 500 - first_ns : 0;
	if (asked->is_to_stamp && asked->to_ns + 500 > first_ns)
		asked->to_ns = asked->to_ns + 499 > first_ns ? asked->to_ns + 499 - first_ns : 1;
	asked->is_from_stamp = asked->is_to_stamp = 0;
}

size_t sel_single_from(const uint64_t *at, size_t n, uint64_t clock)
{
	return SORTED_FIRST(i, n, at[i] >= clock);
}

size_t sel_choice_of(const struct sel_choice *choice, size_t n, uint64_t clock)
{
	size_t lo = SORTED_FIRST(i, n, choice[i].from > clock);

	return lo ? lo - 1 : 0;
}

static int is_single_shown(const struct selection *s, uint64_t clock)
{
	size_t i = sel_single_from(s->single_at, s->nsingle_at, clock);

	return i < s->nsingle_at && s->single_at[i] == clock;
}

static int is_own(const struct uft_event *ev)
{
	return ev->flags & UFT_EVF_SAMPLE ||
	       (ev->kind == UFT_EV_DATA && UFT_EVENT_IS_OWN(ev->data) && ev->data != UFT_EVENT_STACK);
}

uint32_t sel_hidden_by(uint32_t event)
{
	static const struct { uint32_t event, hidden; } by[] = {
		{ UFT_EVENT_HWLAT, UFT_LIVE_NO_HWLAT }, { UFT_EVENT_OSNOISE, UFT_LIVE_NO_OSNOISE },
		{ UFT_EVENT_SAMPLE, UFT_LIVE_NO_SAMPLES },
		{ UFT_EVENT_SWITCH, UFT_LIVE_NO_SWITCHES }, { UFT_EVENT_ACCESS, UFT_LIVE_NO_ACCESSES },
		{ UFT_EVENT_WATCH, UFT_LIVE_NO_ACCESSES },
	};

	for (size_t i = 0; i < sizeof(by) / sizeof(by[0]); i++)
		if (by[i].event == event)
			return by[i].hidden;
	return UFT_LIVE_NO_OWN;
}

/* Events of tasks are shown if the choice wants the task; stolen time belongs to no task. */
static int wants_own(const struct sel_choice *c, const struct uft_event *ev)
{
	uint32_t hidden = sel_hidden_by(ev->flags & UFT_EVF_SAMPLE ? UFT_EVENT_SAMPLE : ev->data);
	int is_of_task = ev->kind != UFT_EV_DATA || (ev->data != UFT_EVENT_HWLAT && ev->data != UFT_EVENT_OSNOISE);

	if (ev->kind == UFT_EV_DATA && ev->data == UFT_EVENT_STACK && c->flags & UFT_LIVE_NO_STACKS)
		return 0;
	return !(c->flags & hidden) && (!is_of_task || call_view_wants_task(c->view, ev->task->pid, ev->task->tid));
}

/* The last choice before the event holds. */
static int is_chosen(struct selection *s, const struct uft_event *ev, uint64_t clock)
{
	const struct sel_choice *c = &s->choice[sel_choice_of(s->choice, s->nchoice, clock)];
	uint32_t not = UFT_LIVE_NO_FUNCS | UFT_LIVE_NO_GRAPH;

	if (c->from > clock || ev->kind == UFT_EV_MARK || ev->kind == UFT_EV_LOST)
		return 1;
	if (ev->kind == UFT_EV_DATA && UFT_EVENT_IS_NAMED(ev->data))
		return (!event_view_wait(c, ev->data) || is_single_shown(s, clock)) && event_view_want(c, ev);
	if (ev->flags & UFT_EVF_TRACEPOINT)	/* and its event is kept: dec_data() */
		return !(c->flags & UFT_LIVE_NO_EVENT_STACKS) || is_single_shown(s, clock);
	if (is_own(ev))
		return wants_own(c, ev);
	if (ev->kind == UFT_EV_DATA && ev->data == UFT_EVENT_STACK)
		return is_single_shown(s, clock) ||
		       (!(c->flags & UFT_LIVE_NO_STACKS) && (c->flags & not ) != not &&call_view_wants(s, c->view, ev));
	not = UFT_LIVE_NO_CALLS | (ev->kind == UFT_EV_FUNC ? UFT_LIVE_NO_FUNCS : UFT_LIVE_NO_GRAPH);
	return !(c->flags & not) && call_view_wants(s, c->view, ev);
}

int sel_may_want_event_stack(const struct selection *s, uint32_t is_event_kept, uint64_t clock)
{
	return is_event_kept || s->watch || is_single_shown(s, clock);
}

static int is_wanted(struct selection *s, const struct uft_event *ev, uint64_t clock)
{
	const struct uft_select *asked = &s->asked;

	if (s->watch) {
		s->watch(s->watch_arg, ev, clock);
		return 0;
	}
	if ((s->nhidden && is_hidden(s, clock)) || (s->nchoice && !is_chosen(s, ev, clock)))
		return 0;
	if (s->first_ns == UINT64_MAX) {
		if (ev->kind == UFT_EV_LOST || ev->kind == UFT_EV_LEFT)
			return !asked->from_ns;
		sel_begin(s, ev->ts_ns);
	}
	if (ev->ts_ns - s->first_ns < asked->from_ns)
		return 0;
	if (asked->to_ns && ev->ts_ns - s->first_ns > asked->to_ns) {
		s->is_past = 1;
		return 0;
	}
	if (asked->ncpus && !sel_in(asked->cpus, asked->ncpus, ev->cpu))
		return 0;
	if (ev->kind == UFT_EV_LOST)
		return 1;
	if ((asked->ntids || asked->npids) && !sel_in(asked->tids, asked->ntids, ev->task->tid) &&
	    !sel_in(asked->pids, asked->npids, ev->task->pid))
		return 0;
	if (s->events && ev->kind == UFT_EV_DATA && UFT_EVENT_IS_NAMED(ev->data))
		return sel_wants_event(s, ev);
	/* marks and the session's own events have no function */
	return (!asked->nfuncs && !s->events) || (asked->nfuncs && ev->sym && sel_func(s, ev->sym));
}

int sel_match(struct selection *s, const struct uft_event *ev, uint64_t clock)
{
	int is = is_wanted(s, ev, clock);

	s->is_found |= is && ev->kind != UFT_EV_LOST;
	return is;
}

int sel_wants_sum(struct selection *s, const struct uft_sym *sym)
{
	int is = !s->asked.nfuncs || sel_func(s, sym);

	s->is_found |= is;
	return is;
}

static void *sel_copy(const void *p, size_t n, size_t size, int *err)
{
	void *copy = n ? malloc(n * size) : NULL;

	if (n && !copy)
		*err = -ENOMEM;
	else if (n)
		memcpy(copy, p, n * size);
	return copy;
}

int sel_is_any(const struct uft_select *asked)
{
	return asked->from_ns || asked->to_ns || asked->ntids || asked->npids || asked->ncpus || asked->nfuncs ||
	       asked->nevents;
}

int sel_init(struct selection *s, const struct uft_select *asked, struct uft_error *err)
{
	int ret = 0;

	s->first_ns = UINT64_MAX;
	if (!asked)
		return 0;
	s->asked = *asked;
	s->asked.tids = sel_copy(asked->tids, asked->ntids, sizeof(*asked->tids), &ret);
	s->asked.pids = sel_copy(asked->pids, asked->npids, sizeof(*asked->pids), &ret);
	s->asked.cpus = sel_copy(asked->cpus, asked->ncpus, sizeof(*asked->cpus), &ret);
	s->asked.funcs = NULL;
	s->asked.nfuncs = 0;
	s->pattern = asked->nfuncs ? calloc(asked->nfuncs, sizeof(*s->pattern)) : NULL;
	if (ret || (asked->nfuncs && !s->pattern))
		return uft_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < asked->nfuncs; i++, s->asked.nfuncs++) {
		ret = uft_pattern_parse(asked->funcs[i], &s->pattern[i]);
		if (ret)
			return uft_fail(err, ret, "%s: is not a function pattern", asked->funcs[i]);
	}
	return 0;
}

void sel_free(struct selection *s)
{
	for (size_t i = 0; i < s->asked.nfuncs; i++)
		uft_pattern_free(&s->pattern[i]);
	free(s->pattern);
	free((void *)s->asked.tids);
	free((void *)s->asked.pids);
	free((void *)s->asked.cpus);
	sel_events_free(s);
	free(s->sym_match);
	free(s->view_match);
}
