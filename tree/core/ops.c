/* SPDX-License-Identifier: MIT */
/*
 * ops.c - join the wishes of all instances as ops of the one session, and choose what each buffer shows
 *
 * An instance needs the session while it has a tracer and tracing_on, functions with commands, or (the top) the profile
 * or the deepest stack: each of these is a struct uft_ops. This file makes the list of ops. The session decides whether
 * all of them can run at once (control/plan/arbiter.c) and arms sites for all; its reason for a refusal goes to
 * error_log. Each buffer takes the same bytes, and shows the records that its own instance asked for, by kind, function
 * and task (stream/live/choices.c). Two graphs have each its own functions; depths count the calls of both, as in the
 * kernel.
 *
 * set_graph_function, max_graph_depth and tracing_thresh belong to the top and hold for each graph, but not for the
 * profile. Triggers that switch the graph on for a thread are a graph of their own, beside the tracer nop or one that
 * records no calls and returns: its sites are armed while there is such a trigger. While no instance records, the
 * session keeps the ops that would be on, so that functions stay armed.
 */
#include "tree/core/tree_internal.h"

#include "symbol/tracer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Wishes of the instances ----------------------------------------------------------------- */

static const struct command_ops *commands_of(const struct instance *in)
{
	return in->t->table->commands;
}

/* mmiotrace without a watched address records nothing, as in the kernel before a device is mapped. */
static uint32_t tracer_of(const struct settings *set)
{
	return set->tracer == UFT_TRACER_MMIOTRACE && !set->watch[0] ? UFT_TRACER_NOP : set->tracer;
}

/* Which events are on, or may be switched on by a function. */
static int wants_event(const struct instance *in, const struct settings *set, uint32_t event)
{
	return uft_event_set_has(&set->events, event) || commands_of(in)->switches(in, event) ||
	       commands_of(in)->needs(in, event);
}

/* Some are on, or will be when their object comes. */
static int has_events(const struct instance *in, const struct settings *set)
{
	return !uft_event_set_is_empty(&set->events) || (in->event_mods && *in->event_mods);
}

static int wants_events(const struct instance *in, const struct settings *set)
{
	return has_events(in, set) || commands_of(in)->switches_any(in);
}

/* Does the instance record into its buffer? The profile does not, and runs also while tracing_on is 0. */
static int is_recording(const struct instance *in, const struct settings *set)
{
	return ((tracer_of(set) != UFT_TRACER_NOP || has_events(in, set)) && set->is_on) || set->is_measuring ||
	       commands_of(in)->waits(in, set);
}

/* Does the instance have anything that is on? */
static int share_is_tracing(const struct instance *in, const struct settings *set)
{
	return set->is_profiling || is_recording(in, set);
}

int share_switches_graph(const struct instance *in, const struct settings *set)
{
	const struct uft_tracer_row *row = uft_tracer(tracer_of(set));

	return commands_of(in)->graph_turn(in) && !(row->kind == UFT_KIND_PLAIN && row->target == UFT_TRACER_GRAPH);
}

/* Does anything run beside the instance's own tracer: another instance, the profile, or the deepest stack? */
static int is_beside(const struct instance *in, const struct settings *set)
{
	return in->t->instances->next || set->is_profiling || set->is_measuring;
}

/* Do targets write records or count for the instance? */
static int is_running(const struct instance *in, const struct settings *set)
{
	return set->is_profiling || (share_is_tracing(in, set) && !in->paused && (set->is_on || in->triggers));
}

/*
 * Returns 1 if the instance wants calls of targets or tracers of the session. Events alone are chosen by the buffer,
 * with other instances or without.
 */
static int is_wishing(const struct instance *in, const struct settings *set)
{
	return set->is_profiling || set->is_measuring || (tracer_of(set) != UFT_TRACER_NOP && set->is_on) ||
	       commands_of(in)->waits(in, set);
}

/* One struct uft_ops to be of an instance. The top can have several: its tracer, and the profile beside it. */
struct wish {
	const struct instance *in;
	const struct settings *set;
	struct uft_ops op;
	int is_measuring;		/* for the deepest stack, not for its tracer */
	int is_switched;		/* for its triggers that switch the graph */
	/* for commands of functions, which need calls, beside a tracer that records none */
	int is_commands;
	const char **list[NLISTS], **stack_of, **watch;
};

struct wishes { struct wish *v; size_t n; };

/* The settings of @i once @in has @set. */
static const struct settings *set_of(const struct instance *i, const struct instance *in, const struct settings *set)
{
	return i == in ? set : &i->set;
}

