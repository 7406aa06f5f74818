/* SPDX-License-Identifier: MIT */
/*
 * views.c - views of a recording: the data made for a filter
 *
 * A pass over all events makes the levels of detail, the number of matching events before each point of the recording's
 * index, and, the first time, that index.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stream/file/reader.h"
#include "symbol/now.h"
#include "view/levels_file.h"
#include "view/making.h"
#include "view/recording_internal.h"

#define SPANS_UNKEPT (1u << 18) /* 6 MB, in memory only */
#define SPANS_MAX (3u << 20)
#define SPAN_SHARE 720u	     /* bytes of the recording for each span: with levels less than 5 % of it */
#define KEEP_FROM (32 << 20) /* bytes: a smaller recording is read as quickly as its levels */

uint64_t view_before(const struct recording *r, const struct view *v, size_t point)
{
	return v->before ? v->before[point] : uft_index_point_event(r->index, point);
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
	uint64_t n = r->stat.st_size < KEEP_FROM ? SPANS_UNKEPT : (uint64_t)r->stat.st_size / SPAN_SHARE;

	return n > SPANS_MAX ? SPANS_MAX : n;
}

/* ---- A first picture ---- */

/* Ends the preview. The lock must be held. */
void preview_end(struct recording *r)
{
	lod_free(r->preview.lod);
	r->preview = (struct preview){0};
}

struct watching {
	struct recording *r;
	struct view *v;
	uint64_t preview_at; /* when the next preview may be made */
};

/* Publishes the view made so far, if there was a request since the last time. Takes at most a tenth of the time. */
static void offer_preview(struct watching *w, const struct making *m, struct uft_stream *st, double progress)
{
	struct recording *r = w->r;
	uint64_t begun = now_ns(), so_far = lod_last(m->lod) > m->first_ns ? lod_last(m->lod) - m->first_ns : 0;
	struct preview made = {.events = m->events, .ncpus = uft_stream_recording(st)->head.ncpus};
	int is_wanted;

	pthread_mutex_lock(&r->lock);
	is_wanted = r->preview.is_wanted && begun >= w->preview_at;
	pthread_mutex_unlock(&r->lock);
	if (!is_wanted)
		return;
	made.duration_ns = progress > 0 && progress < 1 ? (uint64_t)((double)so_far / progress) : so_far;
	made.lod = lod_preview(m->lod);
	w->preview_at = now_ns() + 10 * (now_ns() - begun);
	pthread_mutex_lock(&r->lock);
	preview_end(r);
	r->preview = made;
	pthread_mutex_unlock(&r->lock);
}

static int go_on(void *arg, const struct making *m, struct uft_stream *st, double progress)
{
	struct watching *w = arg;

	if (!is_wanted(w->r, w->v, progress))
		return -ECANCELED;
	if (w->v == &w->r->view[0] && progress < 1)
		offer_preview(w, m, st, progress);
	return 0;
}

static int describe(struct recording *r, struct uft_stream *st, const struct making *m)
{
	if (!m->is_new_index)
		uft_stream_seek_selection(st, m->index); /* the counts are in it */
	r->origin_ns = m->first_ns == UINT64_MAX ? 0 : m->first_ns;
	r->duration_ns = m->last_ns > r->origin_ns ? m->last_ns - r->origin_ns : 0;
	return info_describe(r, st);
}

/* Reads the levels that an earlier opening made of the whole recording, beside its index. */
static int read_levels(struct recording *r, struct uft_stream *st, struct making *m)
{
	struct levels kept;
	int ret = levels_open(r->path, uft_stream_recording(st), r->names, &r->rows, &kept);

	if (ret)
		return ret;
	m->lod = kept.lod;
	m->matches = kept.matches;
	m->first_ns = kept.first_ns;
	m->last_ns = kept.last_ns;
	return 0;
}

/*
 * Writes the levels and the index beside the recording; if that fails, they are made again the next time. Without the
 * lock; reload() waits for it.
 */
