/* SPDX-License-Identifier: MIT */
/*
 * event_trigger.c - events/SYSTEM/EVENT/trigger: actions at an event, and histograms of it
 *
 * As commands of functions (trigger.c), triggers run when the tap reads the event, in the order of time, a round late.
 * Their effects count from the clock of the event. An event with a trigger is recorded for it, and shown only if the
 * event is on. Plain triggers run the newest first, then histograms in the order in which they were made. For some
 * histograms targets count the event instead (event_hist.c).
 *
 * The filter of a trigger does not depend on the filter in the event's file. Targets know both: while the event is off,
 * they record only events that pass the filter of a trigger. For a histogram that makes a synthetic event, the session
 * records that event; triggers see it in the next round, like any other. A stack follows its event: if a trigger needs
 * the stack, all triggers of the event run when the stack is there (event_stack.c).
 *
 * The graph is switched in the target, by the thread of the event (tracers/event_rules.c); targets get the list of such
 * triggers (trigger_put_wants()). Here graph and graph:stop are only counted, from each thread's events in the order of
 * time. A target counts as well, so one process never switches more often than the count; each of several processes may
 * reach the count before the session looks at it.
 *
 * A mark is an event of ftrace:print for its triggers and histograms alone, as in the kernel: one that was written into
 * the instance's own trace_marker. The buffer gives it to the tap (uft_live_watched()), so it runs in the order of time
 * as any other event. No target writes marks or needs to know such a trigger, and the type is in no list
 * (UFT_EVENT_PRINT).
 *
 * All data here belongs to the owner.
 */
#include "symbol/array.h"
#include "tree/triggers/event_trigger.h"

#include "stream/select/event_record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The list -------------------------------------------------------------------------------- */

/* The place in triggers.of: that of UFT_EVENT_PRINT is 0. */
static uint32_t place_of(uint32_t event)
{
	return event + 1;
}

struct event_trigger *event_trigger_first(const struct triggers *g, uint32_t event)
{
	return g && place_of(event) < g->nof ? g->of[place_of(event)] : NULL;
}

int event_trigger_needs_stack(const struct event_trigger *v)
{
	return v->action == EVT_STACK || (v->hist && uft_hist_needs_stack(v->hist));
}

/* Does it look at events now? */
static int is_ready(const struct event_trigger *v)
{
	return !v->is_paused && (!v->has_count || v->left);
}

static void link_trigger(struct triggers *g, struct event_trigger *v)
{
	struct event_trigger **p = &g->of[place_of(v->event)];

	while (v->action == EVT_HIST && *p)
		p = &(*p)->next;
	v->next = *p;
	*p = v;
	g->nevents++;
	g->nprints += v->event == UFT_EVENT_PRINT;
	g->nstacks += (uint32_t)event_trigger_needs_stack(v);
	g->ngraphs += v->action == EVT_GRAPH;
}

void event_trigger_free(struct event_trigger *v)
{
	if (!v)
		return;
	uft_hist_free(v->hist);
	event_hist_free(v);
	free(v->program);
	free(v->filter);
	free(v);
}

static void unlink_trigger(struct triggers *g, struct event_trigger *v)
{
	for (struct event_trigger **p = &g->of[place_of(v->event)]; *p; p = &(*p)->next)
		if (*p == v) {
			*p = v->next;
			g->nevents--;
			g->nprints -= v->event == UFT_EVENT_PRINT;
			g->nstacks -= (uint32_t)event_trigger_needs_stack(v);
			g->ngraphs -= v->action == EVT_GRAPH;
			return;
		}
}

/* One histogram may refer to another: those without references to them go first. */
void event_triggers_free(struct triggers *g)
{
	uint32_t left;

	do {
		left = g->nevents;
		for (uint32_t i = 0; i < g->nof; i++)
			for (struct event_trigger *v = g->of[i], *next; v; v = next) {
				next = v->next;
				if (v->hist && uft_hist_is_used(v->hist))
					continue;
				unlink_trigger(g, v);
				event_trigger_free(v);
			}
	} while (g->nevents && g->nevents < left);
	free(g->of);
	free(g->print);
	event_stacks_free(&g->held);
	free(g->graph_of);
	if (g->hists)
		uft_hist_set_free(g->hists);
	uft_resolver_free(g->names);
}

