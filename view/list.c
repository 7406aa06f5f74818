/* SPDX-License-Identifier: MIT */
/*
 * list.c - list matching events by number, and search text in them
 *
 * Events are in the order of time; at equal times those of the first recording come first. Each recording has a cursor
 * before an event, with the number of that event in its recording: the sum of all numbers is the number in the list.
 */
#include <stdio.h>
#include <string.h>

#include "output/kernel_flags.h"
#include "symbol/now.h"
#include "symbol/sorted.h"
#include "view/event_name.h"
#include "view/recording_internal.h"

#define SEARCH_NS 200000000u
#define LIST_MAX 2000u

static const char *const kind_names[] = {
	[UFT_EV_FUNC] = "function",	  [UFT_EV_ENTRY] = "funcgraph_entry",
	[UFT_EV_EXIT] = "funcgraph_exit", [UFT_EV_LEFT] = "left",
	[UFT_EV_LOST] = "lost",		  [UFT_EV_MARK] = "print",
	[UFT_EV_DATA] = "event",
};

#define ROWS_SKIPPED 65536u /* events that do not match, before points without matches are passed over */

struct cursor {
	struct recording *r;
	const struct view *v;
	uint64_t offset, number, t; /* number: of matching events before ev in its recording; t: when ev is */
	int has_event;
	struct uft_event ev;
};

struct list {
	struct cursor at[SOURCES_MAX];
	size_t n;
	uint64_t total, number; /* of matching events; of them before the cursors */
};

static uint64_t shown_time(const struct recording *r, const struct uft_event *ev)
{
	return ev->ts_ns > r->origin_ns ? ev->ts_ns - r->origin_ns : 0;
}

/* The number of matching events before the point behind @point. */
static uint64_t before_next(const struct cursor *c, size_t point)
{
	return point + 1 < uft_index_points(c->r->index) ? view_before(c->r, c->v, point + 1) : c->v->matches;
}

/* The last point with at most @number matching events before it. */
static size_t point_of_match(const struct cursor *c, uint64_t number)
{
	size_t lo = SORTED_FIRST(i, uft_index_points(c->r->index), view_before(c->r, c->v, i) > number);

	return lo ? lo - 1 : 0;
}

/* Reads the next matching event of a recording into c->ev, if there is one. */
static int cursor_step(struct cursor *c)
{
	uint32_t skipped = 0;

	c->has_event = 0;
	while (c->number < c->v->matches && uft_stream_next(c->r->st, &c->ev) == 1) {
		if (view_filter_match(c->v->filter, &c->ev)) {
			c->t = shown_time(c->r, &c->ev) + c->offset;
			c->has_event = 1;
			return 0;
		}
		if (++skipped == ROWS_SKIPPED) {
			int ret = part_seek(c->r, point_of_match(c, c->number));

			if (ret)
				return ret;
			c->number = view_before(c->r, c->v, point_of_match(c, c->number));
		}
	}
	return uft_stream_check_file(c->r->st, NULL);
}

static size_t point_at(const struct cursor *c, uint64_t t)
{
	return uft_index_find_ns(c->r->index, c->r->origin_ns + (t > c->offset ? t - c->offset : 0));
}

/* Moves all cursors to the first event at @t or later. */
static int list_go(struct list *l, uint64_t t)
{
	int ret = 0;

	l->number = 0;
	for (size_t i = 0; i < l->n && !ret; i++) {
		struct cursor *c = &l->at[i];
		size_t point = point_at(c, t);

		c->number = view_before(c->r, c->v, point);
		ret = part_seek(c->r, point);
		if (!ret)
			ret = cursor_step(c);
		while (!ret && c->has_event && c->t < t) {
			c->number++;
			ret = cursor_step(c);
		}
		l->number += c->number;
	}
	return ret;
}

/* The cursor with the next event of all recordings; NULL: there is none. */
static struct cursor *list_first(struct list *l)
{
	struct cursor *first = NULL;

	for (size_t i = 0; i < l->n; i++)
		if (l->at[i].has_event && (!first || l->at[i].t < first->t))
			first = &l->at[i];
	return first;
}

static int list_step(struct list *l, struct cursor *c)
{
	c->number++;
	l->number++;
	return cursor_step(c);
}

