/* SPDX-License-Identifier: MIT */
/* list.c - events by their number among those that match, and the search for text in them */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "view/recording_internal.h"

#define SEARCH_NS 200000000u
#define LIST_MAX 2000u

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The last point with at most @number matching events before it. */
static size_t point_of_match(const struct recording *r, const struct view *v, uint64_t number)
{
	size_t lo = 0, hi = uft_index_points(r->index);

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (view_before(r, v, mid) <= number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? lo - 1 : 0;
}

static const char *const kind_names[] = {
	[UFT_EV_FUNC] = "function",	  [UFT_EV_ENTRY] = "funcgraph_entry",
	[UFT_EV_EXIT] = "funcgraph_exit", [UFT_EV_LEFT] = "left",
	[UFT_EV_LOST] = "lost",		  [UFT_EV_MARK] = "print",
	[UFT_EV_DATA] = "event",
};

static void put_event(const struct recording *r, struct json *j, const struct uft_event *ev, uint64_t number)
{
	char buf[VIEW_NAME_ROOM];

	json_comma(j);
	json_raw(j, "{");
	json_key_u(j, "n", number);
	json_key_u(j, "t", ev->ts_ns > r->origin_ns ? ev->ts_ns - r->origin_ns : 0);
	json_key_u(j, "ts", ev->ts_ns);
	json_key_u(j, "cpu", ev->cpu);
	json_key_str(j, "comm", ev->task->comm);
	json_key_u(j, "pid", ev->task->pid);
	json_key_u(j, "tid", ev->task->tid);
	json_key_str(j, "event", kind_names[ev->kind]);
	json_key_str(j, "name", view_event_name(ev, buf));
	json_key_u(j, "depth", ev->depth);
	if (ev->kind == UFT_EV_EXIT || ev->kind == UFT_EV_LEFT) {
		json_key_u(j, "duration", ev->duration_ns);
		json_key_u(j, "self", ev->self_ns);
	}
	if (ev->kind == UFT_EV_LOST)
		json_key_u(j, "lost", ev->lost);
	if (ev->kind == UFT_EV_FUNC && ev->parent)
		json_key_str(j, "parent", ev->parent->name);
	json_raw(j, "}");
}

int recording_list(struct recording *r, const char *filter, uint64_t first, uint32_t count, struct json *j,
		   const char **why)
{
	uint64_t number, last;
	struct view *v;
	size_t point;
	int ret;

	pthread_mutex_lock(&r->lock);
	ret = view_need(r, filter, &v, j, why);
	if (ret <= 0)
		goto out;
	count = count > LIST_MAX ? LIST_MAX : count;
	last = first < v->matches ? first + count : 0;
	point = point_of_match(r, v, first);
	number = view_before(r, v, point);
	ret = part_seek(r, point);
	if (ret)
		goto out;
	json_raw(j, "{\"state\":\"done\"");
	json_key_u(j, "total", v->matches);
	json_key(j, "rows");
	json_raw(j, "[");
	while (number < last) {
		struct uft_event ev;

		if (uft_stream_next(r->st, &ev) != 1)
			break;
		if (!view_filter_match(v->filter, &ev))
			continue;
		if (number >= first)
			put_event(r, j, &ev, number);
		number++;
	}
	json_raw(j, "]}");
	ret = j->err;
out:
	pthread_mutex_unlock(&r->lock);
	return ret < 0 ? ret : 0;
}

int recording_row_at(struct recording *r, const char *filter, uint64_t t, struct json *j, const char **why)
{
	uint64_t number;
	struct view *v;
	size_t point;
	int ret;

	pthread_mutex_lock(&r->lock);
	ret = view_need(r, filter, &v, j, why);
	if (ret <= 0)
		goto out;
	point = uft_index_find_ns(r->index, r->origin_ns + t);
	number = view_before(r, v, point);
	ret = part_seek(r, point);
	if (ret)
		goto out;
	for (struct uft_event ev; uft_stream_next(r->st, &ev) == 1;) {
		if (!view_filter_match(v->filter, &ev))
			continue;
		if (ev.ts_ns >= r->origin_ns + t)
			break;
		number++;
		if (number >= v->matches)
			break;
	}
	json_raw(j, "{\"state\":\"done\"");
	json_key_u(j, "total", v->matches);
	json_key_u(j, "row", number);
	json_raw(j, "}");
	ret = j->err;
out:
	pthread_mutex_unlock(&r->lock);
	return ret < 0 ? ret : 0;
}

static int has_text(const struct uft_event *ev, const char *text)
{
	char buf[VIEW_NAME_ROOM];

	return strcasestr(view_event_name(ev, buf), text) || strcasestr(ev->task->comm, text);
}

struct found {
	uint64_t number, t;
	int is;
};

/* Matching events from @point to the next one: the first that has @text behind @after, or the last before it. */
static int search_part(struct recording *r, const struct view *v, size_t point, const char *text, uint64_t edge,
		       int is_back, struct found *out)
{
	uint64_t number = view_before(r, v, point),
		 end = point + 1 < uft_index_points(r->index) ? view_before(r, v, point + 1) : v->matches;
	int ret = number < end ? part_seek(r, point) : 0;

	for (struct uft_event ev; !ret && number < end && uft_stream_next(r->st, &ev) == 1;) {
		if (!view_filter_match(v->filter, &ev))
			continue;
		if ((is_back ? number < edge : number > edge) && has_text(&ev, text)) {
			*out = (struct found){number, ev.ts_ns > r->origin_ns ? ev.ts_ns - r->origin_ns : 0, 1};
			if (!is_back)
				break;
		}
		if (is_back && number >= edge)
			break;
		number++;
	}
	return ret;
}

int recording_search(struct recording *r, const char *filter, const char *text, uint64_t first, int is_back,
		     struct json *j, const char **why)
{
	uint64_t begun = now_ns(), more = 0;
	struct found found = {0, 0, 0};
	struct view *v;
	size_t point;
	int ret, has_more = 0;

	pthread_mutex_lock(&r->lock);
	ret = view_need(r, filter, &v, j, why);
	if (ret <= 0)
		goto out;
	for (point = point_of_match(r, v, first); point < uft_index_points(r->index); point += is_back ? -1 : 1) {
		ret = search_part(r, v, point, text, first, is_back, &found);
		if (ret)
			goto out;
		if (found.is || (is_back && !point))
			break;
		if (now_ns() - begun > SEARCH_NS) {
			has_more = 1;
			more = is_back					? view_before(r, v, point)
			       : point + 1 < uft_index_points(r->index) ? view_before(r, v, point + 1)
									: v->matches;
			more = !is_back && more ? more - 1 : more;
			break;
		}
	}
	json_raw(j, "{\"state\":\"done\"");
	if (found.is) {
		json_key_u(j, "row", found.number);
		json_key_u(j, "t", found.t);
	} else if (has_more) {
		json_key_u(j, "more", more);
	}
	json_raw(j, "}");
	ret = j->err;
out:
	pthread_mutex_unlock(&r->lock);
	return ret < 0 ? ret : 0;
}
