/* SPDX-License-Identifier: MIT */
/* event_trigger.h - triggers of events: what event_trigger.c and event_trigger_word.c (their grammar) share */
#ifndef UFT_TREE_EVENT_TRIGGER_H
#define UFT_TREE_EVENT_TRIGGER_H

#include "hist/hist.h"
#include "program/hist_row.h"
#include "symbol/event_filter.h"
#include "tree/triggers/trigger_internal.h"

enum event_action {
	EVT_OFF, EVT_ON, EVT_STACK, EVT_SNAPSHOT, EVT_GRAPH, EVT_GRAPH_STOP, EVT_ENABLE, EVT_DISABLE, EVT_ENABLE_HIST,
	EVT_DISABLE_HIST, EVT_HIST,
	EVT_NACTIONS
};
extern const char *const event_trigger_word[EVT_NACTIONS];

struct event_trigger {
	struct event_trigger *next;	/* of the same event */
	uint32_t event, target;		/* places of types; target: of ENABLE and those behind it */
	enum event_action action;
	int has_count, is_paused;
	uint64_t left;
	uint32_t key;			/* of the count, where targets keep it: EVT_GRAPH, EVT_GRAPH_STOP */
	char *filter;			/* its text; NULL: none */
	struct uft_program *program;
	struct uft_hist *hist;
	/* event_hist.c: */
	struct uft_hist_row row; int has_row;	/* by which targets can count it */
	uint64_t since;			/* the earliest time targets can count: CLOCK_MONOTONIC in ns */
	int is_withdrawn;		/* it is about to be paused: targets must not count */
	uint64_t **seen; uint32_t nseen;	/* by slice: the added count of each element; NULL: none */
	/*
	 * records that the tap lost while the trigger was active; the tap's count of lost records when it
	 * became active
	 */
	uint64_t lost, lost_before;
};

/* Fills *out of c->text. 0, or negative errno with c->errors or c->filter_error. */
int event_trigger_parse(struct instance *in, struct event_command *c, struct event_trigger **out);
int event_trigger_set_filter(struct event_trigger *v, const struct uft_event_type *type, const char *text,
			     struct event_command *c);
void event_trigger_free(struct event_trigger *v);
int event_trigger_needs_stack(const struct event_trigger *v);	/* of its event */
struct event_trigger *event_trigger_first(const struct triggers *g, uint32_t event);
struct uft_hist_set *event_trigger_hists(struct instance *in);

/* ---- event_hist.c ---- */
/* of a new histogram: a map in each slice, where targets can count it */
void event_hist_place(struct instance *in, struct event_trigger *v);
/* by targets, once @in has @set */
int event_hist_is_counted(const struct instance *in, const struct settings *set, const struct event_trigger *v);
void event_hist_collect(struct instance *in);	/* adds what targets have counted until now */
void event_hist_free(struct event_trigger *v);

/* Is one of these actions for @target? */
static inline int event_trigger_has(const struct triggers *g, unsigned action, unsigned other, uint32_t target)
{
	for (uint32_t i = 0; i < g->nof; i++)
		for (const struct event_trigger *v = g->of[i]; v; v = v->next)
			if ((v->action == action || v->action == other) && v->target == target)
				return 1;
	return 0;
}

#endif