/* Moves all cursors to event @number. */
static int list_go_number(struct list *l, uint64_t number)
{
	uint64_t lo = 0, hi = 1;
	struct cursor *c;
	int ret;

	for (size_t i = 0; i < l->n; i++)
		hi = l->at[i].offset + l->at[i].r->duration_ns + 1 > hi ? l->at[i].offset + l->at[i].r->duration_ns + 1
									 : hi;
	while (lo + 1 < hi) { /* the last time that has at most @number events before it, as points tell */
		uint64_t mid = lo + (hi - lo) / 2, most = 0;

		for (size_t i = 0; i < l->n; i++)
			most += before_next(&l->at[i], point_at(&l->at[i], mid));
		if (most <= number)
			lo = mid;
		else
			hi = mid;
	}
	ret = list_go(l, lo);
	while (!ret && l->number < number && (c = list_first(l)))
		ret = list_step(l, c);
	return ret;
}

static void unlock(const struct sources *s, size_t n)
{
	while (n-- > 0)
		pthread_mutex_unlock(&s->file[n]->lock);
}

/* Locks all recordings. 1: the list is open; 0: the answer is written. -EINVAL: nothing is locked. */
static int list_open(const struct sources *s, const char *filter, struct list *l, struct json *j, const char **why)
{
	l->n = 0;
	l->total = l->number = 0;
	for (size_t i = 0; i < s->n; i++) {
		struct view *v;
		int ret;

		pthread_mutex_lock(&s->file[i]->lock);
		ret = view_need(s->file[i], filter, &v, j, why);
		if (ret <= 0) {
			unlock(s, i + 1);
			return ret;
		}
		l->at[l->n++] = (struct cursor){.r = s->file[i], .v = v, .offset = s->offset[i]};
		l->total += v->matches;
	}
	return 1;
}

static void put_event(const struct list *l, const struct cursor *c, struct json *j)
{
	const struct uft_event *ev = &c->ev;
	char buf[VIEW_NAME_ROOM], kind[VIEW_NAME_ROOM], flags[KERNEL_FLAGS_TEXT + 1] = "";
	const char *name = view_event_name(ev, buf), *text = strstr(name, ": ");

	json_comma(j);
	json_raw(j, "{");
	json_key_u(j, "n", l->number);
	json_key_u(j, "t", c->t);
	json_key_u(j, "ts", ev->ts_ns);
	json_key_u(j, "file", (uint64_t)(c - l->at));
	json_key_u(j, "cpu", ev->cpu);
	if (kernel_flags_put(ev, flags))
		json_key_str(j, "flags", flags);
	json_key_str(j, "comm", ev->task->comm);
	json_key_u(j, "pid", ev->task->pid);
	json_key_u(j, "tid", ev->task->tid);
	snprintf(kind, sizeof(kind), "%s", kind_names[ev->kind]);
	if (ev->kind == UFT_EV_DATA && text) { /* `NAME: TEXT` */
		snprintf(kind, sizeof(kind), "%.*s", (int)(text - name), name);
		name = text + 2;
	}
	json_key_str(j, "event", kind);
	json_key_str(j, "name", name);
	json_key_u(j, "depth", ev->depth);
	if (ev->kind == UFT_EV_EXIT || ev->kind == UFT_EV_LEFT) {
		json_key_u(j, "duration", ev->duration_ns);
		json_key_u(j, "self", ev->self_ns);
	}
	if (ev->kind == UFT_EV_DATA && !UFT_EVENT_IS_OWN(ev->data))
		json_key_u(j, "of_call", 1);
	if (ev->kind == UFT_EV_LOST)
		json_key_u(j, "lost", ev->lost);
	if (ev->kind == UFT_EV_FUNC && ev->parent)
		json_key_str(j, "parent", ev->parent->name);
	json_raw(j, "}");
}

static void put_total(const struct list *l, struct json *j)
{
	json_raw(j, "{\"state\":\"done\"");
	json_key_u(j, "total", l->total);
}