static int is_own(uint32_t tracer)
{
	return uft_tracer_kind(tracer) == UFT_KIND_OWN;
}

static void put(struct wishes *w, const struct instance *in, const struct settings *set, uint32_t tracer)
{
	w->v[w->n++] = (struct wish){ .in = in, .set = set, .op.tracer = tracer };
}

/* Are there commands of functions, but a tracer that records no calls for them? */
static int needs_calls(const struct instance *in, const struct settings *set)
{
	return commands_of(in)->has_functions(in) &&
	       (tracer_of(set) == UFT_TRACER_NOP || uft_tracer_kind(set->tracer) != UFT_KIND_PLAIN);
}

/*
 * The session keeps a tracer armed while tracing_on is 0, if nothing else runs: beside other instances or the profile,
 * these armed sites could conflict with theirs.
 */
static void put_all(struct wishes *w, const struct instance *in, const struct settings *set)
{
	if (set->is_profiling)
		put(w, in, set, UFT_TRACER_PROFILE);
	if (set->is_measuring) {
		put(w, in, set, UFT_TRACER_FUNCTION);
		w->v[w->n - 1].is_measuring = 1;
	}
	if (is_beside(in, set) && !set->is_on && !commands_of(in)->waits(in, set) && !set->is_measuring)
		return;
	if (tracer_of(set) != UFT_TRACER_NOP)
		put(w, in, set, set->tracer);
	if (share_switches_graph(in, set)) {
		put(w, in, set, UFT_TRACER_GRAPH);
		w->v[w->n - 1].is_switched = 1;
	}
	if (needs_calls(in, set)) {
		put(w, in, set, UFT_TRACER_FUNCTION);
		w->v[w->n - 1].is_commands = 1;
	}
}

/* Ops of the instances that record. If none does, the ops that one of them would have; @in is tried first. */
static int wishes_make(struct instance *in, const struct settings *set, struct wishes *w)
{
	const struct instance *would = in;
	int is_anybody_on = 0;
	size_t n = 1;

	for (const struct instance *i = in->t->instances; i; i = i->next) {
		n += 5;
		if (tracer_of(set) == UFT_TRACER_NOP && i != in && tracer_of(&i->set) != UFT_TRACER_NOP)
			would = i;
	}
	*w = (struct wishes){ .v = calloc(n, sizeof(*w->v)) };
	if (!w->v)
		return -ENOMEM;
	for (const struct instance *i = in->t->instances; i; i = i->next)
		if (share_is_tracing(i, set_of(i, in, set))) {
			is_anybody_on = 1;
			put_all(w, i, set_of(i, in, set));
		}
	if (!w->n && !is_anybody_on && tracer_of(set_of(would, in, set)) != UFT_TRACER_NOP)
		put(w, would, set_of(would, in, set), set_of(would, in, set)->tracer);
	if (!w->n)
		put(w, in, set, UFT_TRACER_NOP);
	return 0;
}

static int is_same_pids(const struct settings *a, const struct settings *b)
{
	for (int i = 0; i < NPIDS; i++)
		if (a->pids[i].n != b->pids[i].n ||
		    memcmp(a->pids[i].pid, b->pids[i].pid, a->pids[i].n * sizeof(a->pids[i].pid[0])))
			return 0;
	return 1;
}

int share_is_forking(const struct settings *set)
{
	return set->options & OPT_BIT(OPT_FUNC_FORK) && (set->pids[PIDS_ONLY].n || set->pids[PIDS_NOT].n);
}

/*
 * Commands of functions act on all tasks, as in the kernel. So the calls of all tasks are recorded, and the buffer
 * shows only the listed tasks (choose()). With function-fork, only targets know the children of listed tasks: then
 * commands act on the traced tasks only.
 */
static int shows_fewer_tasks(const struct instance *in, const struct settings *set)
{
	return (set->pids[PIDS_ONLY].n || set->pids[PIDS_NOT].n) && !share_is_forking(set) &&
	       commands_of(in)->has_functions(in);
}

/* ---- The session ----------------------------------------------------------------------------- */

/* @words as an array of pointers, with the copy they point into after it. NULL: no words, or no memory (*ret). */
static const char **word_list(const char *words, int *ret)
{
	size_t n = 0, len = strlen(words);
	const char **list;
	char *copy;

	for (size_t i = 0; i < len; i++)
		n += words[i] == '\n';
	list = n ? malloc((n + 1) * sizeof(*list) + len + 1) : NULL;
	if (n && !list)
		*ret = -ENOMEM;
	if (!list)
		return NULL;
	copy = memcpy(list + n + 1, words, len + 1);
	for (size_t i = 0; i < n; i++) {
		list[i] = copy;
		copy += strcspn(copy, "\n");
		*copy++ = '\0';
	}
	list[n] = NULL;
	return list;
}