int trigger_wants_event(const struct instance *in, uint32_t event)
{
	return event_trigger_first(in->triggers, event) != NULL;
}

/* A trigger without a count left needs no stacks. */
int trigger_wants_event_stacks(const struct instance *in)
{
	const struct triggers *g = in->triggers;

	for (uint32_t i = 0; g && g->nstacks && i < g->nof; i++)
		for (const struct event_trigger *v = g->of[i]; v; v = v->next)
			if (event_trigger_needs_stack(v) && (v->hist || is_ready(v)))
				return 1;
	return 0;
}

uint32_t trigger_graph_turn(const struct instance *in)
{
	return in->triggers && in->triggers->ngraphs ? in->triggers->graph_turn : 0;
}

/* The action in the target itself; UFT_RULE_RECORD: only record. */
static uint32_t rule_of(const struct event_trigger *v)
{
	return v->action == EVT_GRAPH ? UFT_RULE_GRAPH : v->action == EVT_GRAPH_STOP ? UFT_RULE_GRAPH_STOP :
		UFT_RULE_RECORD;
}

size_t trigger_put_wants(const struct instance *in, const struct settings *set, uint32_t event,
			 struct uft_event_want *want)
{
	size_t n = 0;

	for (const struct event_trigger *v = event_trigger_first(in->triggers, event); v; v = v->next) {
		if (want)
			want[n] = event_hist_is_counted(in, set, v) ?
				(struct uft_event_want){ .index = event, .filter = v->filter, .action = UFT_RULE_HIST,
				.row = &v->row, .tasks = event_tasks(set) } :
				(struct uft_event_want){ .index = event,
					.filter = v->filter /* GUARD(want_filter, NULL) */, .tasks = event_tasks(set) };
		n++;
		if (rule_of(v) == UFT_RULE_RECORD || !is_ready(v))
			continue;
		if (want)
			want[n] = (struct uft_event_want){
				.index = event, .filter = v->filter, .tasks = event_tasks(set), .action = rule_of(v),
				.count = v->has_count && v->left < UINT32_MAX ? (uint32_t)v->left : 0, .key = v->key,
			};
		n++;
	}
	return n;
}

int event_trigger_switches(const struct triggers *g, uint32_t event)
{
	return event_trigger_has(g, EVT_ENABLE, EVT_DISABLE, event);
}

/* ---- Lost events ------------------------------------------------------------------------------ */

static uint64_t lost_of(const struct triggers *g, const struct event_trigger *v)
{
	return v->lost + (v->is_paused ? 0 : uft_live_missing(g->tap) - v->lost_before);
}

static void count_lost_anew(const struct triggers *g, struct event_trigger *v)
{
	v->lost = 0;
	v->lost_before = uft_live_missing(g->tap);
}

/* Makes targets write records for the histogram again, and adds their counts so far to its table. */
static int withdraw_hist(struct instance *in, struct event_trigger *v)
{
	int ret;

	v->is_withdrawn = 1;
	ret = tree_apply(in, &in->set, NULL);
	event_hist_collect(in);
	return ret;
}

static void pause_hist(const struct triggers *g, struct event_trigger *v, int is_paused)
{
	v->lost = lost_of(g, v);
	v->lost_before = uft_live_missing(g->tap);
	v->is_paused = is_paused;
}

/* ---- Adding, removing ------------------------------------------------------------------------ */

/* Kinds of which an event has one trigger only: traceon and traceoff, enable and disable of one target. */
static int is_same_kind(const struct event_trigger *a, const struct event_trigger *b)
{
	static const uint8_t kind[EVT_NACTIONS] = {
		[EVT_OFF] = 0, [EVT_ON] = 0, [EVT_STACK] = 1, [EVT_SNAPSHOT] = 2, [EVT_ENABLE] = 3, [EVT_DISABLE] = 3,
		[EVT_ENABLE_HIST] = 4, [EVT_DISABLE_HIST] = 4, [EVT_HIST] = 5, [EVT_GRAPH] = 6, [EVT_GRAPH_STOP] = 7,
	};

	return kind[a->action] == kind[b->action] && a->target == b->target;
}

static struct event_trigger *find_same(const struct triggers *g, const struct event_trigger *like)
{
	struct event_trigger *v = event_trigger_first(g, like->event);

