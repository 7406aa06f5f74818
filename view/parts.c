/* SPDX-License-Identifier: MIT */
/*
 * parts.c - finer indices of parts, for pictures below a view's resolution
 *
 * A part of few events is made while the question waits. The worker makes larger parts, only the latest requested one.
 */
#include <errno.h>

#include "view/recording_internal.h"

#define FINE_SPANS (1u << 19)
#define FINE_AT_ONCE 56000u /* events, at most: 3 to 5 ms */

static struct fine *keep_fine(struct recording *r, const struct lod *of, struct lod *lod, uint64_t from, uint64_t to)
{
	struct fine *f = &r->fine[0];

	for (uint32_t i = 1; i < FINE; i++)
		if (!r->fine[i].lod || (f->lod && r->fine[i].used < f->used))
			f = &r->fine[i];
	lod_free(f->lod);
	*f = (struct fine){lod, of, from, to, ++r->clock};
	return f;
}

static int is_cancelled(struct recording *r)
{
	int is;

	pthread_mutex_lock(&r->lock);
	is = r->order.is_cancelled;
	pthread_mutex_unlock(&r->lock);
	return is;
}

/*
 * Makes the index of the calls below the view's resolution up to @to; @st is before them. NULL: no memory, or the
 * worker, which does not hold the lock, was cancelled.
 */
static struct lod *make_part(struct recording *r, struct uft_stream *st, const struct view *v, uint64_t to)
{
	uint64_t coarse = lod_resolution(v->lod);
	/* the end of all calls that begin in the part and are short enough for it */
	uint64_t end = r->origin_ns + to + coarse;
	struct lod *l = lod_new(r->names, &r->rows, r->origin_ns, FINE_SPANS, coarse);
	struct uft_event ev[BATCH];
	uint64_t done = 0;
	int ret = 0;
	size_t n;

	while (l && ret >= 0 && (n = uft_stream_batch(st, ev, BATCH)) != 0) {
		size_t i;

		for (i = 0; i < n && ev[i].ts_ns <= end && ret >= 0; i++)
			ret = lod_add(l, &ev[i], v->filter);
		if (i < n)
			break;
		done += n;
		if (st != r->st && done % (128 * BATCH) < BATCH && is_cancelled(r))
			ret = -ECANCELED;
	}
	if (l && ret >= 0 && !uft_stream_check_file(st, NULL) && !lod_finish(l, NULL))
		return l;
	lod_free(l);
	return NULL;
}

static const struct uft_select all = {.no_parents = 1};

/* Opening a recording takes a while, so the worker keeps its stream, as the asking thread does. */
void part_make(struct recording *r, struct order *o)
{
	int ret = r->part_st ? 0 : recording_stream_of(r, &all, &r->part_st);
	struct lod *l = NULL;

	if (!ret && !uft_stream_seek(r->part_st, r->index, uft_index_find_ns(r->index, r->origin_ns + o->from)))
		l = make_part(r, r->part_st, o->v, o->to);
	pthread_mutex_lock(&r->lock);
	if (l)
		keep_fine(r, o->v->lod, l, o->from, o->to);
	*o = (struct order){.has_next = o->has_next, .next = o->next};
	pthread_mutex_unlock(&r->lock);
}

void part_forget_view(struct recording *r, const struct view *v)
{
	for (uint32_t i = 0; i < FINE; i++)
		if (v->lod && r->fine[i].of == v->lod) {
			lod_free(r->fine[i].lod);
			r->fine[i] = (struct fine){0};
		}
	if (r->order.next.v == v)
		r->order.has_next = 0;
}

void part_forget_all(struct recording *r)
{
	for (uint32_t i = 0; i < FINE; i++) {
		lod_free(r->fine[i].lod);
		r->fine[i] = (struct fine){0};
	}
	uft_stream_close(r->st);
	uft_stream_close(r->part_st);
	r->st = r->part_st = NULL;
}

int part_seek(struct recording *r, size_t point)
{
	int ret = r->st ? 0 : recording_stream(r, &all, &r->st);

	return ret ? ret : uft_stream_seek(r->st, r->index, point);
}

static struct fine *find_fine(struct recording *r, const struct view *v, uint64_t from, uint64_t to)
{
	for (uint32_t i = 0; i < FINE; i++) {
		struct fine *f = &r->fine[i];

		if (f->lod && f->of == v->lod && f->from <= from && f->to >= to) {
			f->used = ++r->clock;
			return f;
		}
	}
	return NULL;
}

/*
 * 1: the part has so few events that a question waits for its index. It reaches from the point before it to the point
 * behind the end of make_part().
 */
static int is_short(const struct recording *r, const struct view *v, uint64_t from, uint64_t to)
{
	size_t first = uft_index_find_ns(r->index, r->origin_ns + from),
	       last = uft_index_find_ns(r->index, r->origin_ns + to + lod_resolution(v->lod)) + 1;
	uint64_t end = last < uft_index_points(r->index) ? uft_index_point_event(r->index, last) : r->info.events;

	return end - uft_index_point_event(r->index, first) < FINE_AT_ONCE;
}

/*
 * The finer index for [from, to): an existing one, one made now, or one ordered from the worker. NULL: there is none
 * yet, and *is_coarse is set. The index is wider by half on both sides, for a user who moves the picture.
 */
struct fine *part_get(struct recording *r, struct view *v, uint64_t from, uint64_t to, int *is_coarse)
{
	struct fine *f = find_fine(r, v, from, to);
	uint64_t width = (to - from) / 2;
	struct lod *l;

	if (f)
		return f;
	from = from > width ? from - width : 0;
	to += width;
	if (is_short(r, v, from, to)) {
		l = part_seek(r, uft_index_find_ns(r->index, r->origin_ns + from)) ? NULL : make_part(r, r->st, v, to);
		return l ? keep_fine(r, v->lod, l, from, to) : NULL;
	}
	*is_coarse = 1;
	if (r->order.v != v || r->order.from != from || r->order.to != to) {
		r->order.is_cancelled = r->order.made == MADE_WORKING;
		r->order.next = (struct part){v, from, to};
		r->order.has_next = 1;
		pthread_cond_broadcast(&r->ordered);
	}
	return NULL;
}
