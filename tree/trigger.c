/* SPDX-License-Identifier: MIT */
/*
 * trigger.c - commands in set_ftrace_filter: func:traceon, traceoff, stacktrace, snapshot, dump, cpudump, with :N for so many times
 *
 * The runtime knows nothing of them. A buffer of its own, the tap, follows the instance's; each round looks at all that came,
 * in the order of time, for functions that have a command. By then more has been written: so what counts is the clock of that
 * record. The instance's buffer hides what lies between an off and the next on (stream/live_hide.c), and its text is exact, as if
 * the function itself had done it; tracing_on, which is a round late, ends the recording. While an on is waited for, targets
 * go on writing. A snapshot and a dump are due when all that came has been looked at: they take what lies up to that clock.
 * A dump ends the recording and takes what it prints out of the buffer, as the kernel's does. A round has room for some that are due;
 * those beyond it are not done and not counted, recording goes on, what they would have printed is in the next, and a warning says so.
 *
 * The runtime records the stack of each call of a function with stacktrace (struct uft_trace_spec.stack_of); the buffer shows those that the
 * command had done when they are looked at (stream/live_choose.c), also when it is taken out later. With the tracer nop it shows nothing else.
 *
 * While tracing is off only what comes with a waiting traceon is seen: a snapshot would lose what the one before it holds.
 *
 * A function with a command is traced for it, also if set_ftrace_filter names others or set_ftrace_notrace names it: then its
 * calls are in the trace, unlike in the kernel. With the tracer nop the instance's buffer is muted but for stacks, and only the tap takes.
 *
 * Each name has its own count, as in the kernel, and one entry for each command with and without a count. They are found by a hash
 * of the names, so that a command for 100,000 functions is one look each. All is the owner's.
 */
#include "tree/rows.h"
#include "tree/word.h"

#include "control/inspect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TAP_BYTES	(16u << 20)	/* a round's worth */
#define MAX_DUE		16
#define TOO_MANY_DUE	"Functions with snapshot, dump or cpudump came too fast: of 16 that are due at once others are left out, and do not count"

enum action { OFF, ON, STACK, SNAPSHOT, DUMP, CPUDUMP, NACTIONS };
static const char *const action_name[NACTIONS] = { "traceoff", "traceon", "stacktrace", "snapshot", "dump", "cpudump" };

#define NKINDS		(2 * NACTIONS)	/* of each one without and one with a count */
#define ACTION(kind)	((enum action)((kind) / 2))
#define IS_COUNT(kind)	((kind) & 1)

/* @more: the next of the same function, + 1; 0 none. */
struct trigger { char *func; unsigned kind; uint32_t more; uint64_t left; };

struct due { enum action action; uint32_t cpu; uint64_t clock; };

struct triggers {
	struct trigger *v;
	size_t n, cap;
	uint32_t *slot; size_t mask;	/* by the hash of a name: its first trigger, + 1; 0 none */
	size_t count[NKINDS];		/* of v */
	uint64_t age[NKINDS], ages;	/* when a kind was there first: the newest is listed first */
	struct uft_live *tap;
	uint32_t *known; size_t nknown;	/* by uft_sym.index of the tap: the first trigger of that name, + 2; 0 not looked for, 1 none */
	int is_on;			/* as of the last record that was looked at */
	uint64_t since;			/* when the user said so last: what was recorded before that changes nothing any more */
	struct due due[MAX_DUE]; size_t ndue;
	int is_told;			/* that there were more */
	int is_spent;			/* a stacktrace has no count left: its stacks need not be recorded any more */
};

struct command {
	char glob[WORD_MAX];
	unsigned kind;
	int is_not;
	uint64_t count;
	const char *wrong; size_t wrong_at;	/* -EINVAL: what, and where in the word */
};

/* ---- What a word says ------------------------------------------------------------------------ */

static int is_word(const char *p, size_t n, const char *word)
{
	return strlen(word) == n && !memcmp(p, word, n);
}

static int find_action(const char *p, size_t n, enum action *out)
{
	for (int i = 0; i < NACTIONS; i++)
		if (is_word(p, n, action_name[i])) {
			*out = i;
			return 1;
		}
	return 0;
}

static int refuse(struct command *c, const char *why, size_t at)
{
	c->wrong = why;
	c->wrong_at = at;
	return -EINVAL;
}

/* func:enable_event:SYSTEM:EVENT. Functions switch none yet. */
static int refuse_event(struct command *c, const char *word, const char *arg)
{
	const char *event = arg ? strchr(arg, ':') : NULL;

	if (event && uft_event_types_named(arg, (size_t)(event - arg) + 1 + strcspn(event + 1, ":")))
		return refuse(c, "Events are switched by set_event, not by functions", (size_t)(arg - word));
	return event ? refuse(c, "Event not found", (size_t)(arg - word)) : refuse(c, "A system and an event must follow", strlen(word));
}

