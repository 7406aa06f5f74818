/* SPDX-License-Identifier: MIT */
/*
 * trigger.c - commands in set_ftrace_filter: func:traceon, func:traceoff, with :N for so many times
 *
 * The runtime knows nothing of them. A buffer of its own, the tap, follows the instance's; each round looks at all that came,
 * in the order of time, for functions that have a command. By then more has been written: so what counts is the clock of that
 * record. The instance's buffer hides what lies between an off and the next on (stream/live_hide.c), and its text is exact, as if
 * the function itself had done it; tracing_on, which is a round late, ends the recording. While an on is waited for, targets
 * go on writing.
 *
 * A function with a command is traced for it, also if set_ftrace_filter names others or set_ftrace_notrace names it: then its
 * calls are in the trace, unlike in the kernel. With the tracer nop the instance's buffer is muted, and only the tap takes.
 *
 * Each name has its own count, as in the kernel, and one entry for each command with and without a count. All is the owner's.
 */
#include "tree/rows.h"
#include "tree/word.h"

#include "control/inspect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TAP_BYTES	(16u << 20)	/* a round's worth */

enum kind { OFF, OFF_COUNT, ON, ON_COUNT, NKINDS };
#define IS_ON(kind)	((kind) >= ON)
#define IS_COUNT(kind)	((kind) & 1)

struct trigger { char *func; enum kind kind; uint64_t left; };

struct triggers {
	struct trigger *v;
	size_t n;
	uint64_t age[NKINDS], ages;	/* when a kind was there first: the newest is listed first */
	struct uft_live *tap;
	uint8_t *known; size_t nknown;	/* by uft_sym.index of the tap: 0 not yet, 1 has none, 2 has some */
	int is_on;			/* as of the last record that was looked at */
	uint64_t since;			/* when the user said so last: what was recorded before that changes nothing any more */
};

struct command { char glob[WORD_MAX]; enum kind kind; int is_not; uint64_t count; };

/* ---- What a word says ------------------------------------------------------------------------ */

/* 0: not one of ours; 1: *out; -EINVAL. */
static int parse(const char *word, struct command *out)
{
	int is_not = word[0] == '!', is_on;
	const char *name = word + is_not, *colon = strchr(name, ':'), *arg;
	size_t n;

	if (!colon)
		return 0;
	n = strcspn(colon + 1, ":");
	is_on = n == 7 && !memcmp(colon + 1, "traceon", n);
	if (!is_on && (n != 8 || memcmp(colon + 1, "traceoff", n)))
		return 0;
	arg = colon[1 + n] ? colon + n + 2 : NULL;
	*out = (struct command){ .kind = (is_on ? ON : OFF) + (arg != NULL), .is_not = is_not };
	if (colon == name || (size_t)(colon - name) >= sizeof(out->glob))
		return -EINVAL;
	memcpy(out->glob, name, (size_t)(colon - name));
	return arg && !is_not && text_number(arg, strlen(arg), 0, &out->count) ? -EINVAL : 1;
}

int trigger_is(const char *word)
{
	struct command c;

	return parse(word, &c) != 0;
}

/* ---- The list -------------------------------------------------------------------------------- */

static struct trigger *find(const struct triggers *g, const char *func, enum kind kind)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->v[i].kind == kind && !strcmp(g->v[i].func, func))
			return &g->v[i];
	return NULL;
}

static int has_kind(const struct triggers *g, enum kind kind)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->v[i].kind == kind)
			return 1;
	return 0;
}

struct adding { struct triggers *g; const struct command *c; size_t n; struct uft_pattern p; };

