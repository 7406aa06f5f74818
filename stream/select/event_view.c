/* SPDX-License-Identifier: MIT */
/*
 * event_view.c - filters and tasks of the events by name that a buffer shows; the choice itself has the types
 *
 * The session records the events of all instances; each buffer gets all of them and shows its own. A choice (choices.c)
 * refers to a view, which is made once, never changes, and is shared by choices and by copies of buffers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stream/select/event_record.h"
#include "stream/select/select.h"
#include "symbol/event_filter.h"
#include "symbol/sorted.h"

struct lv_filter { const struct uft_event_type *type; char *text; struct uft_program *filter; };

struct event_view {
	int refs;			/* atomic */
	struct uft_event_set shown, waiting;	/* waiting: only single events are shown */
	struct lv_filter *filter; size_t nfilters;	/* by rising index of their types */
	uint32_t *pids; size_t npids, nnot_pids;	/* pids to hide, behind those to show */
};

/* A filter that is refused here is left out: its user has got the error before. */
static int copy_filters(struct event_view *e, const struct uft_live_events *from)
{
	e->filter = calloc(from->nfilters + 1, sizeof(*e->filter));
	for (; e->filter && e->nfilters < from->nfilters; e->nfilters++) {
		struct lv_filter *f = &e->filter[e->nfilters];
		struct uft_filter_error err;

		f->type = from->filter[e->nfilters].type;
		f->text = strdup(from->filter[e->nfilters].text);
		if (!f->text || uft_event_filter_make(f->type, f->text, &f->filter, &err) == -ENOMEM) {
			e->nfilters++;
			return -ENOMEM;
		}
	}
	return e->filter ? 0 : -ENOMEM;
}

struct event_view *event_view_make(const struct uft_live_events *from)
{
	struct event_view *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->refs = 1;
	e->pids = malloc((from->npids + from->nnot_pids + 1) * sizeof(*e->pids));
	if (!e->pids || copy_filters(e, from) || uft_event_set_copy(&e->shown, &from->shown) ||
	    uft_event_set_copy(&e->waiting, &from->waiting)) {
		event_view_put(e);
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

struct event_view *event_view_settled(const struct event_view *e, const struct uft_event_set *types,
				      const struct uft_event_set *shown)
{
	struct uft_live_filter *filter = calloc(e->nfilters + 1, sizeof(*filter));
	struct uft_live_events from = {
		.shown = e->shown, .waiting = e->waiting, .filter = filter, .nfilters = e->nfilters,
		.pids = e->pids, .npids = e->npids, .not_pids = e->pids + e->npids, .nnot_pids = e->nnot_pids,
	};
	struct uft_event_set now = { NULL, 0 };
	struct event_view *made = NULL;

	for (size_t i = 0; filter && i < e->nfilters; i++)
		filter[i] = (struct uft_live_filter){ e->filter[i].type, e->filter[i].text };
	if (filter && !uft_event_set_copy(&now, types)) {
		for (uint32_t i = 0; i < now.nwords; i++)
			now.word[i] &= i < shown->nwords ? shown->word[i] : 0;
		made = event_view_make(&from);
	}
	if (made) {
		uft_event_set_remove(&made->shown, types);
		uft_event_set_remove(&made->waiting, types);
		if (uft_event_set_add(&made->shown, &now)) {
			event_view_put(made);
			made = NULL;
		}
	}
	uft_event_set_free(&now);
	free(filter);
	return made;
}

struct event_view *event_view_get(struct event_view *e)
{
	if (e)
		__atomic_add_fetch(&e->refs, 1, __ATOMIC_RELAXED);
	return e;
}

void event_view_put(struct event_view *e)
{
	if (!e || __atomic_sub_fetch(&e->refs, 1, __ATOMIC_ACQ_REL))
		return;
	for (size_t i = 0; i < e->nfilters; i++) {
		free(e->filter[i].text);
		free(e->filter[i].filter);
	}
	uft_event_set_free(&e->shown);
	uft_event_set_free(&e->waiting);
	free(e->filter);
	free(e->pids);
	free(e);
}

int event_view_is(const struct event_view *e, const struct uft_live_events *other)
{
	if (!e || e->npids != other->npids || e->nnot_pids != other->nnot_pids || e->nfilters != other->nfilters ||
	    (e->npids && memcmp(e->pids, other->pids, e->npids * sizeof(*e->pids))) ||
	    (e->nnot_pids && memcmp(e->pids + e->npids, other->not_pids, e->nnot_pids * sizeof(*e->pids))) ||
	    !uft_event_set_equal(&e->shown, &other->shown) || !uft_event_set_equal(&e->waiting, &other->waiting))
		return 0;
	for (size_t i = 0; i < e->nfilters; i++)
		if (e->filter[i].type != other->filter[i].type || strcmp(e->filter[i].text, other->filter[i].text))
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

int event_view_show(const struct sel_choice *c, uint32_t id)
{
	const struct event_view *e = c->events;
	uint32_t index = id - UFT_EVENT_FREE;

	return !e || uft_event_set_has(&e->shown, index) || uft_event_set_has(&e->waiting, index);
}

int event_view_wait(const struct sel_choice *c, uint32_t id)
{
	const struct event_view *e = c->events;
	uint32_t index = id - UFT_EVENT_FREE;

	return e && uft_event_set_has(&e->waiting, index) && !uft_event_set_has(&e->shown, index);
}

static const struct uft_program *find_filter(const struct event_view *e, const struct uft_event_type *type)
{
	size_t lo = SORTED_FIRST(i, e->nfilters, e->filter[i].type->index >= type->index);

	return lo < e->nfilters && e->filter[lo].type == type ? e->filter[lo].filter : NULL;
}

int event_view_want(const struct sel_choice *c, const struct uft_event *ev)
{
	const struct event_view *e = c->events;
	const struct uft_program *f;

	if (!e)
		return 1;
	f = find_filter(e, ev->type);
	return event_view_show(c, ev->data) && (!e->npids || has(e->pids, e->npids, ev->task)) &&
	       !has(e->pids + e->npids, e->nnot_pids, ev->task) && (!f || uft_event_accepts(f, ev));
}