	while (v && !is_same_kind(v, like))
		v = v->next;
	return v;
}

static int is_same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static struct event_trigger *find_hist(const struct triggers *g, const struct event_trigger *like)
{
	for (struct event_trigger *v = event_trigger_first(g, like->event); v; v = v->next)
		if (v->action == EVT_HIST && is_same_text(v->filter, like->filter) &&
		    uft_hist_is_same(v->hist, like->hist) &&
		    is_same_text(uft_hist_name(v->hist), uft_hist_name(like->hist)))
			return v;
	return NULL;
}

/* Finds the first histogram with the name, of any event. */
static struct event_trigger *find_named(const struct triggers *g, const struct event_trigger *like)
{
	const char *name = uft_hist_name(like->hist);

	for (uint32_t i = 0; name && i < g->nof; i++)
		for (struct event_trigger *v = g->of[i]; v; v = v->next)
			if (v->action == EVT_HIST && v != like && is_same_text(uft_hist_name(v->hist), name))
				return v;
	return NULL;
}

static int settle(struct instance *in, int had_switch, uint32_t target)
{
	struct uft_event_set switched = { NULL, 0 };
	int ret = had_switch ? uft_event_set_change(&switched, target, 1) : 0;

	if (!ret && had_switch)
		trigger_settle(in, &switched);
	uft_event_set_free(&switched);
	return ret;
}

static int take_out(struct instance *in, struct event_trigger *v)
{
	int is_switch = v->action == EVT_ENABLE || v->action == EVT_DISABLE, ret = 0;
	uint32_t target = v->target;

	if (is_switch) {	/* it stays as it is */
		struct uft_event_set on = { NULL, 0 };

		ret = trigger_events_on(in, &on);
		if (!ret) {
			uft_event_set_free(&in->set.events);
			in->set.events = on;
		}
	}
	unlink_trigger(in->triggers, v);
	event_trigger_free(v);
	ret = ret ? ret : settle(in, is_switch, target);
	trigger_end(in);
	return ret ? ret : tree_apply(in, &in->set, NULL) ? tree_apply(in, &in->set, NULL) : 0;
}

static void fail_at(struct event_command *c, const char *what, const char *str)
{
	const char *at = strstr(c->text, str);

	c->errors.v[0].what = what;
	c->errors.v[0].at = at ? (size_t)(at - c->text) : 0;
	c->errors.n = 1;
}

/* Runs :pause, :cont and :clear on an existing histogram. 1: done; 0: the command makes a new one. */
static int change_there(struct instance *in, struct event_command *c, struct event_trigger *v)
{
	struct triggers *g = in->triggers;
	struct event_trigger *there = find_hist(g, v);
	enum uft_hist_verb verb = uft_hist_verb(v->hist);
	int ret;

	if (!there && (verb == UFT_HIST_CONT || verb == UFT_HIST_CLEAR)) {
		fail_at(c, "Can't clear or continue a nonexistent hist trigger", "hist:");
		return -ENOENT;
	}
	if (!there) {
		v->is_paused = verb == UFT_HIST_PAUSE;
		return 0;
	}
	if (verb == UFT_HIST_PLAIN) {
		fail_at(c, "Hist trigger already exists", "hist:");
		return -EEXIST;
	}
	if (verb == UFT_HIST_CLEAR) {
		uft_hist_clear(there->hist);
		count_lost_anew(g, there);
		return 1;
	}
	ret = verb == UFT_HIST_PAUSE ? withdraw_hist(in, there) : 0;
	pause_hist(g, there, verb == UFT_HIST_PAUSE);
	there->is_withdrawn = 0;
	if (verb == UFT_HIST_CONT)
		ret = tree_apply(in, &in->set, NULL);
	return ret ? ret : 1;
}

static int use_clock(struct instance *in, struct event_command *c, const struct uft_hist *h)
{
	struct settings set = in->set;
	const char *clock = uft_hist_clock(h);
	int number = clock ? c->find_clock(clock) : 0, ret;

	if (!clock)
		return 0;
	set.clock = (uint32_t)number;
	ret = number < 0 ? -EINVAL : set.clock == in->set.clock ? 0 : tree_apply(in, &set, NULL);
	if (ret)
		fail_at(c, "Couldn't set trace_clock", clock);
	return ret;
}

