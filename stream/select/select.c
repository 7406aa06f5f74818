/* SPDX-License-Identifier: MIT */
/*
 * select.c - which events the reader wants
 *
 * Applied to finished events: the stacks have seen everything, so depths and durations do not depend on what is
 * selected. LOST passes unless another CPU or another time is wanted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stream/decode/decode.h"
#include "stream/live/live.h"
#include "symbol/names.h"

static int sel_in(const uint32_t *list, size_t n, uint32_t v)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == v)
			return 1;
	return 0;
}

/* Looked up once per symbol. */
static int sel_func(struct uft_stream *st, const struct uft_sym *sym)
{
	if (sym->index >= st->cap_match) {
		size_t cap = st->cap_match ? st->cap_match : 1024;
		uint8_t *grown;

		while (cap <= sym->index)
			cap *= 2;
		grown = realloc(st->sym_match, cap);
		if (!grown)
			return 1;
		memset(grown + st->cap_match, 0, cap - st->cap_match);
		st->sym_match = grown;
		st->cap_match = cap;
	}
	if (!st->sym_match[sym->index]) {
		char *demangled = sym->raw ? uft_demangle(sym->raw) : NULL;
		uint8_t match = 1;

		for (size_t i = 0; i < st->sel.nfuncs && match == 1; i++)
			if (uft_pattern_match(&st->pattern[i], sym->raw ? sym->raw : sym->name, demangled ? demangled : sym->name, sym->object))
				match = 2;
		free(demangled);
		st->sym_match[sym->index] = match;
	}
	return st->sym_match[sym->index] == 2;
}

