/* SPDX-License-Identifier: MIT */
/*
 * views.c - views of a recording: what was made for a filter
 *
 * A pass over all events gives the levels of detail, how many matching events come before each point of the
 * recording's index, and, the first time, that index.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "view/recording_internal.h"

#define SPANS_MIN (1u << 20) /* 24 MB */
#define SPANS_MAX (4u << 20)
#define SPAN_SHARE 960u /* bytes of the recording for each span: with levels about 3 % of it */

/* At its name there is another file now, a longer one, or none. */
int recording_is_changed(const struct recording *r)
{
	struct stat st;

	return stat(r->path, &st) || st.st_ino != r->stat.st_ino || st.st_dev != r->stat.st_dev ||
	       st.st_size != r->stat.st_size;
}

struct making {
	struct uft_index *index;
	int is_new_index;
	struct lod *lod;
	uint64_t *before;
	size_t npoints, at;
	uint64_t events, matches, first_ns, last_ns;
	uint64_t next_point; /* the event before which the next point is */
};

static void making_free(struct making *m)
{
	if (m->is_new_index)
		uft_index_close(m->index);
	lod_free(m->lod);
	free(m->before);
}

static int grow_before(struct making *m, size_t n)
{
	uint64_t *grown;

	if (n <= m->npoints)
		return 0;
	grown = realloc(m->before, (n + n / 2 + 64) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	m->before = grown;
	m->npoints = n + n / 2 + 64;
	return 0;
}

/* Remembers how many matched before each point that is reached. */
static int pass_points(struct making *m)
{
	size_t n = uft_index_points(m->index);

	if (grow_before(m, n) < 0)
		return -ENOMEM;
	while (m->at < n && uft_index_point_event(m->index, m->at) <= m->events)
		m->before[m->at++] = m->matches;
	m->next_point = m->at < n ? uft_index_point_event(m->index, m->at) : UINT64_MAX;
	return 0;
}

static int is_wanted(struct recording *r, struct view *v, double progress)
{
	int is;

	pthread_mutex_lock(&r->lock);
	v->progress = progress;
	is = !r->is_ending && !r->is_stale;
	pthread_mutex_unlock(&r->lock);
	return is;
}

static size_t spans_for(const struct recording *r)
{
	uint64_t n = (uint64_t)r->stat.st_size / SPAN_SHARE;

	return n < SPANS_MIN ? SPANS_MIN : n > SPANS_MAX ? SPANS_MAX : n;
}

static int make_events(struct recording *r, struct view *v, struct making *m, struct uft_stream *st)
{
	static __thread struct uft_event ev[BATCH];
	uint64_t asked = 0;
	size_t n;
	int ret = pass_points(m);

	while (!ret && (n = uft_stream_batch(st, ev, BATCH)) != 0) {
		if (m->is_new_index) {
			ret = uft_index_add(m->index, st, ev, n);
			if (ret)
				return ret;
		}
		for (size_t i = 0; i < n; i++) {
			if (m->first_ns == UINT64_MAX && ev[i].kind != UFT_EV_LOST && ev[i].kind != UFT_EV_LEFT)
				m->first_ns = ev[i].ts_ns;
			m->last_ns = ev[i].ts_ns > m->last_ns ? ev[i].ts_ns : m->last_ns;
			if (!m->lod)
				m->lod = lod_new(&r->names, m->first_ns == UINT64_MAX ? ev[i].ts_ns : m->first_ns,
						 spans_for(r), 0);
			ret = m->lod ? lod_add(m->lod, &ev[i], v->filter) : -ENOMEM;
			if (ret < 0)
				return ret;
			m->events++;
			m->matches += (uint64_t)ret;
			if (m->events >= m->next_point && pass_points(m) < 0)
				return -ENOMEM;
			ret = 0;
		}
		if (m->is_new_index && pass_points(m) < 0)
			return -ENOMEM;
		if (m->events - asked >= 1u << 18) {
			asked = m->events;
			if (!is_wanted(r, v, uft_stream_progress(st)))
				return -ECANCELED;
		}
	}
	if (!m->lod)
		m->lod = lod_new(&r->names, 0, 1, 0);
	if (!m->lod || pass_points(m) < 0)
		return -ENOMEM;
	if (m->is_new_index) {
		ret = uft_index_finish(m->index, st);
		if (ret)
			return ret;
	}
	return lod_finish(m->lod);
}

static void describe(struct recording *r, struct uft_stream *st, const struct making *m)
{
	struct uft_info info;

	if (!m->is_new_index)
		uft_stream_seek_selection(st, m->index); /* the counts are in it */
	info = *uft_stream_info(st);
	free(r->cmdline);
	free(r->hostname);
	free(r->uname);
	r->cmdline = strdup(info.cmdline);
	r->hostname = strdup(info.hostname);
	r->uname = strdup(info.uname);
	info.cmdline = info.hostname = info.uname = NULL;
	r->info = info;
	r->origin_ns = m->first_ns == UINT64_MAX ? 0 : m->first_ns;
	r->duration_ns = m->last_ns > r->origin_ns ? m->last_ns - r->origin_ns : 0;
}

void view_make(struct recording *r, struct view *v)
{
	struct uft_select all = {.no_parents = 1};
	struct making m = {.first_ns = UINT64_MAX, .index = r->index};
	struct uft_stream *st = NULL;
	int ret = recording_stream(r, &all, &st);

	if (!ret && !m.index && uft_index_open(r->path, st, &m.index)) {
		m.index = uft_index_new(st, 0);
		m.is_new_index = 1;
		ret = m.index ? 0 : -ENOMEM;
	}
	if (!ret)
		ret = make_events(r, v, &m, st);
	pthread_mutex_lock(&r->lock);
	if (!ret && r->is_stale)
		ret = -ECANCELED;
	if (!ret && !r->index) {
		describe(r, st, &m);
		if (m.is_new_index && !recording_is_changed(r))
			uft_index_save(m.index, r->path); /* or not: then it is made again the next time */
		r->index = m.index;
	}
	if (!ret) {
		v->lod = m.lod;
		v->before = m.before;
		v->matches = m.matches;
		v->made = MADE_DONE;
	} else if (ret != -ECANCELED) {
		v->made = MADE_FAILED;
		v->error = ret;
	}
	pthread_mutex_unlock(&r->lock);
	if (ret) {
		if (m.index && !m.is_new_index && m.index != r->index)
			uft_index_close(m.index);
		making_free(&m);
	}
	uft_stream_close(st);
}

void view_clear(struct view *v)
{
	free(v->text);
	view_filter_free(v->filter);
	lod_free(v->lod);
	free(v->before);
	*v = (struct view){0};
}

void put_working(struct json *j, double progress)
{
	json_raw(j, "{\"state\":\"working\",\"progress\":");
	json_f(j, progress);
	json_raw(j, "}");
}

void put_failed(struct json *j, int error)
{
	json_raw(j, "{\"state\":\"failed\"");
	json_key_str(j, "error", strerror(-error));
	json_raw(j, "}");
}

/* The view of a filter, ordered if it is new. lock is held. NULL: *why, or no room is left at this moment. */
struct view *view_get(struct recording *r, const char *text, const char **why)
{
	struct uft_filter_error err = {NULL, 0};
	struct view_filter *filter;
	struct view *v = NULL;
	char *copy;

	*why = NULL;
	for (uint32_t i = 0; i < VIEWS; i++)
		if (r->view[i].text && !strcmp(r->view[i].text, text)) {
			r->view[i].used = ++r->clock;
			return &r->view[i];
		}
	if (view_filter_make(text, &filter, &err) < 0) {
		*why = err.what ? err.what : "the filter is too long";
		return NULL;
	}
	for (uint32_t i = 1; i < VIEWS; i++)
		if (r->view[i].made != MADE_WORKING && r->order.v != &r->view[i] &&
		    (!v || !r->view[i].text || (v->text && r->view[i].used < v->used)))
			v = &r->view[i];
	copy = strdup(text);
	if (!v || !copy) {
		view_filter_free(filter);
		free(copy);
		*why = "out of memory";
		return NULL;
	}
	part_forget_view(r, v);
	view_clear(v);
	v->text = copy;
	v->filter = filter;
	v->used = ++r->clock;
	pthread_cond_broadcast(&r->ordered);
	return v;
}

/* 1: @v is there; 0: the answer says that it is not. */
int view_is_made(const struct view *v, struct json *j)
{
	if (v->made == MADE_DONE)
		return 1;
	if (v->made == MADE_FAILED)
		put_failed(j, v->error);
	else
		put_working(j, v->progress);
	return 0;
}

/* Gets a made view, or answers that it is not. 1: *out; 0: answered; -EINVAL. lock is held. */
int view_need(struct recording *r, const char *filter, struct view **out, struct json *j, const char **why)
{
	struct view *v = view_get(r, filter, why);

	if (!v)
		return -EINVAL;
	*out = v;
	return view_is_made(v, j);
}