static int add_hist(struct instance *in, struct event_command *c, struct event_trigger *v)
{
	struct triggers *g = in->triggers;
	struct event_trigger *named = find_named(g, v);
	int ret;

	if (named && !uft_hist_is_same(named->hist, v->hist)) {
		fail_at(c, "Named hist trigger doesn't match existing named trigger (includes variables)",
			uft_hist_name(v->hist));
		return -EINVAL;
	}
	ret = change_there(in, c, v);
	if (ret)
		return ret;
	ret = use_clock(in, c, v->hist);
	if (!ret && in->t->synths.first)
		ret = uft_session_emit_open(in->t->session, UFT_EMITTER_HIST);
	if (named)
		uft_hist_share(v->hist, named->hist);
	ret = ret ? ret : uft_hist_join(v->hist, &c->errors);
	if (!ret)
		event_hist_place(in, v);
	return ret;
}

/* Begins a new turn of graph triggers: threads that triggers of an earlier turn switched on are off. */
static void begin_graph(struct instance *in)
{
	struct triggers *g = in->triggers;

	g->graph_turn = ++in->t->graph_turns;
	if (g->ngraph_of)
		memset(g->graph_of, 0, g->ngraph_of);
}

/* Takes ownership of @v. */
static int add(struct instance *in, struct event_command *c, struct event_trigger *v)
{
	struct triggers *g = in->triggers;
	int ret = array_reach(g->of, g->nof, place_of(v->event)), is_made = 0;

	if (!ret && v->action == EVT_HIST)
		ret = add_hist(in, c, v);
	else if (!ret && find_same(g, v))
		ret = -EEXIST;
	if (!ret && v->action == EVT_SNAPSHOT)
		ret = is_made = snapshot_allocate(in);
	if (ret < 0 || (ret && v->action == EVT_HIST)) {
		event_trigger_free(v);
		trigger_end(in);
		return ret < 0 ? ret : 0;
	}
	count_lost_anew(g, v);
	if (v->action == EVT_GRAPH && !g->ngraphs)
		begin_graph(in);
	v->key = v->has_count ? ++in->t->graph_keys : 0;
	link_trigger(g, v);
	ret = tree_apply(in, &in->set, NULL);
	if (!ret)
		return 0;
	unlink_trigger(g, v);
	event_trigger_free(v);
	if (is_made > 0)
		snapshot_free(in);
	trigger_end(in);
	return ret;
}

/* Removes the trigger that a command with `!` names. Returns 0 if there is none, as in the kernel. */
static int remove_like(struct instance *in, struct event_trigger *like)
{
	struct event_trigger *v =
		like->action == EVT_HIST ? find_hist(in->triggers, like) : find_same(in->triggers, like);
	int is_used = v && v->hist && uft_hist_is_used(v->hist);

	event_trigger_free(like);
	if (is_used)
		return -EBUSY;
	if (!v) {
		trigger_end(in);
		return 0;
	}
	tree_pull(in->t);	/* events before the removal still count */
	return take_out(in, v);
}

/* Adds a histogram of another event, of which onmatch() takes a field. */
static int event_trigger_add_to(void *arg, const struct uft_hist *like, const char *text)
{
	struct instance *in = arg;
	struct event_command c = { .event = uft_hist_type(like)->index };
	const struct event_trigger *of = event_trigger_first(in->triggers, c.event);
	struct event_trigger *v = calloc(1, sizeof(*v));
	int ret = v ? 0 : -ENOMEM;

	while (of && of->hist != like)
		of = of->next;
	if (!ret)
		*v = (struct event_trigger){ .event = c.event, .action = EVT_HIST };
	if (!ret && of && of->filter)
		ret = event_trigger_set_filter(v, uft_hist_type(like), of->filter, &c);
	ret = ret ? ret : uft_hist_make(in->triggers->hists, uft_hist_type(like), text, 0, &v->hist, &c.errors);
	ret = ret ? ret : uft_hist_join(v->hist, &c.errors);
	if (ret) {
		event_trigger_free(v);
		return ret;
	}
	count_lost_anew(in->triggers, v);
	link_trigger(in->triggers, v);
	return 0;
}