/* 0: not one of ours; 1: *out; -EINVAL. */
static int parse(const char *word, struct command *out)
{
	int is_not = word[0] == '!';
	const char *name = word + is_not, *colon = strchr(name, ':'), *arg;
	enum action action = OFF;
	size_t n = colon ? strcspn(colon + 1, ":") : 0;
	int is_event = colon && (is_word(colon + 1, n, "enable_event") || is_word(colon + 1, n, "disable_event"));

	if (!colon || (!is_event && !find_action(colon + 1, n, &action)))
		return 0;
	arg = colon[1 + n] ? colon + n + 2 : NULL;
	*out = (struct command){ .kind = 2 * action + (arg != NULL), .is_not = is_not };
	if (colon == name || (size_t)(colon - name) >= sizeof(out->glob))
		return refuse(out, "A function must come before the command", (size_t)(name - word));
	memcpy(out->glob, name, (size_t)(colon - name));
	if (is_event)
		return refuse_event(out, word, arg);
	if (action == DUMP || action == CPUDUMP) {	/* the kernel's count is 1, and there is no other; nor does it look at ours */
		out->kind = 2 * action + (action == DUMP);
		out->count = 1;
	} else if (arg && !is_not && text_number(arg, strlen(arg), 0, &out->count)) {
		return refuse(out, "Invalid count", (size_t)(arg - word));
	}
	return 1;
}

int trigger_is(const char *word)
{
	struct command c;

	return parse(word, &c) != 0;
}

/* ---- The list, and where a name is in it ------------------------------------------------------ */

static size_t hash(const char *name)
{
	uint64_t h = 14695981039346656037ull;

	while (*name)
		h = (h ^ (unsigned char)*name++) * 1099511628211ull;
	return (size_t)(h ^ h >> 29);
}

/* The slot of @func: its first trigger, or empty. */
static uint32_t *slot_of(const struct triggers *g, const char *func)
{
	size_t i = hash(func) & g->mask;

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

/* Behind the others of its name. */
static void link_in(struct triggers *g, size_t i)
{
	uint32_t *at = slot_of(g, g->v[i].func);

	while (*at)
		at = &g->v[*at - 1].more;
	*at = (uint32_t)i + 1;
	g->v[i].more = 0;
	g->count[g->v[i].kind]++;
}

/* All anew, for @cap of them. */
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
	memset(g->count, 0, sizeof(g->count));
	for (size_t i = 0; i < g->n; i++)
		link_in(g, i);
	return 0;
}

