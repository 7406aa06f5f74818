/* SPDX-License-Identifier: MIT */
/*
 * select.h - which events a reader gets: its own selection, and the choices of a live buffer
 *
 * Knows events, tasks and images, no records and no rings. Context: control, one thread for each selection.
 */
#ifndef UFT_STREAM_SELECT_H
#define UFT_STREAM_SELECT_H

#include "stream/select/shown.h"
#include "symbol/event_type.h"
#include "symbol/names.h"

struct call_view;			/* call_view.c */
struct event_view;			/* event_view.c */

struct sel_span { uint64_t from, to; };	/* clocks: events between them are hidden */
/* The kinds of events that are shown, from a clock on. */
struct sel_choice { uint64_t from; uint32_t flags; struct call_view *view; struct event_view *events; };

struct selection {
	struct uft_select asked;		/* for by the reader */
	struct uft_pattern *pattern;		/* asked.nfuncs of them */
	struct sel_events *events;		/* event_select.c: of asked.events; NULL: none were asked for */
	uint8_t *sym_match; size_t cap_match;	/* by sym->index: 0 unknown, 1 no, 2 yes */
	int is_found;				/* an event or a sum was selected */
	uint64_t first_ns;			/* of the first event, UINT64_MAX before */
	int is_past;				/* time is beyond to_ns: no more events come */
	const struct uft_image *(*image_of)(const struct uft_task *t);

	/* A live buffer's choices and spans, and the stream's own copies of them, or NULL. */
	const struct sel_span *hidden; size_t nhidden;
	const struct sel_choice *choice; size_t nchoice;
	/* clocks of single stacks and events that are shown although their kind is hidden */
	const uint64_t *single_at; size_t nsingle_at;
	struct sel_span *hidden_copy;
	struct sel_choice *choice_copy; size_t nchoice_copy;
	uint64_t *single_copy;
	/* by sym->index, for the view of that number: 0 unknown, 1 no, 2 yes */
	uint8_t *view_match; size_t cap_view_match;
	uint64_t view_number;
	/* gets all events instead of the reader */
	void (*watch)(void *arg, const struct uft_event *e, uint64_t clock);
	void *watch_arg;
};

/* select.c */
int sel_init(struct selection *s, const struct uft_select *asked, struct uft_error *err);
int sel_is_any(const struct uft_select *asked);		/* 1: it leaves out some events */
void sel_free(struct selection *s);
/* sets the time of the first event, from which selected times count */
void sel_begin(struct selection *s, uint64_t first_ns);
int sel_match(struct selection *s, const struct uft_event *ev, uint64_t clock);
/* Returns 1 if the reader may get the stack of a tracepoint's event. @is_event_kept: it got the event. */
int sel_may_want_event_stack(const struct selection *s, uint32_t is_event_kept, uint64_t clock);
/* returns the enum uft_live_hidden bit that hides the session's own event of this id */
uint32_t sel_hidden_by(uint32_t event);
int sel_wants_sum(struct selection *s, const struct uft_sym *sym);	/* sum of a function, of the tracer profile */
/* returns the choice that holds at @clock; before the first choice the first */
size_t sel_choice_of(const struct sel_choice *choice, size_t n, uint64_t clock);
/* returns the first of rising clocks that is not before @clock */
size_t sel_single_from(const uint64_t *at, size_t n, uint64_t clock);

/* event_select.c: sets the events by name that the reader asks for */
int sel_events(struct selection *s, const struct uft_event_table *types, const char *const *text, size_t n,
	       struct uft_error *err);
/* call it only if there are s->events, for an event with a type */
int sel_wants_event(const struct selection *s, const struct uft_event *ev);
void sel_events_free(struct selection *s);

/* call_view.c: functions and tasks whose calls are shown. @v may be NULL in all calls: all are shown. */
struct call_view *call_view_make(const struct uft_live_view *v);	/* NULL: no memory */
struct call_view *call_view_get(struct call_view *v);
void call_view_put(struct call_view *v);
int call_view_is(const struct call_view *v, const struct uft_live_view *other);	/* 1: both mean the same */
int call_view_wants_task(const struct call_view *v, uint32_t pid, uint32_t tid);
int call_view_wants_func(struct selection *s, const struct call_view *v, const struct uft_image *img,
			 const struct uft_sym *sym);
int call_view_wants(struct selection *s, const struct call_view *v, const struct uft_event *ev);

/* event_view.c: which events by name are shown. */
struct event_view *event_view_make(const struct uft_live_events *from);
struct event_view *event_view_get(struct event_view *e);
void event_view_put(struct event_view *e);
int event_view_is(const struct event_view *e, const struct uft_live_events *other);
/* Returns a copy of @e in which no type waits: of @types, those in @shown are shown. NULL: no memory. */
struct event_view *event_view_settled(const struct event_view *e, const struct uft_event_set *types,
				      const struct uft_event_set *shown);
/* 1: events of this type may be shown, whatever filter and tasks say */
int event_view_show(const struct sel_choice *c, uint32_t id);
int event_view_wait(const struct sel_choice *c, uint32_t id);	/* only single events of this type are shown */
/* 1: such an event is shown; without a choice all are */
int event_view_want(const struct sel_choice *c, const struct uft_event *ev);

#endif
