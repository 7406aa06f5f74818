/* SPDX-License-Identifier: MIT */
/*
 * trigger.c - commands in set_ftrace_filter: func:traceon, traceoff, stacktrace, snapshot, dump, cpudump,
 * enable_event:SYSTEM:EVENT, with :N for so many times. Words: trigger_word.c; events: trigger_event.c
 *
 * The runtime does not know these commands. A second buffer, the tap, follows the instance's buffer. In each round the
 * owner searches the new records of the tap, in the order of time, for functions with a command. By then targets have
 * written more, so effects count from the clock of the function's record. The instance's buffer hides the records
 * between an off and the next on (stream/live/hidden_spans.c): its text is exact, as if the function itself had
 * switched. tracing_on changes a round late and ends the recording, but targets go on writing while a traceon waits. A
 * snapshot or a dump is due when all new records have been looked at: it takes the records up to its clock. As in the
 * kernel, a dump ends the recording and removes the printed records from the buffer. A round has room for some due
 * commands. Those beyond it are not done and not counted, recording goes on, the next dump prints their text, and a
 * warning tells of it.
 *
 * The runtime records the stack of each call of a function with stacktrace (struct uft_ops.stack_of). The buffer shows
 * the stacks for which the command acted (stream/live/choices.c), also when the command is removed later. With the
 * tracer nop the buffer shows nothing else.
 *
 * While tracing is off, commands act only if a traceon or a command of events waits: else a snapshot would replace the
 * previous one.
 *
 * A function with a command is traced for it, even if set_ftrace_filter names only others or set_ftrace_notrace names
 * it: then its calls are in the trace, unlike in the kernel. With the tracer nop the instance's buffer is muted but for
 * stacks, and only the tap takes calls.
 *
 * As in the kernel each name has a count of its own, but for commands of events. A name has one entry for each command
 * with and one without a count. Entries are found by a hash of the name, so a command for 100,000 functions costs one
 * lookup each. All data here belongs to the owner.
 */
#include "symbol/array.h"
#include "symbol/keyed_hash.h"
#include "tree/triggers/trigger_internal.h"
#include "tree/core/function_list.h"

#include "control/functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TAP_BYTES	(16u << 20)	/* of records that are too young for this round */
#define TOO_MANY_DUE	"Functions with snapshot, dump or cpudump came too fast: 16 at most wait for it, and the others are neither carried out nor counted"

/* ---- The list, and where a name is in it ------------------------------------------------------ */

/* The slot of @func: its first trigger, or empty. */
static uint32_t *slot_of(const struct triggers *g, const char *func)
{
	size_t i = hash_text(func) & g->mask;

	while (g->slot[i] && strcmp(g->v[g->slot[i] - 1].func, func))
		i = (i + 1) & g->mask;
	return &g->slot[i];
}

static struct trigger *first_of(const struct triggers *g, const char *func)
{
	uint32_t at = g->n ? *slot_of(g, func) : 0;

	return at ? &g->v[at - 1] : NULL;
}

static struct trigger *next_of(const struct triggers *g, const struct trigger *v)
{
	return v->more ? &g->v[v->more - 1] : NULL;
}

/* Links trigger @i after the others of its name. */
static void link_in(struct triggers *g, size_t i)
{
	uint32_t *at = slot_of(g, g->v[i].func);

	while (*at)
		at = &g->v[*at - 1].more;
	*at = (uint32_t)i + 1;
	g->v[i].more = 0;
	g->count[g->v[i].kind]++;
}