/* func_stack_trace is for the tracer function, as in the kernel; stacktrace for tracers that write events of calls. */
static uint32_t wanted_stacks(const struct settings *set)
{
	if (set->tracer == UFT_TRACER_FUNCTION)
		return set->options & OPT_BIT(OPT_FUNC_STACK) ? UFT_STACKS_FUNC : 0;
	if ((uft_tracer_kind(set->tracer) != UFT_KIND_PLAIN && uft_tracer_kind(set->tracer) != UFT_KIND_OWN) ||
	    set->tracer == UFT_TRACER_SYSPROF)
		return set->options & (OPT_BIT(OPT_STACK) | OPT_BIT(OPT_USER_STACK)) ? UFT_STACKS_EVENT : 0;
	return 0;
}

/* Does the instance show stacks, of all its events or of those that triggers choose? */
static int shows_event_stacks(const struct settings *set)
{
	return (set->options & (OPT_BIT(OPT_STACK) | OPT_BIT(OPT_USER_STACK))) != 0;
}

/* Targets have one set of parameters: if one instance needs stacks of events, they are recorded for all events. */
static uint32_t wanted_event_stacks(const struct instance *in, const struct settings *set)
{
	for (const struct instance *i = in->t->instances; i; i = i->next) {
		const struct settings *its = set_of(i, in, set);

		if ((shows_event_stacks(its) && wants_events(i, its)) || commands_of(i)->wants_event_stacks(i))
			return UFT_STACKS_TRACEPOINT;
	}
	return 0;
}

static int is_latency(const struct settings *set)
{
	return uft_tracer_is_latency(set->tracer);
}

/* The words of a list, with those of the functions that commands need as well. */
static const char *words_of(const struct wish *w, const struct settings *top, enum list i, const char *filter,
			    const struct tree_text *words, const struct tree_text *notrace)
{
	if (i >= LIST_GRAPH)
		return top->list[i];
	if (i == LIST_NOTRACE)
		return notrace->p ? notrace->p : w->set->list[i];
	return words->p ? words->p : filter;
}

static int wish_lists(struct wish *w, const struct settings *top)
{
	const struct instance *in = w->in;
	const struct settings *set = w->set;
	const char *filter = set->list[w->is_measuring ? LIST_STACK : LIST_FILTER];
	int is_only = w->is_commands, ret = 0;
	int has_commands = commands_of(in)->has_functions(in) && w->op.tracer != UFT_TRACER_PROFILE &&
			   !w->is_measuring && (is_only || !needs_calls(in, set));
	struct tree_text words = { 0 }, notrace = { 0 }, stacks = { 0 };

	if (has_commands && (is_only || filter[0])) {
		text_put(&words, filter, is_only ? 0 : strlen(filter));
		ret = commands_of(in)->put_words(in, "", 0, &words);
	}
	if (has_commands && set->list[LIST_NOTRACE][0]) {	/* the last word decides */
		text_put(&notrace, set->list[LIST_NOTRACE], strlen(set->list[LIST_NOTRACE]));
		ret = ret ? ret : commands_of(in)->put_words(in, "!", 0, &notrace);
	}
	if (has_commands && commands_of(in)->has_stacks(in)) {
		ret = ret ? ret : commands_of(in)->put_words(in, "", 1, &stacks);
		w->stack_of = ret ? NULL : word_list(stacks.p, &ret);
	}
	for (int i = 0; i < NLISTS && !ret; i++)
		w->list[i] = word_list(words_of(w, top, (enum list)i, filter, &words, &notrace), &ret);
	free(words.p);
	free(notrace.p);
	free(stacks.p);
	return ret;
}

/* Options that change the records of all calls. As in the kernel all graphs share them: the last write holds. */
#define SHAPES	(UFT_EVENTS_CPU | UFT_EVENTS_NO_HANDLERS | UFT_EVENTS_SELF)

/* Once @in has @set. */
static uint32_t shapes_of(const struct instance *in, const struct settings *set)
{
	uint32_t now = option_events(set->options), changed = (now ^ option_events(in->set.options)) & SHAPES;

	return (in->t->shapes & ~changed) | (now & changed);
}

