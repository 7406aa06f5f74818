/* SPDX-License-Identifier: MIT */
/* tracers.h - what events write */
#ifndef UFT_TRACE_TRACERS_H
#define UFT_TRACE_TRACERS_H

#include "program/hist_row.h"
#include "runtime/trace/shadow/shadow.h"

/* ---- function.c ---- */
/*
 * function.c: the function tracer's event of a call that the graph or the profile is about to look at. @args:
 * as event_enter().
 */
void func_beside(struct trace_task *t, const struct uft_tracer_params *p, const struct fg_entry *e,
		 const uint64_t *args);

/* ---- graph_filter.c ---- */
/*
 * What the graph, or the profile alone, makes of the call of @e, which is to be pushed at @top: into *flags, which
 * has FG_ALT or not. Whether a signal's, as far as it is asked for: *is_handler. 0: it is not theirs.
 */
int fg_choose(const struct trace_task *t, const struct uft_tracer_params *p, const struct fg_entry *top,
	      const struct fg_entry *e, uint32_t ops, uint32_t *flags, int *is_handler);

/* ---- event.c ---- */
uint32_t event_flags(const struct uft_tracer_params *p, uint32_t ops);	/* FG_EVENT, FG_MASK or 0 */
/* Behind the ENTRY. @args: four words, NULL not known; @is_handler: the kernel made the call. */
void event_enter(struct trace_task *t, const struct uft_tracer_params *p, const struct fg_entry *e, uint32_t ops,
		 const uint64_t *args, int is_handler);
/* Before the EXIT; 0: @e is not the top any more. @result: one word, NULL not known. */
int event_leave(struct trace_task *t, struct fg_entry *e, const uint64_t *result);
/* Clock units that the call took; with FG_CPU those on a CPU. */
uint64_t event_duration(const struct trace_task *t, const struct fg_entry *e);

/* ---- tracepoint.c: from uft_asm_event_write(). @slot: of its caller's return address; @fp: that frame pointer ---- */
void tracepoint_write_slowly(uint32_t high, const uint64_t *words, uint64_t bytes, uint64_t slot, uint64_t fp);

/* ---- event_rules.c ---- */
enum hist_state { HIST_UNBACKED, HIST_BACKED, HIST_SCARCE };	/* the map's memory; SCARCE: there was none */
struct event_hist {
	struct uft_hist_row row;
	uint32_t facts;			/* enum uft_facts that have to be known */
	uint32_t state;			/* enum hist_state, in the slice of this process */
};
struct event_rules {
	struct event_rules *next;	/* of all lists */
	uint32_t nrules, bytes;		/* bytes: of list[] */
	uint32_t facts;			/* enum uft_facts that they ask for */
	/* bytes of records that the quick steps are for, with UFT_QUICK_DEEP; UINT32_MAX: there are none */
	uint32_t need;
	const struct uft_quick_step *quick;	/* behind the list: the same as one program */
	struct event_hist *hist;	/* of the rule that counts; NULL: there is none */
	uint64_t list[];		/* struct uft_event_rule, each with its program */
};
extern const struct event_rules **event_rules_table;	/* by event; NULL: none has any */
#define EVENT_RULES_THREAD	0x80000000u	/* in facts: some switch the graph of the thread */
#define EVENT_RULES_HIST	0x40000000u	/* it counts, for which the thread has to be known */
int event_rules_accept(const struct event_rules *r, const struct uft_record *record);
/* Of a list that counts (hist): 1: the record is to be written; 0: it is not wanted, or the map has it. */
int event_rules_count(const struct event_rules *r, const struct uft_record *record);
/* The thread @t fires the event: switches its graph. */
void event_rules_switch(const struct event_rules *r, const struct uft_record *record, struct trace_task *t,
			uint32_t turn);
/* Is the graph on for @th by the triggers that are in force, if it is by triggers at all? */
static inline int graph_is_on(const struct uft_thread *th, const struct uft_tracer_params *p)
{
	return !(p->has_roots & UFT_ROOTS_TRIGGER) || th->graph_turn == p->graph_turn;
}
void event_rules_forked(void);	/* init: this process has another slice than its parent */
/* Of this event; NULL: there are none, every record is written. */
static inline const struct event_rules *event_rules_of(uint32_t id)
{
	const struct event_rules **table = uft_load_acquire(&event_rules_table);
	uint32_t i = id - UFT_EVENT_FREE;

	return table && i < UFT_EVENT_RULES_IDS ? uft_load_acquire(&table[i]) : NULL;
}

/* ---- stack.c ---- */
/* A stack of the function @id, whose return address is at @slot; @fp: its caller's frame pointer. */
void stack_write(struct trace_task *t, uint32_t id, uint64_t slot, uint64_t fp);
/* @slot: of where its call returns to */
void stack_write_tracepoint(struct trace_task *t, uint64_t slot, uint64_t fp);
int stack_is_wanted(const struct uft_tracer_params *p, uint32_t id);	/* of this function */
/* The same, but kept only if the stack is deeper than any before in this process (uft_slice.stack). */
void stack_measure(struct trace_task *t, uint32_t id, uint64_t slot, uint64_t fp);

/* ---- profile.c ---- */
void profile_hit(const struct trace_task *t, uint32_t id);		/* a call begins */
/* it returns; to @caller, if that is known */
void profile_exit(struct trace_task *t, const struct fg_entry *e, struct fg_entry *caller);
/* Is it counted? @ops: enum uft_action_ops. */
static inline int profile_is_wanted(const struct uft_tracer_params *p, uint32_t ops)
{
	return p->tracer == UFT_TRACER_PROFILE || (p->has_events & UFT_EVENTS_PROFILE && ops & UFT_ACT_PROFILE);
}

#endif
