/* SPDX-License-Identifier: MIT */
/*
 * trigger_internal.h - shared by trigger.c (the list, and new records), trigger_word.c (words) and trigger_event.c
 * (events by name)
 */
#ifndef UFT_TREE_TRIGGER_INTERNAL_H
#define UFT_TREE_TRIGGER_INTERNAL_H

#include "hist/hist.h"
#include "tree/core/tree_internal.h"
#include "tree/core/function_list.h"
#include "tree/triggers/event_stack.h"

enum action { OFF, ON, STACK, SNAPSHOT, DUMP, CPUDUMP, ENABLE, DISABLE, NACTIONS };

/* A command without a count, and with one; those of events are each for one type. */
#define NVERBS		(2 * NACTIONS)
#define IS_COUNT(kind)	((kind) & 1)

static inline unsigned kind_of(enum action action, uint32_t event, int has_count)
{
	unsigned of_event = 2 * ENABLE + 4 * event + 2 * (action == DISABLE);

	return (action >= ENABLE ? of_event : 2 * action) + (has_count != 0);
}

static inline enum action action_of(unsigned kind)
{
	return kind < 2 * ENABLE ? (enum action)(kind / 2) : kind & 2 ? DISABLE : ENABLE;
}

/* The place of the event type, of a kind that has one. */
static inline uint32_t event_of(unsigned kind)
{
	return (kind - 2 * ENABLE) / 4;
}

static inline unsigned verb_of(unsigned kind)
{
	return 2 * action_of(kind) + IS_COUNT(kind);
}

/*
 * How often a command acts. Functions that one write gave a command of an event have one count for all, as in
 * the kernel.
 */
struct ration { uint64_t left; size_t refs; };

/* @more: the next of the same function, + 1; 0 none. @ration: of a kind without a count NULL. */
struct trigger { char *func; unsigned kind; uint32_t more; struct ration *ration; };

/* As in the kernel a count of -1 of a command that switches an event stays. */
static inline int trigger_is_endless(const struct trigger *v)
{
	return v->ration && action_of(v->kind) >= ENABLE && v->ration->left == UINT64_MAX;
}

/* With a count below 0 only stacktrace acts, and what switches an event. */
static inline int trigger_may_act(const struct trigger *v)
{
	int is_signed = action_of(v->kind) != STACK && action_of(v->kind) < ENABLE;

	return !v->ration || (is_signed ? (int64_t)v->ration->left > 0 : v->ration->left != 0);
}

#define MAX_DUE		16
struct due { enum action action; uint32_t cpu; uint64_t clock; };

/* A user's switch of an event at a clock. */
struct said { uint64_t clock; uint32_t event; int is_on; };

struct triggers {
	struct trigger *v;
	size_t n, cap;
	uint32_t *slot; size_t mask;	/* by the hash of a name: its first trigger, + 1; 0 none */
	size_t *count; uint32_t nkinds;	/* of v, by kind: trigger_count() */
	uint64_t age[NVERBS], ages;	/* when a verb was there first: the newest is listed first */
	struct uft_live *tap;
	/* by uft_sym.index of the tap: the first trigger of that name, + 2; 0 not looked for, 1 none */
	uint32_t *known; size_t nknown;
	int is_on;			/* as of the last record that was looked at */
	uint64_t begun;			/* records of before this clock have no effect */
	/* when the user wrote tracing_on last: records of before do not change it */
	uint64_t since;
	struct due due[MAX_DUE]; size_t ndue;
	int is_told;			/* the warning about more due commands was given */
	int is_kept;			/* also with nothing in it: options/event-fork */
	int is_spent;			/* a stacktrace has no count left, so its stacks need not be recorded */
	struct uft_event_set events;	/* trigger_event.c: which are on, as is_on */
	struct said *said; size_t nsaid, cap_said;	/* behind that, the oldest first */
	/* event_trigger.c: */
	struct event_trigger **of; uint32_t nof;	/* by the type's index + 1: the first trigger of an event */
	uint32_t nevents;		/* triggers of events, */
	uint32_t nprints;		/* how many of them are those of marks, */
	uint8_t *print; size_t cap_print;	/* the payload of the mark that is looked at */
	uint32_t nstacks;		/* and how many of them need the stack */
	struct event_stacks held;
	uint32_t ngraphs;		/* triggers that switch the graph on, */
	uint32_t graph_turn;		/* the number of these (struct uft_ops), */
	uint8_t *graph_of; uint32_t ngraph_of;	/* and by uft_task.index: is its graph on? */
	struct uft_hist_set *hists;	/* NULL: there was none */
	int has_collected;		/* in this round: the maps of targets */
	struct uft_resolver *names;
	const struct uft_event *now; uint64_t now_clock;	/* the event that is looked at */
};

static inline size_t trigger_count(const struct triggers *g, unsigned kind)
{
	return kind < g->nkinds ? g->count[kind] : 0;
}

struct command {
	char glob[WORD_MAX];
	unsigned kind;
	int is_not;
	uint64_t count;
	const char *wrong; size_t wrong_at;	/* -EINVAL: what, and where in the word */
};

/* trigger.c */
int trigger_begin(struct instance *in);		/* in->triggers is there; 0, -ENOMEM */
void trigger_end(struct instance *in);		/* frees in->triggers if it is empty */
int trigger_act(struct instance *in, unsigned kind, uint32_t cpu, uint64_t clock);	/* 1: it changed something */

/* event_trigger.c */
int event_trigger_switches(const struct triggers *g, uint32_t event);	/* one switches that event */
void event_trigger_look(struct instance *in, const struct uft_event *e, uint64_t clock);
/* Takes the stack of an event that was held before. */
void event_trigger_look_at_stack(struct instance *in, const struct uft_event *e, uint64_t clock);
void event_trigger_look_at_mark(struct instance *in, const struct uft_event *e, uint64_t clock);
void event_triggers_free(struct triggers *g);

/* trigger_word.c. 0: not one of ours; 1: *out; -EINVAL, -ERANGE. */
int trigger_parse(const struct uft_event_table *types, const char *word, struct command *out);
int trigger_refuse(struct command *c, const char *why, size_t at);
void trigger_show_one(const struct uft_event_table *types, const struct trigger *v, struct tree_text *out);

/* trigger_event.c */
int trigger_act_event(struct triggers *g, unsigned kind);		/* 1: it changed something */
void trigger_look_at_event(struct instance *in, const struct uft_event *e, uint64_t clock);
void trigger_catch_up(struct triggers *g, uint64_t clock);		/* applies the user's switches up to @clock */
/* some types of @before are no longer switched by a function; @before is changed */
void trigger_settle(struct instance *in, struct uft_event_set *before);

#endif