/* The graph's limits have no files in an instance: the top's values hold for all. */
static int wish_op(struct wish *w, const struct settings *top, uint32_t shapes, uint32_t event_stacks)
{
	const struct settings *set = w->set;
	int has_limits = w->op.tracer != UFT_TRACER_FUNCTION && w->op.tracer != UFT_TRACER_PROFILE,
	    ret = wish_lists(w, top);

	w->watch = ret || w->op.tracer != UFT_TRACER_MMIOTRACE ? NULL : word_list(top->watch, &ret);
	w->op = (struct uft_ops){
		.tracer = w->op.tracer,
		.stacks = (w->is_measuring ? UFT_STACKS_MAX : wanted_stacks(set)) | event_stacks,
		.is_bare = is_latency(set) && !(set->options & OPT_BIT(OPT_FUNC_TRACE)),
		.graph_turn = w->is_switched ? commands_of(w->in)->graph_turn(w->in) : 0,
		.max_depth = has_limits ? top->max_depth : 0, .thresh_ns = top->thresh_us * 1000,
		.hwlat = top->hwlat, .osnoise = top->osnoise, .sample_ns = top->sample_us * 1000,
		.events = (option_events(set->options) & ~(uint32_t)SHAPES) | shapes,
		.pids = set->pids[PIDS_ONLY].pid, .npids = shows_fewer_tasks(w->in, set) ? 0 : set->pids[PIDS_ONLY].n,
		.not_pids = set->pids[PIDS_NOT].pid,
		.nnot_pids = shows_fewer_tasks(w->in, set) ? 0 : set->pids[PIDS_NOT].n, .are_pids_of_calls = 1,
		.is_forking = share_is_forking(set), .kin = set->kin,
		.filter = w->list[LIST_FILTER], .notrace = w->is_measuring ? NULL : w->list[LIST_NOTRACE],
		.roots = has_limits ? w->list[LIST_GRAPH] : NULL, .hidden = w->list[LIST_GRAPH_NOT],
		.stack_of = w->stack_of, .watch = w->watch,
	};
	return ret;
}

/*
 * Task events that the session needs, for all instances. An instance that is off needs them too, because tasks made
 * meanwhile have to be known.
 */
static uint32_t wanted_tasks(const struct instance *in, const struct settings *set)
{
	uint32_t tasks = 0;

	for (const struct instance *i = in->t->instances; i; i = i->next) {
		if (event_fork_is_asked(set_of(i, in, set)))
			tasks |= UFT_TASKS_FORK | UFT_TASKS_EXIT | UFT_TASKS_ALL;
		for (uint32_t k = 0; k < UFT_NBUILTINS; k++)
			if (wants_event(i, set_of(i, in, set), k))
				tasks |= uft_event_table_at(tree_types(in->t), k)->tasks | UFT_TASKS_ALL;
	}
	return tasks;
}

/*
 * Lists what an instance needs of a tracepoint: events that pass the event's filter, if the event is on or may be
 * switched on, and for each trigger the events that pass the trigger's filter. All others are not recorded. Returns how
 * many entries there are; @to NULL: only counts them.
 */
static size_t put_wants(const struct instance *in, const struct settings *set, uint32_t event,
			struct uft_event_want *to)
{
	size_t n = 0;

	if (uft_event_set_has(&set->events, event) || commands_of(in)->switches(in, event)) {
		if (to)
			to[n] = (struct uft_event_want){
				.index = event, .filter = event < set->nevent_filters ? set->event_filter[event] : NULL,
				.tasks = event_tasks(set),
			};
		n++;
	}
	return n + commands_of(in)->put_wants(in, set, event, to ? to + n : NULL);
}

/*
 * The tracepoints that instances want, once @in has @set. Those of an instance that is off are included, since its
 * events stay enabled. malloc'd; NULL: no memory.
 */
static struct uft_event_want *wanted_events(const struct instance *in, const struct settings *set, size_t *n)
{
	const struct uft_event_table *types = tree_types(in->t);
	uint32_t count = uft_event_table_count(types);
	struct uft_event_want *want;
	int is_any = 0;
	size_t all = 0;

	*n = 0;
	for (const struct instance *i = in->t->instances; i; i = i->next)
		is_any |= wants_events(i, set_of(i, in, set)) || i->triggers;
	for (uint32_t k = UFT_NBUILTINS; is_any && k < count; k++)
		for (const struct instance *i = in->t->instances; i; i = i->next)
			all += put_wants(i, set_of(i, in, set), k, NULL);
	want = malloc((all + 1) * sizeof(*want));
	for (uint32_t k = UFT_NBUILTINS; want && all && k < count; k++)
		for (const struct instance *i = in->t->instances; i; i = i->next)
			*n += put_wants(i, set_of(i, in, set), k, want + *n);
	return want;
}