static int add_fn(void *arg, const struct uft_function *f)
{
	struct adding *a = arg;
	struct triggers *g = a->g;
	struct trigger *grown;

	if (!uft_pattern_match(&a->p, f->name, NULL, f->object) || find(g, f->name, a->c->kind))
		return 0;
	grown = realloc(g->v, (g->n + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	g->v = grown;
	g->v[g->n] = (struct trigger){ strdup(f->name), a->c->kind, a->c->count };
	if (!g->v[g->n].func)
		return -ENOMEM;
	g->n++;
	a->n++;
	return 0;
}

static void drop_last(struct triggers *g, size_t n)
{
	while (n--)
		free(g->v[--g->n].func);
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
	drop_last(g, g->n);
	forget_known(g);
	uft_live_unfollow(g->tap);
	uft_live_destroy(g->tap);
	free(g->v);
	free(g);
}

static int add(struct instance *in, const struct command *c)
{
	struct adding a = { .c = c };
	int ret, is_new;

	if (!in->triggers && !(in->triggers = begin(in)))
		return -ENOMEM;
	a.g = in->triggers;
	is_new = !has_kind(a.g, c->kind);
	ret = uft_pattern_parse(c->glob, &a.p);
	if (!ret) {
		ret = uft_session_functions(in->t->session, NULL, add_fn, &a);
		uft_pattern_free(&a.p);
	}
	if (ret >= 0)
		ret = a.n ? tree_apply(in, &in->set, NULL) : -EINVAL;
	if (ret < 0)
		drop_last(a.g, a.n);
	else if (is_new)
		a.g->age[c->kind] = ++a.g->ages;
	forget_known(a.g);
	if (!a.g->n)
		trigger_free(in);
	return ret < 0 ? ret : 0;
}

static int take_out(struct instance *in, const struct command *c)
{
	struct triggers *g = in->triggers;

	if (!g || !has_kind(g, c->kind))
		return -ENODEV;
	if (!drop_matching(g, c))
		return -EINVAL;
	forget_known(g);
	if (!g->n)
		trigger_free(in);
	return tree_apply(in, &in->set, NULL);
}

int trigger_do(struct instance *in, const char *word)
{
	struct command c;
	int ret = parse(word, &c);

	return ret < 0 ? ret : c.is_not ? take_out(in, &c) : add(in, &c);
}

void trigger_show(const struct instance *in, struct tree_text *out)
{
	const struct triggers *g = in->triggers;

	for (uint64_t age = g ? g->ages : 0; age; age--)
		for (size_t i = 0; i < g->n; i++) {
			const struct trigger *v = &g->v[i];

			if (g->age[v->kind] != age)
				continue;
			text_printf(out, "%s:%s:", v->func, IS_ON(v->kind) ? "traceon" : "traceoff");
			text_printf(out, IS_COUNT(v->kind) ? "count=%llu\n" : "unlimited\n", (unsigned long long)v->left);
		}
}

/* ---- What others have to know ---------------------------------------------------------------- */

int trigger_waits(const struct instance *in, const struct settings *set)
{
	const struct triggers *g = in->triggers;

	return g && (set->is_on || has_kind(g, ON) || has_kind(g, ON_COUNT));
}

int trigger_put_words(const struct instance *in, const char *before, struct tree_text *words)
{
	const struct triggers *g = in->triggers;

	for (size_t i = 0; g && i < g->n; i++)
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

static int is_known_without(struct triggers *g, const struct uft_sym *sym)
{
	if (sym->index >= g->nknown) {
		size_t n = 2 * (sym->index + 512);
		uint8_t *grown = realloc(g->known, n);

		if (!grown)
			return 0;
		memset(grown + g->nknown, 0, n - g->nknown);
		g->known = grown;
		g->nknown = n;
	}
	for (size_t i = 0; i < g->n && !g->known[sym->index]; i++)
		if (!strcmp(g->v[i].func, sym->name))
			g->known[sym->index] = 2;
	if (!g->known[sym->index])
		g->known[sym->index] = 1;
	return g->known[sym->index] == 1;
}

/* A command that changes nothing does not count. */
static void look(void *arg, const struct uft_event *e, uint64_t clock)
{
	struct instance *in = arg;
	struct triggers *g = in->triggers;

	if (clock <= g->since)
		return;
	if ((e->kind != UFT_EV_FUNC && e->kind != UFT_EV_ENTRY && !(e->flags & UFT_EVF_CALL)) || !e->sym || is_known_without(g, e->sym))
		return;
	for (size_t i = 0; i < g->n; i++) {
		struct trigger *v = &g->v[i];

		if (g->is_on == IS_ON(v->kind) || (IS_COUNT(v->kind) && !v->left) || strcmp(v->func, e->sym->name))
			continue;
		g->is_on = IS_ON(v->kind);
		v->left -= IS_COUNT(v->kind);
		if (g->is_on)
			uft_live_show(in->live, clock);
		else
			uft_live_hide(in->live, clock);
	}
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
	}
	t->in_round = 0;
}
