/* SPDX-License-Identifier: MIT */
/*
 * live_events.c - which events by name a buffer shows: their filters, tasks; of what types says the choice itself
 *
 * The session records what anybody wants; each buffer gets all of it and shows its own. A choice (live_choose.c) refers to one of these,
 * which is made once, never changes, and is shared by choices and by copies of buffers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stream/event_filter.h"
#include "stream/live_internal.h"

struct lv_events {
	int refs;			/* atomic */
	char *text[UFT_NEVENT_TYPES];	/* of filters; NULL: none */
	struct uft_event_filter *filter[UFT_NEVENT_TYPES];
	uint32_t *pids; size_t npids, nnot_pids;	/* those that are not, behind those that are */
};

/* A filter that is none is not there: who wants one has asked before. */
struct lv_events *lv_events_make(const struct uft_live_events *from)
{
	struct lv_events *e = calloc(1, sizeof(*e));
	struct uft_filter_error err;

	if (!e)
		return NULL;
	e->refs = 1;
	e->pids = malloc((from->npids + from->nnot_pids + 1) * sizeof(*e->pids));
	for (uint32_t i = 0; i < UFT_NEVENT_TYPES && e->pids; i++) {
		if (!from->filter[i])
			continue;
		e->text[i] = strdup(from->filter[i]);
		if (!e->text[i] || uft_event_filter_make(&uft_event_types[i], e->text[i], &e->filter[i], &err) == -ENOMEM) {
			lv_events_put(e);
			return NULL;
		}
	}
	if (!e->pids) {
		lv_events_put(e);
		return NULL;
	}
	if (from->npids)
		memcpy(e->pids, from->pids, from->npids * sizeof(*e->pids));
	if (from->nnot_pids)
		memcpy(e->pids + from->npids, from->not_pids, from->nnot_pids * sizeof(*e->pids));
	e->npids = from->npids;
	e->nnot_pids = from->nnot_pids;
	return e;
}

struct lv_events *lv_events_get(struct lv_events *e)
{
	if (e)
		__atomic_add_fetch(&e->refs, 1, __ATOMIC_RELAXED);
	return e;
}

void lv_events_put(struct lv_events *e)
{
	if (!e || __atomic_sub_fetch(&e->refs, 1, __ATOMIC_ACQ_REL))
		return;
	for (uint32_t i = 0; i < UFT_NEVENT_TYPES; i++) {
		free(e->text[i]);
		uft_event_filter_free(e->filter[i]);
	}
	free(e->pids);
	free(e);
}

int lv_events_is(const struct lv_events *e, const struct uft_live_events *other)
{
	if (!e || e->npids != other->npids || e->nnot_pids != other->nnot_pids ||
	    (e->npids && memcmp(e->pids, other->pids, e->npids * sizeof(*e->pids))) ||
	    (e->nnot_pids && memcmp(e->pids + e->npids, other->not_pids, e->nnot_pids * sizeof(*e->pids))))
		return 0;
	for (uint32_t i = 0; i < UFT_NEVENT_TYPES; i++)
		if (!e->text[i] != !other->filter[i] || (e->text[i] && strcmp(e->text[i], other->filter[i])))
			return 0;
	return 1;
}

static int has(const uint32_t *list, size_t n, const struct uft_task *t)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == t->tid || list[i] == t->pid)
			return 1;
	return 0;
}

static int has_type(uint32_t types, uint32_t id)
{
	const struct uft_event_type *type = uft_event_type(id);

	return !type || types >> (type - uft_event_types) & 1;
}

int lv_events_show(const struct dec_choice *c, uint32_t id)
{
	return !c->events || has_type(c->shown | c->waiting, id);
}

int lv_events_wait(const struct dec_choice *c, uint32_t id)
{
	return c->events && has_type(c->waiting, id) && !has_type(c->shown, id);
}

int lv_events_want(const struct dec_choice *c, const struct uft_event *ev)
{
	const struct uft_event_type *type = uft_event_type(ev->data);
	const struct lv_events *e = c->events;
	const struct uft_event_filter *f;

	if (!e || !type)
		return 1;
	f = e->filter[type - uft_event_types];
	return lv_events_show(c, ev->data) && (!e->npids || has(e->pids, e->npids, ev->task)) &&
	       !has(e->pids + e->npids, e->nnot_pids, ev->task) && (!f || uft_event_filter_match(f, ev));
}