/* Words for types that are not known yet. NULL: none, or no memory (*ret). */
static const char **wanted_words(const struct instance *in, int *ret)
{
	struct tree_text words = { 0 };
	const char **list;

	for (const struct instance *i = in->t->instances; i; i = i->next)
		if (i->event_mods)
			text_put(&words, i->event_mods, strlen(i->event_mods));
	text_put(&words, "", 1);
	list = words.error ? NULL : word_list(words.p, ret);
	*ret = words.error ? words.error : *ret;
	free(words.p);
	return list;
}

/* All of them as the session takes them; malloc'd, NULL: no memory. */
static struct uft_ops *list_ops(const struct wishes *w)
{
	struct uft_ops *ops = calloc(w->n + 1, sizeof(*ops));

	for (size_t i = 0; ops && i < w->n; i++)
		ops[i] = w->v[i].op;
	return ops;
}

/* The instance whose pid lists the targets follow, if all instances have the same. Prefers one with function-fork. */
static const struct instance *teller_of(const struct wishes *w)
{
	for (size_t i = 0; i < w->n; i++)
		if (share_is_forking(w->v[i].set))
			return w->v[i].in;
	return w->v[0].in;
}

static void wishes_free(struct wishes *w)
{
	for (size_t i = 0; i < w->n; i++) {
		for (int k = 0; k < NLISTS; k++)
			free(w->v[i].list[k]);
		free(w->v[i].stack_of);
		free(w->v[i].watch);
	}
	free(w->v);
}

/* ---- The buffers ----------------------------------------------------------------------------- */

/* How many ops write records of calls or are of the session's own tracers. */
static size_t count_wishing(const struct instance *in, const struct settings *set)
{
	size_t n = 0;

	for (const struct instance *i = in->t->instances; i; i = i->next) {
		const struct settings *now = set_of(i, in, set);
		int has_two = tracer_of(now) != UFT_TRACER_NOP && (now->is_measuring || needs_calls(i, now));
		int has_graph = share_switches_graph(i, now) &&
				(tracer_of(now) != UFT_TRACER_NOP || now->is_measuring || needs_calls(i, now));

		n += (is_wishing(i, now) != 0) + has_two + has_graph;
	}
	return n;
}

/* The session's own events of tracers other than @tracer. */
static uint32_t hidden_beside(uint32_t tracer)
{
	static const struct { uint32_t tracer, shown; } own[] = {
		{ UFT_TRACER_HWLAT, UFT_LIVE_NO_HWLAT }, { UFT_TRACER_OSNOISE, UFT_LIVE_NO_OSNOISE },
		{ UFT_TRACER_SYSPROF, UFT_LIVE_NO_SAMPLES },
		{ UFT_TRACER_SCHED_SWITCH, UFT_LIVE_NO_SWITCHES }, { UFT_TRACER_MMIOTRACE, UFT_LIVE_NO_ACCESSES },
	};
	uint32_t hidden = UFT_LIVE_NO_OWN;

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (own[i].tracer == tracer)
			hidden &= ~own[i].shown;
	return hidden;
}

/*
 * Records that an instance's buffer hides: enum uft_live_hidden. An instance that is off beside others hides all, or
 * the records of the others would be in its buffer while it is switched on.
 */
static uint32_t hidden_by(const struct instance *in, const struct settings *set, int is_shared)
{
	uint32_t hidden = in->t->has_event_stacks && !shows_event_stacks(set) ? UFT_LIVE_NO_EVENT_STACKS : 0;

	if (is_beside(in, set) && !is_recording(in, set))
		return hidden | UFT_LIVE_NO_CALLS | UFT_LIVE_NO_STACKS | UFT_LIVE_NO_OWN;
	if (commands_of(in)->has_stacks(in) || is_shared ||
	    (commands_of(in)->has_functions(in) && wants_events(in, set)))
		hidden |= (set->tracer == UFT_TRACER_NOP ? UFT_LIVE_NO_CALLS : 0) |
			  (wanted_stacks(set) ? 0 : UFT_LIVE_NO_STACKS);
	if (is_shared && is_own(set->tracer))
		hidden |= UFT_LIVE_NO_FUNCS | UFT_LIVE_NO_GRAPH | hidden_beside(set->tracer);
	else if (in->t->instances->next && set->tracer == UFT_TRACER_NOP)
		hidden |= UFT_LIVE_NO_CALLS | UFT_LIVE_NO_OWN | (wanted_stacks(set) ? 0 : UFT_LIVE_NO_STACKS);
	else if (is_shared)
		hidden |= UFT_LIVE_NO_OWN |
			  (uft_tracer(set->tracer)->target == UFT_TRACER_GRAPH ? UFT_LIVE_NO_FUNCS : UFT_LIVE_NO_GRAPH);
	if (share_switches_graph(in, set)) {
		hidden |= hidden & UFT_LIVE_NO_CALLS ? UFT_LIVE_NO_FUNCS : 0;
		hidden &= ~(uint32_t)(UFT_LIVE_NO_CALLS | UFT_LIVE_NO_GRAPH);
	}
	return hidden;
}