static void save(struct recording *r, struct uft_stream *st, const struct making *m)
{
	struct levels levels = {m->lod, m->matches, m->first_ns, m->last_ns};

	if (m->is_new_index)
		uft_index_save(m->index, r->path);
	if (r->stat.st_size >= KEEP_FROM)
		levels_save(r->path, uft_stream_recording(st), &levels, r->names, &r->rows);
}

void view_make(struct recording *r, struct view *v)
{
	struct uft_select all = {.no_parents = 1};
	struct making m = {.names = r->names, .rows = &r->rows, .filter = v->filter, .spans = spans_for(r),
		.index = r->index,
			   .first_ns = UINT64_MAX};
	struct watching w = {r, v, 0};
	struct uft_stream *st = NULL;
	int ret = recording_stream_of(r, &all, &st), is_all = !v->filter, is_read = 0;

	if (!ret && !is_all) {
		size_t n = r->index ? uft_index_points(r->index) : 0;

		m.before = calloc(n + 1, sizeof(*m.before));
		ret = !n ? r->view[0].error : m.before ? 0 : -ENOMEM; /* without an index the first view has failed */
	}
	if (!ret && !m.index && uft_index_open(r->path, st, &m.index)) {
		m.index = uft_index_new(st, 0);
		m.is_new_index = 1;
		ret = m.index ? 0 : -ENOMEM;
	}
	if (!ret && is_all && !m.is_new_index)
		is_read = !read_levels(r, st, &m);
	if (!ret && !is_read)
		ret = making_run(&m, st, 0, &(struct making_watch){go_on, &w});
	ret = ret ? ret : uft_stream_check_file(st, NULL);
	pthread_mutex_lock(&r->lock);
	if (is_all)
		preview_end(r);
	if (!ret && r->is_stale)
		ret = -ECANCELED;
	if (!ret && !r->index) {
		ret = describe(r, st, &m);
		r->index = ret ? NULL : m.index;
	}
	if (!ret) {
		v->lod = m.lod;
		v->before = m.before;
		v->matches = m.matches;
		v->made = MADE_DONE;
		r->is_saving = is_all && !is_read && !recording_is_changed(r);
	} else if (ret != -ECANCELED) {
		v->made = MADE_FAILED;
		v->error = ret;
	}
	pthread_mutex_unlock(&r->lock);
	if (ret) {
		if (m.index && !m.is_new_index && m.index != r->index)
			uft_index_close(m.index);
		making_free(&m);
	} else if (r->is_saving) {
		save(r, st, &m);
		pthread_mutex_lock(&r->lock);
		r->is_saving = 0;
		pthread_mutex_unlock(&r->lock);
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

const char *view_error_text(int error)
{
	return error == -ESTALE ?
	       "the recording was cut off or overwritten while it was read: keep others from writing to it, and read it again" :
	       strerror(-error);
}

void put_failed(struct json *j, int error, const char *why)
{
	json_raw(j, "{\"state\":\"failed\"");
	json_key_str(j, "error", why ? why : view_error_text(error));
	json_raw(j, "}");
}

/* The view of a filter, ordered if it is new. The lock must be held. NULL: *why, or there is no room at the moment. */
static struct view *view_get(struct recording *r, const char *text, const char **why)
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

/* 1: @v is made; 0: the answer tells that it is not. */
int view_is_made(const struct view *v, struct json *j)
{
	if (v->made == MADE_DONE)
		return 1;
	if (v->made == MADE_FAILED)
		put_failed(j, v->error, NULL);
	else
		put_working(j, v->progress);
	return 0;
}

/* Gets a made view, or answers that it is not made. 1: *out; 0: answered; -EINVAL. The lock must be held. */
int view_need(struct recording *r, const char *filter, struct view **out, struct json *j, const char **why)
{
	struct view *v = view_get(r, filter, why);

	if (!v)
		return -EINVAL;
	*out = v;
	return view_is_made(v, j);
}