int view_list(const struct sources *s, const char *filter, uint64_t first, uint32_t count, struct json *j,
	      const char **why)
{
	static struct list l;
	struct cursor *c;
	int ret = list_open(s, filter, &l, j, why);
	uint64_t last;

	if (ret <= 0)
		return ret;
	last = first + (count > LIST_MAX ? LIST_MAX : count);
	ret = first < l.total ? list_go_number(&l, first) : 0;
	put_total(&l, j);
	json_key(j, "rows");
	json_raw(j, "[");
	while (!ret && first < l.total && l.number < last && (c = list_first(&l))) {
		put_event(&l, c, j);
		ret = list_step(&l, c);
	}
	json_raw(j, "]}");
	unlock(s, s->n);
	return ret ? ret : j->err;
}

int view_row_at(const struct sources *s, const char *filter, uint64_t t, struct json *j, const char **why)
{
	static struct list l;
	int ret = list_open(s, filter, &l, j, why);

	if (ret <= 0)
		return ret;
	ret = list_go(&l, t);
	put_total(&l, j);
	json_key_u(j, "row", l.number);
	json_raw(j, "}");
	unlock(s, s->n);
	return ret ? ret : j->err;
}

static int is_call_of(const struct uft_event *ev, const char *func)
{
	return (ev->kind == UFT_EV_EXIT || ev->kind == UFT_EV_LEFT || ev->kind == UFT_EV_FUNC) && ev->sym &&
	       ev->sym->name && !strcmp(ev->sym->name, func);
}

static int has_text(const struct uft_event *ev, const char *text)
{
	char buf[VIEW_NAME_ROOM];

	return strcasestr(view_event_name(ev, buf), text) || strcasestr(ev->task->comm, text);
}

static int is_wanted(const struct list *l, const struct cursor *c, const struct wanted *w)
{
	return (!w->tid || c->ev.task->tid == w->tid) &&
	       (w->source == UINT64_MAX || (uint64_t)(c - l->at) == w->source) &&
	       (!*w->call || is_call_of(&c->ev, w->call)) && (!*w->text || has_text(&c->ev, w->text));
}

struct found {
	uint64_t number, t;
	int is;
};

/* Searches events @from to @to for the first (@is_back: the last) that meets @w. A slow search stops at *end. */
static int search_rows(struct list *l, const struct wanted *w, uint64_t from, uint64_t to, int is_back, uint64_t begun,
		       struct found *out, uint64_t *end)
{
	struct cursor *c = NULL;
	int ret = list_go_number(l, from);

	while (!ret && l->number < to && (c = list_first(l))) {
		if (is_wanted(l, c, w)) {
			*out = (struct found){l->number, c->t, 1};
			if (!is_back)
				break;
		}
		if (!is_back && l->number % 4096 == 0 && now_ns() - begun > SEARCH_NS)
			break;
		ret = list_step(l, c);
	}
	*end = c || l->number >= to ? l->number : to; /* events of the index may be gone from the file */
	return ret;
}

/* Searches parts before @edge, each earlier than the one before. */
static int search_back(struct list *l, const struct wanted *w, uint64_t edge, uint64_t begun, struct found *out,
		       uint64_t *more)
{
	uint64_t from, to = edge < l->total ? edge : l->total, part = 4096, end;
	int ret = 0;

	for (; !ret && to && !out->is && now_ns() - begun < SEARCH_NS;
	     to = from, part = part < 1u << 18 ? 2 * part : part) {
		from = to > part ? to - part : 0;
		ret = search_rows(l, w, from, to, 1, begun, out, &end);
	}
	*more = to;
	return ret;
}

int view_search(const struct sources *s, const char *filter, const struct wanted *w, uint64_t first, int is_back,
		struct json *j, const char **why)
{
	static struct list l;
	uint64_t begun = now_ns(), more = 0;
	struct found found = {0, 0, 0};
	int ret = list_open(s, filter, &l, j, why), has_more;

	if (ret <= 0)
		return ret;
	ret = is_back			? search_back(&l, w, first, begun, &found, &more)
	      : first + 1 < l.total ? search_rows(&l, w, first + 1, l.total, 0, begun, &found, &more)
				    : 0; /* behind the last there is none */
	has_more = is_back ? more > 0 : first + 1 < l.total && more < l.total;
	json_raw(j, "{\"state\":\"done\"");
	if (found.is) {
		json_key_u(j, "row", found.number);
		json_key_u(j, "t", found.t);
	} else if (has_more) {
		json_key_u(j, "more", is_back ? more : more - 1);
	}
	json_raw(j, "}");
	unlock(s, s->n);
	return ret ? ret : j->err;
}