/*
 * Returns 1 if instances have different pid lists. With only one, the targets follow it, and these also know the
 * children of listed tasks.
 */
static int has_different_pids(const struct instance *in, const struct settings *set)
{
	const struct settings *first = NULL;

	for (const struct instance *i = in->t->instances; i; i = i->next) {
		const struct settings *s = set_of(i, in, set);

		if (!is_wishing(i, s))
			continue;
		if ((first && !is_same_pids(first, s)) || shows_fewer_tasks(i, s))
			return 1;
		first = s;
	}
	return 0;
}

/* Does an instance have function-fork? Instances without it show only the tasks of their list. */
static int has_kin(const struct instance *in, const struct settings *set)
{
	for (const struct instance *i = in->t->instances; i; i = i->next)
		if (is_wishing(i, set_of(i, in, set)) && share_is_forking(set_of(i, in, set)))
			return 1;
	return 0;
}

/* The filters of events that have one, by rising id. malloc'd; NULL: no memory. */
static struct uft_live_filter *list_filters(const struct instance *in, const struct settings *set, size_t *n)
{
	struct uft_live_filter *v = calloc(set->nevent_filters + 1, sizeof(*v));

	*n = 0;
	for (uint32_t i = 0; v && i < set->nevent_filters; i++)
		if (set->event_filter[i])
			v[(*n)++] = (struct uft_live_filter){ uft_event_table_at(tree_types(in->t), i),
				set->event_filter[i] };
	return v;
}

/* An instance that is off shows no events of the others. */
static int choose_events(struct instance *in, uint64_t since, const struct settings *set)
{
	int is_off = is_beside(in, set) && !is_recording(in, set);
	int is_kin = event_fork_counts(set), ret;
	struct uft_live_events events = {
		.pids = set->pids[PIDS_EVENT_ONLY].pid, .npids = is_kin ? 0 : set->pids[PIDS_EVENT_ONLY].n,
		.not_pids = set->pids[PIDS_EVENT_NOT].pid, .nnot_pids = is_kin ? 0 : set->pids[PIDS_EVENT_NOT].n,
	};
	struct uft_live_filter *filter = list_filters(in, set, &events.nfilters);

	events.filter = filter;
	ret = filter ? 0 : -ENOMEM;
	if (!is_off)
		ret = ret ? ret : commands_of(in)->events(in, &events.waiting);
	if (!is_off && is_kin)
		ret = ret ? ret : uft_event_set_add(&events.waiting, &set->events);
	if (!is_off)
		ret = ret ? ret : uft_event_set_add(&events.shown, &set->events);
	uft_event_set_remove(&events.shown, &events.waiting);
	ret = ret ? ret : uft_live_choose_events(in->live, since, &events);
	uft_event_set_free(&events.shown);
	uft_event_set_free(&events.waiting);
	free(filter);
	return ret;
}

int share_choose_events(struct instance *in, uint64_t since)
{
	in->t->has_events = 1;
	return choose_events(in, since, &in->set);
}

static int choose(struct instance *in, uint64_t since, const struct settings *set, const struct settings *top,
		  uint32_t hidden, int is_shared, int has_pids)
{
	struct uft_live_view view = {
		.filter = set->list[LIST_FILTER], .notrace = set->list[LIST_NOTRACE], .pids = set->pids[PIDS_ONLY].pid,
		.not_pids = set->pids[PIDS_NOT].pid,
		.npids = has_pids ? set->pids[PIDS_ONLY].n : 0, .nnot_pids = has_pids ? set->pids[PIDS_NOT].n : 0,
		.roots = uft_tracer(set->tracer)->target == UFT_TRACER_GRAPH || share_switches_graph(in, set) ?
			top->list[LIST_GRAPH] : "",
		.tracer = set->tracer, .is_bare = is_latency(set) && !(set->options & OPT_BIT(OPT_FUNC_TRACE)),
	};
	int ret;

	ret = uft_live_choose(in->live, since, hidden, is_shared || (has_pids && shows_fewer_tasks(in, set)) ? &view :
			      NULL);
	return ret || !in->t->has_events ? ret : choose_events(in, since, set);
}

