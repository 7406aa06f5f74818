/* SPDX-License-Identifier: MIT */
/* tracers.h - events of the tracers */
#ifndef UFT_TRACE_TRACERS_H
#define UFT_TRACE_TRACERS_H

#include "program/hist_row.h"
#include "runtime/trace/shadow/shadow.h"

/* ---- function.c ---- */
/*
 * function.c: writes the function tracer's event of a call that the graph or the profile is about to handle. @args: as
 * event_enter().
 */
void func_beside(struct trace_task *t, const struct uft_tracer_params *p, const struct fg_entry *e,
		 const uint64_t *args);

/* ---- graph_filter.c ---- */
/*
 * Decides how the graph, or the profile alone, handles the call of @e, which is to be pushed at @top: sets *flags,
 * which comes in with FG_ALT or without. *is_handler: is it a signal handler's call, if the parameters ask for that? 0:
 * neither wants the call.
 */
int fg_choose(const struct trace_task *t, const struct uft_tracer_params *p, const struct fg_entry *top,
	      const struct fg_entry *e, uint32_t ops, uint32_t *flags, int *is_handler);

/* ---- event.c ---- */
uint32_t event_flags(const struct uft_tracer_params *p, uint32_t ops);	/* FG_EVENT, FG_MASK or 0 */
/* Writes behind the ENTRY. @args: four words, NULL: not known; @is_handler: the kernel made the call. */
void event_enter(struct trace_task *t, const struct uft_tracer_params *p, const struct fg_entry *e, uint32_t ops,
		 const uint64_t *args, int is_handler);
/* Writes before the EXIT; 0: @e is not the top any more. @result: one word, NULL: not known. */
int event_leave(struct trace_task *t, struct fg_entry *e, const uint64_t *result);
/* Clock units that the call took; with FG_CPU only those on a CPU. */
uint64_t event_duration(const struct trace_task *t, const struct fg_entry *e);

/* ---- tracepoint.c: called by uft_asm_event_write(). @slot, @fp: its caller's return address and frame pointer ---- */
void tracepoint_write_slowly(uint32_t high, const uint64_t *words, uint64_t bytes, uint64_t slot, uint64_t fp);

/* ---- event_rules.c ---- */
enum hist_state { HIST_UNBACKED, HIST_BACKED, HIST_SCARCE };	/* the map's memory; SCARCE: the last request failed */
struct event_hist {
	struct uft_hist_row row;
	uint32_t facts;			/* enum uft_facts that have to be known */
	uint32_t state;			/* enum hist_state, in the slice of this process */
};
struct event_rules {
	struct event_rules *next;	/* in the list of all lists */
	uint32_t nrules, bytes;		/* bytes: of list[] */
	uint32_t facts;			/* enum uft_facts that the rules need */
	/* bytes of a record that the quick steps need, with UFT_QUICK_DEEP; UINT32_MAX: there are no quick steps */
	uint32_t need;
	const struct uft_quick_step *quick;	/* behind the list: the same rules as one program */
	/* A question that comes first, and may reject alone: tracepoint.c asks it before all others. */
	uint32_t first;			/* enum event_rules_first */
	/*
	 * RULES_TEXT: arguments of quick_is_text() for records of text_need bytes at least, and its answer
	 * that rejects
	 */
	uint32_t text_need, text_at, text_shift, text_bytes;
	int text_rejects;
	const uint8_t *text;
	uint64_t rejected;		/* RULES_ASKED(number of this list, UFT_STEP_REJECT) */
	struct event_hist *hist;	/* of the rule that counts; NULL: none */
	uint64_t list[];		/* struct uft_event_rule, each with its program */
};
enum event_rules_first { RULES_ANY, RULES_THREAD, RULES_TEXT };
/* What a list, by its number, says of a thread: the step from which it has to be run for each record. */
#define RULES_ASKED(number, step)	((uint64_t)(number) << 32 | (step))
extern const struct event_rules **event_rules_table;	/* by event; NULL: no event has rules */
#define EVENT_RULES_THREAD	0x80000000u	/* in facts: some rules switch the graph of the thread */
#define EVENT_RULES_HIST	0x40000000u	/* in facts: the rule counts, so the thread has to be known */
int event_rules_accept(const struct event_rules *r, const struct uft_record *record);
/* For a list that counts (hist). 1: the record is to be written; 0: it is not wanted, or the map has counted it. */
int event_rules_count(const struct event_rules *r, const struct uft_record *record);
/* The thread @t fires the event: switches its graph. */
void event_rules_switch(const struct event_rules *r, const struct uft_record *record, struct trace_task *t,
			uint32_t turn);
/* If triggers switch the graph: have those in force switched it on for @th? */
static inline int graph_is_on(const struct uft_thread *th, const struct uft_tracer_params *p)
{
	return !(p->has_roots & UFT_ROOTS_TRIGGER) || th->graph_turn == p->graph_turn;
}
void event_rules_forked(void);	/* init: this process has another slice than its parent */
/* The rules of an event; NULL: none, so every record is written. */
static inline const struct event_rules *event_rules_of(uint32_t id)
{
	const struct event_rules **table = uft_load_acquire(&event_rules_table);
	uint32_t i = id - UFT_EVENT_FREE;

	return table && i < UFT_EVENT_RULES_IDS ? uft_load_acquire(&table[i]) : NULL;
}

/* ---- stack.c ---- */
/* Writes a stack of the function @id, whose return address is at @slot; @fp: its caller's frame pointer. */
void stack_write(struct trace_task *t, uint32_t id, uint64_t slot, uint64_t fp);
/* @slot: of the tracepoint's call */
void stack_write_tracepoint(struct trace_task *t, uint64_t slot, uint64_t fp);
int stack_is_wanted(const struct uft_tracer_params *p, uint32_t id);	/* for this function */
/* The same, but kept only if the stack is deeper than every one before in this process (uft_slice.stack). */
void stack_measure(struct trace_task *t, uint32_t id, uint64_t slot, uint64_t fp);

/* ---- profile.c ---- */
void profile_hit(const struct trace_task *t, uint32_t id);		/* a call begins */
/* the call returns; to @caller, if that is known */
void profile_exit(struct trace_task *t, const struct fg_entry *e, struct fg_entry *caller);
/* Does the profile count the call? @ops: enum uft_action_ops. */
static inline int profile_is_wanted(const struct uft_tracer_params *p, uint32_t ops)
{
	return p->tracer == UFT_TRACER_PROFILE || (p->has_events & UFT_EVENTS_PROFILE && ops & UFT_ACT_PROFILE);
}

#endif