int event_trigger_do(struct instance *in, struct event_command *c)
{
	struct event_trigger *v;
	int ret;

	if (in->triggers) {	/* the trigger is not for earlier events */
		tree_pull(in->t);
		event_hist_collect(in);
	}
	ret = trigger_begin(in);
	ret = ret ? ret : event_trigger_parse(in, c, &v);
	if (ret) {
		trigger_end(in);
		return ret;
	}
	return c->is_not ? remove_like(in, v) : add(in, c, v);
}

int event_trigger_clear(struct instance *in, uint32_t event)
{
	struct event_trigger *v, *next;
	int ret = 0;

	for (v = event_trigger_first(in->triggers, event); v && !ret; v = next) {
		next = v->next;
		if (v->action == EVT_HIST && !uft_hist_is_used(v->hist))
			ret = take_out(in, v);
	}
	return ret;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void put(void *arg, const char *p, size_t n)
{
	text_put(arg, p, n);
}

static void show_one(const struct instance *in, const struct event_trigger *v, struct tree_text *out)
{
	const struct uft_hist_sink to = { out, put };

	if (v->action == EVT_HIST) {
		uft_hist_put_definition(v->hist, v->filter, &to);
		text_printf(out, " [%s]\n", v->is_paused ? "paused" : "active");
		return;
	}
	text_printf(out, "%s", event_trigger_word[v->action]);
	if (v->action >= EVT_ENABLE) {
		const struct uft_event_type *type = uft_event_table_at(tree_types(in->t), v->target);

		text_printf(out, ":%s:%s", type ? type->system : "?", type ? type->name : "?");
	}
	if (v->has_count)
		text_printf(out, ":count=%llu", (unsigned long long)v->left);
	else
		text_printf(out, ":unlimited");
	text_printf(out, "%s%s\n", v->filter ? " if " : "", v->filter ? v->filter : "");
}

void event_trigger_show(const struct instance *in, uint32_t event, struct tree_text *out)
{
	const struct event_trigger *v = event_trigger_first(in->triggers, event);

	if (!v)
		text_printf(out,
			    "# Available triggers:\n# traceon traceoff snapshot stacktrace enable_event disable_event enable_hist disable_hist hist graph\n");
	for (; v; v = v->next)
		show_one(in, v, out);
}

int event_trigger_show_hist(struct instance *in, uint32_t event, struct tree_text *out)
{
	const struct uft_hist_sink to = { out, put };
	uint64_t lost;
	int n = 0, ret = 0;

	event_hist_collect(in);
	for (const struct event_trigger *v = event_trigger_first(in->triggers, event); v && !ret; v = v->next) {
		if (v->action != EVT_HIST)
			continue;
		text_printf(out, "%s# event histogram\n#\n# trigger info: ", n++ ? "\n\n" : "");
		show_one(in, v, out);
		lost = lost_of(in->triggers, v);
		if (lost)
			text_printf(out,
				    "# %llu records of any kind were lost before they were counted: targets wrote faster than the session took. The table may lack as many.\n",
				    (unsigned long long)lost);
		text_printf(out, "#\n\n");
		ret = uft_hist_put_table(v->hist, lost, &to);
	}
	return ret;
}

int event_trigger_put_cells(struct instance *in, uint32_t event, struct tree_text *out)
{
	const struct uft_hist_sink to = { out, put };
	int ret = 0;

	event_hist_collect(in);
	for (const struct event_trigger *v = event_trigger_first(in->triggers, event); v && !ret; v = v->next)
		if (v->action == EVT_HIST)
			ret = uft_hist_put_cells(v->hist, v->filter, v->is_paused, lost_of(in->triggers, v), &to);
	return ret;
}

/* ---- An event -------------------------------------------------------------------------------- */

/* Returns 1 if the state changed. With the graph as the tracer all threads are on anyway. */
static int switch_graph(struct instance *in, const struct uft_task *task, int is_on)
{
	struct triggers *g = in->triggers;
	int was;

	if (!share_switches_graph(in, &in->set) ||
	    array_reach(g->graph_of, g->ngraph_of, task->index))
		return 0;
	was = g->graph_of[task->index];
	g->graph_of[task->index] = (uint8_t)is_on;
	return is_on != was;
}

/* Runs the action. Returns 1 if it had an effect, which uses up one of its count. */
static int run(struct instance *in, struct event_trigger *v, const struct uft_event *e, uint64_t clock,
	       const struct uft_hist_record *rec)
{
	struct triggers *g = in->triggers;

	switch (v->action) {
	case EVT_HIST:
		/* The event is of after the counts in a target's map, which had no room for it. */
		if (v->has_row && !g->has_collected) {
			g->has_collected = 1;
			event_hist_collect(in);
		}
		uft_hist_update(v->hist, rec);
		return 0;
	case EVT_ENABLE_HIST:
	case EVT_DISABLE_HIST:
		event_hist_collect(in);		/* the counts of before */
		for (struct event_trigger *t = event_trigger_first(g, v->target); t; t = t->next)
			if (t->action == EVT_HIST)
				pause_hist(g, t, v->action == EVT_DISABLE_HIST);
		return 1;
	case EVT_ENABLE:
	case EVT_DISABLE:
		return trigger_act_event(g, kind_of(v->action == EVT_ENABLE ? ENABLE : DISABLE, v->target, 0));
	case EVT_ON:
	case EVT_OFF:
		return clock > g->since && trigger_act(in, 2 * (v->action == EVT_ON ? ON : OFF), e->cpu, clock);
	case EVT_GRAPH:
	case EVT_GRAPH_STOP:
		return switch_graph(in, e->task, v->action == EVT_GRAPH);
	case EVT_SNAPSHOT:
		return clock > g->since && trigger_act(in, 2 * SNAPSHOT, e->cpu, clock);
	default:
		return 0;
	}
}

/* An event of a task that set_event_pid leaves out reaches no trigger. */
static int is_let_in(const struct instance *in, const struct uft_event *e, uint64_t clock)
{
	if (event_fork_counts(&in->set))
		return event_fork_passes(in, e, clock);
	return event_pids_want(&in->set, e->task->pid, e->task->tid);
}

/*
 * Runs all triggers of the event. @stack: its stack, or NULL. @until: the clock up to which the records of all threads
 * were looked at: that of the event or, if the event was held, of the record after it. As in the kernel, a traceoff
 * that runs before stacktrace also drops this stack.
 */
static void run_all(struct instance *in, const struct uft_event *e, uint64_t clock, const struct uft_event *stack,
		    uint64_t until)
{
	struct triggers *g = in->triggers;
	uint64_t frame[UFT_STACK_MAX], at = until - (until != clock);
	struct uft_hist_record rec = {
		.type = e->type, .payload = e->payload, .bytes = e->payload_bytes, .ts = e->ts_ns, .cpu = e->cpu,
		.tid = e->task->tid,
		.comm = e->task->comm, .where = e->task->image, .stack = frame,
	};

	for (; stack && rec.nstack < stack->stack->n && rec.nstack < UFT_STACK_MAX; rec.nstack++)
		frame[rec.nstack] = stack->stack->frame[rec.nstack].addr;
	g->now = e;
	g->now_clock = clock;
	for (struct event_trigger *v = event_trigger_first(g, e->type->index), *next; v; v = next) {
		int is_stack = v->action == EVT_STACK;

		next = v->next;
		if (!is_ready(v) || (v->program && !uft_event_accepts(v->program, e)))
			continue;
		if (is_stack && stack) {
			at = until;
			if (clock > g->since)
				uft_live_show_one(in->live, until);
		}
		if (is_stack ? !stack : !run(in, v, e, at, &rec))
			continue;
		if (v->has_count && !--v->left)
			g->is_spent |= is_stack || v->action == EVT_GRAPH || v->action == EVT_GRAPH_STOP;
	}
	g->now = NULL;
}

static int waits_for_stack(const struct triggers *g, uint32_t event)
{
	const struct event_trigger *v = g->nstacks ? event_trigger_first(g, event) : NULL;

	while (v && !(event_trigger_needs_stack(v) && is_ready(v)))
		v = v->next;
	return v != NULL;
}

/* Runs the held event of the thread of @e, with the stack @stack or without one. */
static void release(struct instance *in, const struct uft_event *e, const struct uft_event *stack, uint64_t clock)
{
	const struct held_event *h = event_stack_take(&in->triggers->held, e->task);

	if (h)
		run_all(in, &h->event, h->clock, stack, clock);
}

void event_trigger_look_at_stack(struct instance *in, const struct uft_event *e, uint64_t clock)
{
	release(in, e, e, clock);
}

/* Holds the event until its stack comes, or runs it at once. Without memory to hold it, it has no stack. */
void event_trigger_look(struct instance *in, const struct uft_event *e, uint64_t clock)
{
	struct triggers *g = in->triggers;

	release(in, e, NULL, clock);
	if (!is_let_in(in, e, clock))
		return;
	if (!waits_for_stack(g, e->type->index) || event_stack_hold(&g->held, e, clock))
		run_all(in, e, clock, NULL, clock);
}

/*
 * Runs the triggers of a mark, which is an event of ftrace:print then: `ip` is 0, as in binary records, and `buf` the
 * text. As in the kernel, lists of tasks do not matter.
 */
void event_trigger_look_at_mark(struct instance *in, const struct uft_event *e, uint64_t clock)
{
	struct triggers *g = in->triggers;
	const size_t bytes = sizeof(uint64_t) + e->text_bytes + 1;
	struct uft_event print = *e;

	if (!g->nprints || array_reserve(g->print, g->cap_print, bytes))
		return;
	memset(g->print, 0, sizeof(uint64_t));
	memcpy(g->print + sizeof(uint64_t), e->text, e->text_bytes);
	g->print[bytes - 1] = '\0';
	print.kind = UFT_EV_DATA;
	print.type = uft_event_table_at(tree_types(in->t), UFT_EVENT_PRINT);
	print.payload = g->print;
	print.payload_bytes = bytes;
	run_all(in, &print, clock, NULL, clock);
}

/* ---- Callbacks of the histograms ------------------------------------------------------------- */

static size_t name_of(void *arg, const void *where, uint64_t addr, int has_offset, char *to, size_t room)
{
	struct instance *in = arg;
	struct uft_resolver **names = &in->triggers->names;
	const struct uft_sym *sym;
	int n;

	if (!*names)
		*names = uft_resolver_alloc();
	sym = *names && where ? uft_resolve_addr(*names, where, addr) : NULL;
	if (!sym || !sym->size)		/* the return address is after the last call of a function that never returns */
		sym = *names && where ? uft_resolve_addr(*names, where, addr - 1) : NULL;
	if (!sym || !sym->size)
		return 0;
	n = has_offset ? snprintf(to, room, "%s+0x%llx/0x%llx", sym->name,
				  (unsigned long long)(addr - uft_image_sym_addr(where, sym)),
				  (unsigned long long)sym->size) :
			 snprintf(to, room, "%s", sym->name);
	return n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

static const struct uft_event_type *find_event(void *arg, const char *system, const char *name)
{
	const struct instance *in = arg;
	const struct uft_event_type *print = uft_event_table_at(tree_types(in->t), UFT_EVENT_PRINT);

	if (!strcmp(system, print->system) && !strcmp(name, print->name))
		return print;
	return uft_event_table_find(tree_types(in->t), system, strlen(system), name, strlen(name));
}

static void emit(void *arg, const struct uft_synth *synth, const void *payload, size_t bytes,
		 const struct uft_hist_record *rec)
{
	struct instance *in = arg;
	const struct uft_event *e = in->triggers->now;

	(void)rec;
	uft_session_emit(in->t->session, UFT_EMITTER_HIST, e->cpu, in->triggers->now_clock, e->task->pid, e->task->tid,
			 synth->type->id, payload, bytes);
	in->t->has_emitted = 1;
}

static void take_snapshot(void *arg, const struct uft_hist_record *rec)
{
	struct instance *in = arg;

	trigger_act(in, 2 * SNAPSHOT, rec->cpu, in->triggers->now_clock);
}

struct uft_hist_set *event_trigger_hists(struct instance *in)
{
	const struct uft_hist_env env = {
		.arg = in, .name = name_of, .synths = &in->t->synths, .emit = emit, .snapshot = take_snapshot,
		.find_event = find_event,
		.add_to = event_trigger_add_to, .is_ns = 1,
	};
	struct triggers *g = in->triggers;

	if (!g->hists)
		g->hists = uft_hist_set_new(&env);
	return g->hists;
}