/*
 * Decides what each instance shows, once @in has @set. No instance shows events of the time of the switch itself. An
 * instance that has shared the session still hides the others' records: calls of a graph that is off by now still end,
 * and a thread may be about to write a record that it began when its site was armed for the other instance.
 */
static int choose_all(struct instance *in, const struct settings *set, int is_before)
{
	const struct settings *top = set_of(in->t->instances, in, set);
	int was_shared = count_wishing(in, &in->set) > 1, is_shared = count_wishing(in, set) > 1, ret = 0;
	int has_pids = has_different_pids(in, set) || (is_before && has_different_pids(in, &in->set));
	int is_kin = has_kin(in, set) || (is_before && has_kin(in, &in->set));

	for (struct instance *i = in->t->instances; i && !ret; i = i->next) {
		const struct settings *now = set_of(i, in, set);
		int goes_on = i->has_shared && now->tracer == i->set.tracer;
		uint32_t hidden = hidden_by(i, now, is_shared || goes_on);

		if (is_before)
			hidden |= hidden_by(i, &i->set, was_shared || i->has_shared);
		else
			i->has_shared = is_shared || goes_on;
		ret = choose(i, uft_live_clock(i->live), now, top, hidden,
			     is_shared || goes_on || (is_before && was_shared),
			     has_pids || (is_kin && !share_is_forking(now)));
	}
	return ret;
}

/* Can records made for @set be told, by kind, function and task, from records for @in's own settings? */
static int is_told_apart(const struct instance *in, const struct settings *set)
{
	const struct settings *own = &in->set;

	for (int i = 0; i < 2; i++, own = set)
		if (uft_tracer_kind(own->tracer) != UFT_KIND_PLAIN && !is_own(own->tracer))
			return 0;
	own = &in->set;
	return own->max_depth == set->max_depth && own->thresh_us == set->thresh_us &&
		own->sample_us == set->sample_us &&
	       option_events(own->options) == option_events(set->options) &&
	       !strcmp(own->list[LIST_GRAPH_NOT], set->list[LIST_GRAPH_NOT]) &&
	       !strcmp(own->watch, set->watch) && own->is_measuring == set->is_measuring;
}

/*
 * One target refused @set. The other targets were switched to it and back, and recorded meanwhile, from @since on. The
 * buffer hides the records that the write caused. Where these cannot be told from others, it hides all of that time.
 */
static void choose_again(struct instance *in, const struct settings *set, uint64_t since)
{
	int is_shared = count_wishing(in, &in->set) > 1, has_pids = has_different_pids(in, &in->set),
	    is_known = is_told_apart(in, set);

	for (struct instance *i = in->t->instances; i; i = i->next) {
		uint32_t hidden = is_known ? 0 : UFT_LIVE_NO_CALLS | UFT_LIVE_NO_STACKS | UFT_LIVE_NO_OWN;

		i->has_shared |= is_shared || is_known;
		choose(i, since, &i->set, &in->t->instances->set, hidden | hidden_by(i, &i->set, i->has_shared),
		       i->has_shared, has_pids || !share_is_forking(&i->set));
		if (!is_known)
			choose(i, uft_live_clock(i->live), &i->set, &in->t->instances->set,
			       hidden_by(i, &i->set, i->has_shared), i->has_shared, has_pids);
	}
}

static void mute(const struct instance *in, const struct settings *set)
{
	int is_alone = !is_beside(in, set), is_on = is_recording(in, set);
	int has_stacks = commands_of(in)->has_stacks(in) || commands_of(in)->wants_event_stacks(in);
	int has_calls =
		set->tracer != UFT_TRACER_NOP || wants_events(in, set) || has_stacks || share_switches_graph(in, set);

	uft_live_mute(in->live,
		      (!is_alone && (!is_on || in->paused)) || (commands_of(in)->has_functions(in) && !has_calls));
	commands_of(in)->mute(in, !is_alone && !is_on);
}

void share_mute(struct uft_tree *t)
{
	for (struct instance *i = t->instances; i; i = i->next)
		mute(i, &i->set);
}

static int is_handing_on(const struct instance *in, const struct settings *from, const struct settings *to)
{
	return (is_beside(in, from) || is_beside(in, to)) && (share_is_tracing(in, from) != share_is_tracing(in, to) ||
							      is_recording(in, from) != is_recording(in, to));
}