/* Links all triggers again, in a hash for @cap of them. */
static int link_all(struct triggers *g, size_t cap)
{
	size_t mask = 63;
	uint32_t *slot;

	while (mask < 2 * cap)
		mask = 2 * mask + 1;
	slot = calloc(mask + 1, sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	free(g->slot);
	g->slot = slot;
	g->mask = mask;
	if (g->count)
		memset(g->count, 0, g->nkinds * sizeof(*g->count));
	for (size_t i = 0; i < g->n; i++)
		link_in(g, i);
	return 0;
}

static int room(struct triggers *g)
{
	size_t cap = g->cap ? 2 * g->cap : 16;

	if (g->n < g->cap)
		return 0;
	if (array_resize(g->v, cap) || link_all(g, cap))
		return -ENOMEM;
	g->cap = cap;		/* no more than the hash has room for: a search must end at a free slot */
	return 0;
}

static void free_trigger(struct trigger *v)
{
	if (v->ration && !--v->ration->refs)
		free(v->ration);
	free(v->func);
}

/* @made: the common count of all triggers that this write adds, if they share one. */
struct adding { struct triggers *g; const struct command *c; struct uft_pattern p; struct ration *made; };

/* Gets the count for one more trigger. 0, -ENOMEM. */
static int take_ration(struct adding *a, struct ration **out)
{
	*out = a->made;
	if (!IS_COUNT(a->c->kind))
		return 0;
	if (!*out)
		*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->left = a->c->count;
	(*out)->refs++;
	if (action_of(a->c->kind) >= ENABLE)
		a->made = *out;
	return 0;
}

static int add_fn(void *arg, const struct uft_function *f)
{
	struct adding *a = arg;
	struct triggers *g = a->g;
	struct trigger made = { .kind = a->c->kind };

	if (!word_matches(&a->p, f))
		return 0;
	for (const struct trigger *v = first_of(g, f->name); v; v = next_of(g, v))
		if (v->kind == a->c->kind)
			return 0;
	if (room(g))
		return -ENOMEM;
	made.func = strdup(f->name);
	if (!made.func || take_ration(a, &made.ration)) {
		free(made.func);
		return -ENOMEM;
	}
	g->v[g->n] = made;
	link_in(g, g->n++);
	return 0;
}

/* Links the rest of a list that was shortened. Without memory for a new hash the old one stays: it is large enough. */
static void relink(struct triggers *g)
{
	memset(g->slot, 0, (g->mask + 1) * sizeof(*g->slot));
	if (g->count)
		memset(g->count, 0, g->nkinds * sizeof(*g->count));
	for (size_t i = 0; i < g->n; i++)
		link_in(g, i);
}

static void drop_last(struct triggers *g, size_t n)
{
	while (g->n > n)
		free_trigger(&g->v[--g->n]);
	if (g->slot)
		relink(g);
}

static size_t drop_matching(struct triggers *g, const struct command *c)
{
	struct uft_pattern p = { .func = (char *)c->glob };
	size_t to = 0, n = g->n;

	for (size_t i = 0; i < n; i++) {
		if (g->v[i].kind == c->kind &&
		    word_matches(&p, &(struct uft_function){ .name = g->v[i].func, .object = "" }))
			free_trigger(&g->v[i]);
		else
			g->v[to++] = g->v[i];
	}
	g->n = to;
	relink(g);
	return n - to;
}

static void forget_known(struct triggers *g)
{
	free(g->known);
	g->known = NULL;
	g->nknown = 0;
}

static struct triggers *begin(struct instance *in)
{
	struct uft_live_opts lo = { .cpu_bytes = TAP_BYTES, .overwrite = 1, .is_tap = 1, .events = tree_types(in->t),
		.clock = in->t->opts.emulator ? uft_session_clock : NULL, .clock_arg = in->t->session };
	struct triggers *g = calloc(1, sizeof(*g));

	if (!g || uft_live_follow(in->t->instances->live, &lo, &g->tap)) {
		free(g);
		return NULL;
	}
	g->is_on = in->set.is_on;
	g->begun = g->since = uft_live_clock(in->live);
	if (uft_event_set_copy(&g->events, &in->set.events)) {
		uft_live_unfollow(g->tap);
		uft_live_destroy(g->tap);
		free(g);
		return NULL;
	}
	uft_live_watched(in->live, g->tap);
	if (!g->is_on)		/* targets will write while a traceon waits */
		uft_live_hide(in->live, g->since);
	return g;
}

int trigger_begin(struct instance *in)
{
	if (!in->triggers)
		in->triggers = begin(in);
	return in->triggers ? 0 : -ENOMEM;
}

void trigger_end(struct instance *in)
{
	if (in->triggers && !in->triggers->n && !in->triggers->nevents && !in->triggers->is_kept)
		trigger_free(in);
}

int trigger_keep(struct instance *in)
{
	int ret = trigger_begin(in);

	if (!ret)
		in->triggers->is_kept = 1;
	return ret;
}

void trigger_free(struct instance *in)
{
	struct triggers *g = in->triggers;

	if (!g)
		return;
	event_triggers_free(g);
	in->triggers = NULL;
	uft_live_watched(in->live, NULL);
	drop_last(g, 0);
	forget_known(g);
	uft_live_unfollow(g->tap);
	uft_live_destroy(g->tap);
	uft_event_set_free(&g->events);
	free(g->said);
	free(g->count);
	free(g->slot);
	free(g->v);
	free(g);
}

/* Does the command have an effect that a reader sees? */
static int is_useful(const struct instance *in, struct command *c)
{
	enum action action = action_of(c->kind);

	if ((action == DUMP || action == CPUDUMP) && !in->t->opts.dump)
		return trigger_refuse(c,
				      "The dump goes to standard error, which a server in the background does not have",
				      strlen(c->glob) + 1);
	return 0;
}

static size_t count_verb(const struct triggers *g, unsigned verb)
{
	size_t n = 0;

	for (unsigned kind = 0; kind < g->nkinds; kind++)
		n += verb_of(kind) == verb ? g->count[kind] : 0;
	return n;
}

/* Checks the rights that the command needs for kernel events; the error is that of set_event. */
static int apply(struct instance *in)
{
	struct uft_error err = { "" };
	int ret = tree_apply(in, &in->set, &err);

	if (ret && ret != -EBUSY && trigger_switches_any(in) && in->t->opts.warning && err.text[0])
		in->t->opts.warning(in->t->opts.arg, err.text);
	return ret;
}

static int add(struct instance *in, struct command *c)
{
	struct adding a = { .c = c };
	int ret = is_useful(in, c), is_new, is_waiting, is_made = 0;
	int was_waiting;
	size_t before;

	if (ret)
		return ret;
	if (in->triggers)	/* it is not for what came before it */
		tree_pull(in->t);
	if (trigger_begin(in))
		return -ENOMEM;
	a.g = in->triggers;
	is_new = !count_verb(a.g, verb_of(c->kind));
	before = a.g->n;
	was_waiting = action_of(c->kind) >= ENABLE && trigger_switches(in, event_of(c->kind));
	ret = array_reach(a.g->count, a.g->nkinds, c->kind);
	ret = ret ? ret : uft_pattern_parse(c->glob, &a.p);
	if (!ret) {
		ret = uft_session_functions(in->t->session, NULL, add_fn, &a);
		uft_pattern_free(&a.p);
	}
	if (ret >= 0)
		ret = a.g->n > before ? 0 :
			trigger_refuse(c, "No function matches, or each that does has the command already", 0);
	if (!ret && action_of(c->kind) == SNAPSHOT)
		ret = is_made = snapshot_allocate(in);
	if (ret >= 0)
		ret = apply(in);
	is_waiting = action_of(c->kind) >= ENABLE && !was_waiting && trigger_switches(in, event_of(c->kind));
	if (ret < 0)
		drop_last(a.g, before);
	if (ret < 0 && is_made > 0)
		snapshot_free(in);
	if (ret >= 0 && is_new)
		a.g->age[verb_of(c->kind)] = ++a.g->ages;
	forget_known(a.g);
	trigger_end(in);
	if (ret < 0 && is_waiting)	/* events had begun to wait for a function */
		tree_apply(in, &in->set, NULL);
	return ret < 0 ? ret : 0;
}

static int take_out(struct instance *in, struct command *c)
{
	struct triggers *g = in->triggers;
	struct uft_event_set switched = { NULL, 0 }, on = { NULL, 0 };

	if (!g || !g->n || !trigger_count(g, c->kind))
		return -ENODEV;
	if (trigger_switches_any(in))		/* earlier effects come first */
		tree_pull(in->t);
	if (trigger_events(in, &switched) || trigger_events_on(in, &on)) {
		uft_event_set_free(&switched);
		return -ENOMEM;
	}
	if (!drop_matching(g, c)) {
		uft_event_set_free(&switched);
		uft_event_set_free(&on);
		return trigger_refuse(c, "No function has this command", 0);
	}
	forget_known(g);
	uft_event_set_free(&in->set.events);
	in->set.events = on;
	trigger_settle(in, &switched);
	uft_event_set_free(&switched);
	trigger_end(in);
	/* The commands are gone. The session waits once for a silent target, and warns. */
	return tree_apply(in, &in->set, NULL) ? tree_apply(in, &in->set, NULL) : 0;
}

int trigger_do(struct uft_handle *h, const char *word)
{
	struct command c = { .kind = 0 };
	int ret = trigger_parse(tree_types(h->t), word, &c);

	ret = ret < 0 ? ret : c.is_not ? take_out(h->at.in, &c) : add(h->at.in, &c);
	h->wrong = c.wrong ? c.wrong : "Invalid command, or no function for it";
	h->wrong_at = c.wrong_at;
	return ret;
}

void trigger_show(const struct instance *in, struct tree_text *out)
{
	const struct triggers *g = in->triggers;

	for (uint64_t age = g ? g->ages : 0; age; age--)
		for (size_t i = 0; i < g->n; i++)
			if (g->age[verb_of(g->v[i].kind)] == age)
				trigger_show_one(tree_types(in->t), &g->v[i], out);
}

/* ---- Facts for other files ------------------------------------------------------------------- */

int trigger_waits(const struct instance *in, const struct settings *set)
{
	const struct triggers *g = in->triggers;

	if (!g || (set->is_on && g->n) || g->nevents > g->nprints)	/* no mark comes while tracing is off */
		return g != NULL;
	return trigger_count(g, 2 * ON) || trigger_count(g, 2 * ON + 1) || trigger_switches_any(in);
}

int trigger_has_functions(const struct instance *in)
{
	return in->triggers && in->triggers->n;
}

/* Does the command need the stack of the function? */
static int wants_stack(const struct trigger *v)
{
	return action_of(v->kind) == STACK && trigger_may_act(v);
}

int trigger_has_stacks(const struct instance *in)
{
	return in->triggers && (trigger_count(in->triggers, 2 * STACK) || trigger_count(in->triggers, 2 * STACK + 1));
}

int trigger_put_words(const struct instance *in, const char *before, int of_stacks, struct tree_text *words)
{
	const struct triggers *g = in->triggers;

	for (size_t i = 0; g && i < g->n; i++)
		if (!of_stacks || wants_stack(&g->v[i]))
			text_printf(words, "%s%s\n", before, g->v[i].func);
	text_put(words, "", 1);
	return words->error;
}

void trigger_mute(const struct instance *in, int on)
{
	if (in->triggers)
		uft_live_mute(in->triggers->tap, on);
}

void trigger_switched(struct instance *in, int is_on)
{
	struct triggers *g = in->triggers;
	uint64_t now = uft_live_clock(in->live);

	if (g && g->is_on == is_on)
		return;
	if (is_on)
		uft_live_show(in->live, now);
	else if (g)
		uft_live_hide(in->live, now);
	if (g) {
		g->is_on = is_on;
		g->since = now;
	}
}

/* ---- Events as they come --------------------------------------------------------------------- */

/* Names of two objects' functions that are the same are shown as name@object. */
static struct trigger *find_sym(const struct triggers *g, const struct uft_sym *sym)
{
	size_t n = strlen(sym->name), end = strlen(sym->object) + 1;
	struct trigger *v = first_of(g, sym->raw ? sym->raw : sym->name);
	char name[WORD_MAX];

	if (v || n <= end || sym->name[n - end] != '@' || strcmp(sym->name + n - end + 1, sym->object) ||
	    n - end >= sizeof(name))
		return v;
	memcpy(name, sym->name, n - end);
	name[n - end] = '\0';
	return first_of(g, name);
}

/* The first command of the function @sym, remembered by its index. */
static struct trigger *of_sym(struct triggers *g, const struct uft_sym *sym)
{
	struct trigger *v;

	if (array_reach(g->known, g->nknown, sym->index))
		return find_sym(g, sym);
	if (!g->known[sym->index]) {
		v = find_sym(g, sym);
		g->known[sym->index] = v ? (uint32_t)(v - g->v) + 2 : 1;
	}
	return g->known[sym->index] > 1 ? &g->v[g->known[sym->index] - 2] : NULL;
}

/*
 * Notes a due command. Of several snapshots in a row only the last two stay: the last one shows the records since the
 * one before. Returns 0: no room; the number of dumps is bounded since each prints text.
 */
static int put_due(struct instance *in, enum action action, uint32_t cpu, uint64_t clock)
{
	struct triggers *g = in->triggers;
	size_t n = g->ndue;

	if (n > 1 && action == SNAPSHOT && g->due[n - 1].action == SNAPSHOT && g->due[n - 2].action == SNAPSHOT) {
		g->due[n - 2] = g->due[n - 1];
		n--;
	}
	if (n == MAX_DUE) {
		if (!g->is_told && in->t->opts.warning)
			in->t->opts.warning(in->t->opts.arg, TOO_MANY_DUE);
		g->is_told = 1;
		return 0;
	}
	g->due[n] = (struct due){ action, cpu, clock };
	g->ndue = n + 1;
	return 1;
}

static void spend(struct trigger *v)
{
	if (v->ration && !trigger_is_endless(v))
		v->ration->left--;
}

/* Runs a command. One without an effect, or without room in the round, does not use up its count. */
int trigger_act(struct instance *in, unsigned kind, uint32_t cpu, uint64_t clock)
{
	struct triggers *g = in->triggers;
	enum action action = action_of(kind);

	if (action >= ENABLE)
		return trigger_act_event(g, kind);
	if (action == STACK)		/* the stack follows the call, as an event of its own */
		return 0;
	if (g->is_on == (action == ON))
		return 0;
	if (action != OFF && action != ON && !put_due(in, action, cpu, clock) /* GUARD(command_put, 0) */)
		return 0;
	if (action != SNAPSHOT)
		g->is_on = action == ON;
	if (action == ON)
		uft_live_show(in->live, clock);
	else if (action != SNAPSHOT)
		uft_live_hide(in->live, clock);
	return 1;
}

/* A recorded stack is shown for all triggers that want it. */
static void look_at_stack(struct instance *in, const struct uft_event *e, uint64_t clock)
{
	struct triggers *g = in->triggers;
	int is_shown = 0;

	for (struct trigger *v = g->is_on ? of_sym(g, e->sym) : NULL; v; v = next_of(g, v)) {
		if (!wants_stack(v))
			continue;
		is_shown = 1;
		spend(v);
		g->is_spent |= v->ration && !v->ration->left;
	}
	if (is_shown)
		uft_live_show_one(in->live, clock);
}

static void look(void *arg, const struct uft_event *e, uint64_t clock)
{
	struct instance *in = arg;
	struct triggers *g = in->triggers;

	if (clock <= g->begun)
		return;
	trigger_catch_up(g, clock);
	if (e->kind == UFT_EV_MARK && !(e->flags & UFT_EVF_RAW)) {
		event_trigger_look_at_mark(in, e, clock);
		return;
	}
	if (e->kind == UFT_EV_DATA && UFT_EVENT_IS_NAMED(e->data)) {
		trigger_look_at_event(in, e, clock);
		event_trigger_look(in, e, clock);
		return;
	}
	if (e->kind == UFT_EV_DATA && e->data == UFT_EVENT_STACK && e->flags & UFT_EVF_TRACEPOINT) {
		event_trigger_look_at_stack(in, e, clock);
		return;
	}
	if (e->kind == UFT_EV_DATA && e->data == UFT_EVENT_STACK && e->sym) {
		if (clock > g->since)
			look_at_stack(in, e, clock);
		return;
	}
	if ((e->kind != UFT_EV_FUNC && e->kind != UFT_EV_ENTRY && !(e->flags & UFT_EVF_CALL)) || !e->sym)
		return;
	/* a record that another instance has of the same call */
	if ((e->kind == UFT_EV_FUNC) == (in->set.tracer == UFT_TRACER_GRAPH))
		return;
	for (struct trigger *v = of_sym(g, e->sym); v; v = next_of(g, v))
		if (trigger_may_act(v) && (clock > g->since || action_of(v->kind) >= ENABLE) &&
		    trigger_act(in, v->kind, e->cpu, clock))
			spend(v);
}

static void do_due(struct instance *in)
{
	struct due due[MAX_DUE];
	size_t n = in->triggers->ndue;

	memcpy(due, in->triggers->due, n * sizeof(due[0]));
	in->triggers->ndue = 0;
	for (size_t i = 0; i < n; i++)
		if (due[i].action == SNAPSHOT)
			snapshot_take(in, due[i].clock);
		else
			dump_take(in, due[i].action == CPUDUMP ? due[i].cpu : UFT_LIVE_ALL, due[i].clock);
}

void trigger_round(struct uft_tree *t)
{
	if (t->in_round)
		return;
	t->in_round = 1;
	for (struct instance *in = t->instances; in; in = in->next) {
		struct settings set = in->set;

		if (!in->triggers)
			continue;
		in->triggers->has_collected = 0;
		uft_live_watch(in->triggers->tap, in->live, look, in);
		event_fork_forget(in, uft_live_certain(in->triggers->tap));
		set.is_on = in->triggers->is_on;
		if (set.is_on != in->set.is_on && !tree_apply(in, &set, NULL))
			handle_wake_all(t);
		else if (in->triggers->is_spent)
			tree_apply(in, &set, NULL);
		in->triggers->is_spent = 0;
		do_due(in);
	}
	t->in_round = 0;
}