/* The spans are in order. Both their ends are shown. */
static int is_hidden(const struct uft_stream *st, uint64_t clock)
{
	size_t lo = 0, hi = st->nhidden;

	while (lo < hi) {	/* the first that does not end before */
		size_t mid = (lo + hi) / 2;

		if (st->hidden[mid].to <= clock)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < st->nhidden && st->hidden[lo].from < clock;
}

/* Time stamps of the selection become times since the first event. A printed one is rounded to microseconds. */
void sel_begin(struct uft_stream *st, uint64_t first_ns)
{
	struct uft_select *s = &st->sel;

	st->first_ns = first_ns;
	if (s->is_from_stamp && s->from_ns + 500 > first_ns)
		s->from_ns = s->from_ns > first_ns + 500 ? s->from_ns - 500 - first_ns : 0;
	if (s->is_to_stamp && s->to_ns + 500 > first_ns)
		s->to_ns = s->to_ns + 499 > first_ns ? s->to_ns + 499 - first_ns : 1;
	s->is_from_stamp = s->is_to_stamp = 0;
}

size_t dec_single_from(const uint64_t *at, size_t n, uint64_t clock)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (at[mid] < clock)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

size_t dec_choice_of(const struct dec_choice *choice, size_t n, uint64_t clock)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {	/* the first that is younger */
		size_t mid = (lo + hi) / 2;

		if (choice[mid].from <= clock)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? lo - 1 : 0;
}

static int is_single_shown(const struct uft_stream *st, uint64_t clock)
{
	size_t i = dec_single_from(st->single_at, st->nsingle_at, clock);

	return i < st->nsingle_at && st->single_at[i] == clock;
}

static int is_own(const struct uft_event *ev)
{
	return ev->flags & UFT_EVF_SAMPLE || (ev->kind == UFT_EV_DATA && UFT_EVENT_IS_OWN(ev->data) && ev->data != UFT_EVENT_STACK);
}

uint32_t dec_hidden_by(uint32_t event)
{
	static const struct { uint32_t event, hidden; } by[] = {
		{ UFT_EVENT_HWLAT, UFT_LIVE_NO_HWLAT }, { UFT_EVENT_OSNOISE, UFT_LIVE_NO_OSNOISE }, { UFT_EVENT_SAMPLE, UFT_LIVE_NO_SAMPLES },
		{ UFT_EVENT_SWITCH, UFT_LIVE_NO_SWITCHES }, { UFT_EVENT_ACCESS, UFT_LIVE_NO_ACCESSES }, { UFT_EVENT_WATCH, UFT_LIVE_NO_ACCESSES },
	};

	for (size_t i = 0; i < sizeof(by) / sizeof(by[0]); i++)
		if (by[i].event == event)
			return by[i].hidden;
	return UFT_LIVE_NO_OWN;
}

/* Events of tasks are for choices that want the task; stolen time is no task's. */
static int wants_own(const struct dec_choice *c, const struct uft_event *ev)
{
	uint32_t hidden = dec_hidden_by(ev->flags & UFT_EVF_SAMPLE ? UFT_EVENT_SAMPLE : ev->data);
	int is_of_task = ev->kind != UFT_EV_DATA || (ev->data != UFT_EVENT_HWLAT && ev->data != UFT_EVENT_OSNOISE);

	if (ev->kind == UFT_EV_DATA && ev->data == UFT_EVENT_STACK && c->flags & UFT_LIVE_NO_STACKS)
		return 0;
	return !(c->flags & hidden) && (!is_of_task || call_view_wants_task(c->view, ev->task->pid, ev->task->tid));
}

/* The last choice before the event counts. */
static int is_chosen(struct uft_stream *st, const struct uft_event *ev, uint64_t clock)
{
	const struct dec_choice *c = &st->choice[dec_choice_of(st->choice, st->nchoice, clock)];
	uint32_t not = UFT_LIVE_NO_FUNCS | UFT_LIVE_NO_GRAPH;

	if (c->from > clock || ev->kind == UFT_EV_MARK || ev->kind == UFT_EV_LOST)
		return 1;
	if (ev->kind == UFT_EV_DATA && UFT_EVENT_IS_NAMED(ev->data))
		return (!event_view_wait(c, ev->data) || is_single_shown(st, clock)) && event_view_want(c, ev);
	if (ev->flags & UFT_EVF_TRACEPOINT)
		return 1;	/* its event is: dec_data() */
	if (is_own(ev))
		return wants_own(c, ev);
	if (ev->kind == UFT_EV_DATA && ev->data == UFT_EVENT_STACK)
		return is_single_shown(st, clock) || (!(c->flags & UFT_LIVE_NO_STACKS) && (c->flags & not) != not && call_view_wants(st, c->view, ev));
	not = UFT_LIVE_NO_CALLS | (ev->kind == UFT_EV_FUNC ? UFT_LIVE_NO_FUNCS : UFT_LIVE_NO_GRAPH);
	return !(c->flags & not) && call_view_wants(st, c->view, ev);
}

int sel_match(struct uft_stream *st, const struct uft_event *ev, uint64_t clock)
{
	const struct uft_select *s = &st->sel;

	if (st->watch) {
		st->watch(st->watch_arg, ev, clock);
		return 0;
	}
	if ((st->nhidden && is_hidden(st, clock)) || (st->nchoice && !is_chosen(st, ev, clock)))
		return 0;
	if (st->first_ns == UINT64_MAX) {
		if (ev->kind == UFT_EV_LOST || ev->kind == UFT_EV_LEFT)
			return !s->from_ns;
		sel_begin(st, ev->ts_ns);
	}
	if (ev->ts_ns - st->first_ns < s->from_ns)
		return 0;
	if (s->to_ns && ev->ts_ns - st->first_ns > s->to_ns) {
		st->is_past = 1;
		return 0;
	}
	if (s->ncpus && !sel_in(s->cpus, s->ncpus, ev->cpu))
		return 0;
	if (ev->kind == UFT_EV_LOST)
		return 1;
	if ((s->ntids || s->npids) && !sel_in(s->tids, s->ntids, ev->task->tid) && !sel_in(s->pids, s->npids, ev->task->pid))
		return 0;
	return !s->nfuncs || (ev->sym && sel_func(st, ev->sym));	/* marks and the session's own events are of no function */
}

int uft_stream_found_func(const struct uft_stream *st)
{
	for (size_t i = 0; i < st->cap_match; i++)
		if (st->sym_match[i] == 2)
			return 1;
	return 0;
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

int sel_init(struct uft_stream *st, const struct uft_select *sel, struct uft_error *err)
{
	int ret = 0;

	st->first_ns = UINT64_MAX;
	if (!sel)
		return 0;
	st->sel = *sel;
	st->no_parents = sel->no_parents;
	st->has_select = sel->from_ns || sel->to_ns || sel->ntids || sel->npids || sel->ncpus || sel->nfuncs;
	st->sel.tids = sel_copy(sel->tids, sel->ntids, sizeof(*sel->tids), &ret);
	st->sel.pids = sel_copy(sel->pids, sel->npids, sizeof(*sel->pids), &ret);
	st->sel.cpus = sel_copy(sel->cpus, sel->ncpus, sizeof(*sel->cpus), &ret);
	st->sel.funcs = NULL;
	st->sel.nfuncs = 0;
	st->pattern = sel->nfuncs ? calloc(sel->nfuncs, sizeof(*st->pattern)) : NULL;
	if (ret || (sel->nfuncs && !st->pattern))
		return uft_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < sel->nfuncs; i++, st->sel.nfuncs++) {
		ret = uft_pattern_parse(sel->funcs[i], &st->pattern[i]);
		if (ret)
			return uft_fail(err, ret, "%s: is not a function pattern", sel->funcs[i]);
	}
	return 0;
}

void sel_free(struct uft_stream *st)
{
	for (size_t i = 0; i < st->sel.nfuncs; i++)
		uft_pattern_free(&st->pattern[i]);
	free(st->pattern);
	free((void *)st->sel.tids);
	free((void *)st->sel.pids);
	free((void *)st->sel.cpus);
	free(st->sym_match);
	free(st->view_match);
}