/*
 * Gives the events written until now to the instances that wanted them. Their commands run in the next round: here they
 * would apply settings while other settings are being applied.
 */
static void hand_on(struct instance *in, const struct settings *from, const struct settings *to)
{
	int in_round = in->t->in_round;

	if (!is_handing_on(in, from, to))
		return;
	in->t->in_round = 1;
	tree_pull(in->t);
	in->t->in_round = in_round;
	mute(in, to);
}

void share_settle(struct instance *in, const struct settings *set)
{
	if (is_handing_on(in, &in->set, set))
		tree_pull(in->t);
}

/* Do all recording instances need only an order of events, no times? Latency tracers and triggers need times. */
static int wants_no_times(const struct instance *in, const struct settings *set)
{
	int n = 0;

	for (const struct instance *i = in->t->instances; i; i = i->next) {
		const struct settings *now = set_of(i, in, set);
		uint32_t tracer = tracer_of(now);

		if (!is_wishing(i, now) && !wants_events(i, now) && !i->triggers)
			continue;
		if (now->clock != CLOCK_COUNTER || i->triggers || now->is_profiling || now->is_measuring ||
		    (tracer != UFT_TRACER_FUNCTION && tracer != UFT_TRACER_GRAPH))
			return 0;
		n++;
	}
	return n != 0;
}

int share_apply(struct instance *in, const struct settings *set, struct uft_error *err)
{
	const struct settings *top = in == in->t->instances ? set : &in->t->instances->set;
	struct uft_trace_spec spec = { .is_unchecked = 1, .is_whole = 1 };
	struct uft_event_want *events = NULL;
	const char **words = NULL;
	struct uft_ops *ops = NULL;
	struct wishes w;
	uint64_t since;
	uint32_t event_stacks = wanted_event_stacks(in, set);
	int ret, is_any_running = 0;

	in->t->has_event_stacks |= event_stacks != 0;
	ret = wishes_make(in, set, &w);
	for (size_t i = 0; i < w.n && !ret; i++)
		ret = wish_op(&w.v[i], top, shapes_of(in, set), event_stacks);
	ops = ret ? NULL : list_ops(&w);
	if (!ret)
		ret = ops ? uft_ops_check(ops, w.n, &in->t->refused) : -ENOMEM;
	in->t->conflict = ret == -EBUSY ? in->t->refused.text : in->t->conflict;
	if (!ret)
		words = wanted_words(in, &ret);
	events = ret ? NULL : wanted_events(in, set, &spec.nevents);
	ret = ret || events ? ret : -ENOMEM;
	if (ret)
		goto out;
	spec.events = events;
	spec.trace_events = words;
	spec.ops = ops;
	spec.nops = w.n;
	spec.tasks = wanted_tasks(in, set);
	spec.counts = wants_no_times(in, set);
	in->t->has_events |= spec.tasks != 0 || spec.nevents || words;
	hand_on(in, &in->set, set);
	for (struct instance *i = in->t->instances; i; i = i->next)
		is_any_running |= is_running(i, set_of(i, in, set));
	if (!is_any_running)	/* sites that stay armed for later must not write now */
		uft_session_record(in->t->session, 0);
	since = uft_live_clock(in->live);
	ret = choose_all(in, set, 1);
	in->t->in_apply = 1;
	if (!ret)
		ret = uft_session_trace(in->t->session, &spec, err);
	in->t->in_apply = 0;
	if (ret == -ESRCH)
		ret = 0;
	if (!ret)
		ret = choose_all(in, set, 0);
	if (ret) {
		choose_again(in, set, since);
		hand_on(in, set, &in->set);
		if (!is_any_running)
			tree_record(in->t);
	} else {
		in->t->told = teller_of(&w);
		in->t->shapes = shapes_of(in, set);
	}
out:
	free(events);
	free(words);
	free(ops);
	wishes_free(&w);
	return ret;
}

int share_knows_kin(const struct instance *in)
{
	const struct instance *told = in->t->told;

	return told && share_is_forking(&told->set) && share_is_forking(&in->set) && is_same_pids(&told->set, &in->set);
}

void tree_record(struct uft_tree *t)
{
	int is_on = 0;

	t->is_busy = 0;
	for (struct instance *i = t->instances; i; i = i->next) {
		if (!share_is_tracing(i, &i->set))
			continue;
		t->is_busy |= i->set.tracer != UFT_TRACER_NOP || has_events(i, &i->set) || i->triggers;
		is_on |= is_running(i, &i->set);
	}
	share_mute(t);
	uft_session_record(t->session, is_on);
}