static int room(struct triggers *g)
{
	size_t cap = g->cap ? 2 * g->cap : 16;
	struct trigger *grown = g->n < g->cap ? g->v : realloc(g->v, cap * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	g->v = grown;
	if (g->n < g->cap)
		return 0;
	if (link_all(g, cap))
		return -ENOMEM;
	g->cap = cap;		/* no more than the hash has room for: who looks for a name ends at a free slot */
	return 0;
}

struct adding { struct triggers *g; const struct command *c; struct uft_pattern p; };

static int add_fn(void *arg, const struct uft_function *f)
{
	struct adding *a = arg;
	struct triggers *g = a->g;

	if (!uft_pattern_match(&a->p, f->name, NULL, f->object))
		return 0;
	for (const struct trigger *v = first_of(g, f->name); v; v = next_of(g, v))
		if (v->kind == a->c->kind)
			return 0;
	if (room(g))
		return -ENOMEM;
	g->v[g->n] = (struct trigger){ .func = strdup(f->name), .kind = a->c->kind, .left = a->c->count };
	if (!g->v[g->n].func)
		return -ENOMEM;
	link_in(g, g->n++);
	return 0;
}

/* What is left of the list after it was shortened. Without memory for the hash the old one does, which is large enough. */
static void relink(struct triggers *g)
{
	memset(g->slot, 0, (g->mask + 1) * sizeof(*g->slot));
	memset(g->count, 0, sizeof(g->count));
	for (size_t i = 0; i < g->n; i++)
		link_in(g, i);
}

static void drop_last(struct triggers *g, size_t n)
{
	while (g->n > n)
		free(g->v[--g->n].func);
	if (g->slot)
		relink(g);
}

static size_t drop_matching(struct triggers *g, const struct command *c)
{
	size_t to = 0, n = g->n;

	for (size_t i = 0; i < n; i++) {
		if (g->v[i].kind == c->kind && uft_glob_match(c->glob, g->v[i].func))
			free(g->v[i].func);
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
	struct uft_live_opts lo = { .cpu_bytes = TAP_BYTES, .overwrite = 1 };
	struct triggers *g = calloc(1, sizeof(*g));

	if (!g || uft_live_follow(in->t->instances->live, &lo, &g->tap)) {
		free(g);
		return NULL;
	}
	uft_live_watched(in->live, 1);
	g->is_on = in->set.is_on;
	g->since = uft_live_clock();
	if (!g->is_on)		/* targets are about to write while an on is waited for */
		uft_live_hide(in->live, g->since);
	return g;
}

void trigger_free(struct instance *in)
{
	struct triggers *g = in->triggers;

	if (!g)
		return;
	in->triggers = NULL;
	uft_live_watched(in->live, 0);
	drop_last(g, 0);
	forget_known(g);
	uft_live_unfollow(g->tap);
	uft_live_destroy(g->tap);
	free(g->slot);
	free(g->v);
	free(g);
}

/* Somebody sees what the command does. */
static int is_useful(const struct instance *in, struct command *c)
{
	enum action action = ACTION(c->kind);

	if ((action == DUMP || action == CPUDUMP) && !in->t->opts.dump)
		return refuse(c, "Nobody would see the dump: a server in the background has no standard error", strlen(c->glob) + 1);
	return 0;
}

static int add(struct instance *in, struct command *c)
{
	struct adding a = { .c = c };
	int ret = is_useful(in, c), is_new, is_made = 0;
	size_t before;

	if (ret)
		return ret;
	if (!in->triggers && !(in->triggers = begin(in)))
		return -ENOMEM;
	a.g = in->triggers;
	is_new = !a.g->count[c->kind];
	before = a.g->n;
	ret = uft_pattern_parse(c->glob, &a.p);
	if (!ret) {
		ret = uft_session_functions(in->t->session, NULL, add_fn, &a);
		uft_pattern_free(&a.p);
	}
	if (ret >= 0)
		ret = a.g->n > before ? 0 : refuse(c, "No function that has it not yet", 0);
	if (!ret && ACTION(c->kind) == SNAPSHOT)
		ret = is_made = snapshot_allocate(in);
	if (ret >= 0)
		ret = tree_apply(in, &in->set, NULL);
	if (ret < 0)
		drop_last(a.g, before);
	if (ret < 0 && is_made > 0)
		snapshot_free(in);
	if (ret >= 0 && is_new)
		a.g->age[c->kind] = ++a.g->ages;
	forget_known(a.g);
	if (!a.g->n)
		trigger_free(in);
	return ret < 0 ? ret : 0;
}

static int take_out(struct instance *in, struct command *c)
{
	struct triggers *g = in->triggers;

	if (!g || !g->count[c->kind])
		return -ENODEV;
	if (!drop_matching(g, c))
		return refuse(c, "No function has it", 0);
	forget_known(g);
	if (!g->n)
		trigger_free(in);
	/* They are gone: who does not answer is waited for once, and told of by a warning. */
	return tree_apply(in, &in->set, NULL) ? tree_apply(in, &in->set, NULL) : 0;
}

int trigger_do(struct uft_handle *h, const char *word)
{
	struct command c = { .kind = 0 };
	int ret = parse(word, &c);

	ret = ret < 0 ? ret : c.is_not ? take_out(h->at.in, &c) : add(h->at.in, &c);
	h->wrong = c.wrong ? c.wrong : "Invalid command, or nothing that it is for";
	h->wrong_at = c.wrong_at;
	return ret;
}

void trigger_show(const struct instance *in, struct tree_text *out)
{
	const struct triggers *g = in->triggers;

	for (uint64_t age = g ? g->ages : 0; age; age--)
		for (size_t i = 0; i < g->n; i++) {
			const struct trigger *v = &g->v[i];

			if (g->age[v->kind] != age)
				continue;
			text_printf(out, "%s:%s:", v->func, action_name[ACTION(v->kind)]);
			text_printf(out, IS_COUNT(v->kind) ? "count=%llu\n" : "unlimited\n", (unsigned long long)v->left);
		}
}

/* ---- What others have to know ---------------------------------------------------------------- */

int trigger_waits(const struct instance *in, const struct settings *set)
{
	const struct triggers *g = in->triggers;

	return g && (set->is_on || g->count[2 * ON] || g->count[2 * ON + 1]);
}

int trigger_put_words(const struct instance *in, const char *before, struct tree_text *words)
{
	const struct triggers *g = in->triggers;

	for (size_t i = 0; g && i < g->n; i++)
		text_printf(words, "%s%s\n", before, g->v[i].func);
	text_put(words, "", 1);
	return words->error;
}

/* Of the function's stack? */
static int wants_stack(const struct trigger *v)
{
	return ACTION(v->kind) == STACK && (!IS_COUNT(v->kind) || v->left);
}

int trigger_has_stacks(const struct instance *in)
{
	return in->triggers && (in->triggers->count[2 * STACK] || in->triggers->count[2 * STACK + 1]);
}

int trigger_put_stack_words(const struct instance *in, struct tree_text *words)
{
	const struct triggers *g = in->triggers;

	for (size_t i = 0; g && i < g->n; i++)
		if (wants_stack(&g->v[i]))
			text_printf(words, "%s\n", g->v[i].func);
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
	uint64_t now = uft_live_clock();

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

/* ---- What came ------------------------------------------------------------------------------- */

/* Names of two objects' functions that are the same are shown as name@object. */
static struct trigger *find_sym(const struct triggers *g, const struct uft_sym *sym)
{
	size_t n = strlen(sym->name), end = strlen(sym->object) + 1;
	struct trigger *v = first_of(g, sym->name);
	char name[WORD_MAX];

	if (v || n <= end || sym->name[n - end] != '@' || strcmp(sym->name + n - end + 1, sym->object) || n - end >= sizeof(name))
		return v;
	memcpy(name, sym->name, n - end);
	name[n - end] = '\0';
	return first_of(g, name);
}

/* The first command of the function @sym, remembered by its index. */
static struct trigger *of_sym(struct triggers *g, const struct uft_sym *sym)
{
	struct trigger *v;

	if (sym->index >= g->nknown) {
		size_t n = 2 * (sym->index + 512);
		uint32_t *grown = realloc(g->known, n * sizeof(*grown));

		if (!grown)
			return find_sym(g, sym);
		memset(grown + g->nknown, 0, (n - g->nknown) * sizeof(*grown));
		g->known = grown;
		g->nknown = n;
	}
	if (!g->known[sym->index]) {
		v = find_sym(g, sym);
		g->known[sym->index] = v ? (uint32_t)(v - g->v) + 2 : 1;
	}
	return g->known[sym->index] > 1 ? &g->v[g->known[sym->index] - 2] : NULL;
}

/* Of snapshots the last counts, and from where on it shows: the one before. 0: no room; each dump is text that somebody has to read. */
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

/* One that changes nothing does not count; nor one without room, which changes nothing either. */
static int act(struct instance *in, enum action action, uint32_t cpu, uint64_t clock)
{
	struct triggers *g = in->triggers;

	if (action == STACK)		/* it comes behind the call, as an event of its own */
		return 0;
	if (g->is_on == (action == ON))
		return 0;
	if (action != OFF && action != ON && !put_due(in, action, cpu, clock))
		return 0;
	if (action != SNAPSHOT)
		g->is_on = action == ON;
	if (action == ON)
		uft_live_show(in->live, clock);
	else if (action != SNAPSHOT)
		uft_live_hide(in->live, clock);
	return 1;
}

/* Others may have other tasks recorded: a command is for those of its own instance. With function-fork all have the same, and targets know who. */
static int is_ours(const struct instance *in, const struct uft_event *e)
{
	return share_is_forking(&in->set) || pids_want(&in->set, e->task->pid, e->task->tid);
}

/* One that is recorded is shown for all that want it. */
static void look_at_stack(struct instance *in, const struct uft_event *e, uint64_t clock)
{
	struct triggers *g = in->triggers;
	int is_shown = 0;

	for (struct trigger *v = g->is_on ? of_sym(g, e->sym) : NULL; v; v = next_of(g, v)) {
		if (!wants_stack(v))
			continue;
		is_shown = 1;
		v->left -= IS_COUNT(v->kind);
		g->is_spent |= IS_COUNT(v->kind) && !v->left;
	}
	if (is_shown)
		uft_live_show_stack(in->live, clock);
}

static void look(void *arg, const struct uft_event *e, uint64_t clock)
{
	struct instance *in = arg;
	struct triggers *g = in->triggers;

	if (clock <= g->since || !is_ours(in, e))
		return;
	if (e->kind == UFT_EV_DATA && e->data == UFT_EVENT_STACK && e->sym) {
		look_at_stack(in, e, clock);
		return;
	}
	if ((e->kind != UFT_EV_FUNC && e->kind != UFT_EV_ENTRY && !(e->flags & UFT_EVF_CALL)) || !e->sym)
		return;
	if ((e->kind == UFT_EV_FUNC) == (in->set.tracer == UFT_TRACER_GRAPH))	/* another instance's of the same call */
		return;
	for (struct trigger *v = of_sym(g, e->sym); v; v = next_of(g, v))
		if ((!IS_COUNT(v->kind) || v->left) && act(in, ACTION(v->kind), e->cpu, clock))
			v->left -= IS_COUNT(v->kind);
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
		uft_live_watch(in->triggers->tap, in->live, look, in);
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
