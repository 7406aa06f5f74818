/* SPDX-License-Identifier: MIT */
/*
 * lod_query.c - query levels of detail for a picture: for each lane, spans that are at most one a pixel
 *
 * A query walks the level whose spans are just not longer than a pixel, and makes one span of the spans in a column. So
 * its time depends on the pixels, not on the calls. Levels are finished, or a preview's, and do not change meanwhile. A
 * query allocates nothing and cannot fail.
 */
#include "view/lod_internal.h"

struct walk {
	const struct lod_span *p, *end;
};

/* The spans of a track that reach into [from, to), from the level that fits the pixel. */
static struct walk walk_track(const struct track *t, uint64_t from, uint64_t to, uint64_t pixel)
{
	const struct level *v;
	uint32_t k = 0;
	size_t lo = 0, hi, end;

	if (!t)
		return (struct walk){NULL, NULL};
	while (k + 1 < t->nlevels && t->resolution[k + 1] <= pixel)
		k++;
	v = &t->level[k];
	for (hi = v->n; lo < hi;) { /* the first that does not end before */
		size_t mid = (lo + hi) / 2;

		if (v->v[mid].start + v->v[mid].len < from)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (end = lo, hi = v->n; end < hi;) { /* the first that begins behind */
		size_t mid = (end + hi) / 2;

		if (v->v[mid].start < to)
			end = mid + 1;
		else
			hi = mid;
	}
	return (struct walk){v->v + lo, v->v + end};
}

/* The spans of one column of the picture, as far as they are known. */
struct column {
	struct lod_span s;
	uint32_t n;	      /* spans in it */
	uint64_t end;	      /* of the column; 0: its span is not shorter, and stays alone */
	double busy, longest; /* ns of calls in it; of each, of the span whose name it has */
};

static void begin_column(struct column *c, const struct lod_span *s, uint64_t pixel)
{
	*c = (struct column){.s = *s, .n = 1};
	if (s->len >= pixel)
		return;
	c->end = s->start - s->start % pixel + pixel;
	c->busy = (double)s->len * s->fill;
	c->longest = c->busy / s->count;
}

static void add_to_column(struct column *c, const struct lod_span *s)
{
	double busy = (double)s->len * s->fill, longest = busy / s->count;

	if (longest > c->longest) {
		c->longest = longest;
		c->s.name = s->name;
	}
	c->busy += busy;
	c->s.len = s->start + s->len - c->s.start;
	c->s.count = lod_sum_count(c->s.count, s->count);
	c->n++;
}

struct lane_query {
	const struct lod_asked *asked;
	uint64_t below; /* calls shorter than this are shown by the finer index; 0: there is none */
	void (*put)(void *arg, uint32_t lane, const struct lod_span *s);
	void *arg;
};

static void put_column(const struct lane_query *q, uint32_t lane, struct column *c)
{
	if (c->n > 1)
		c->s.fill = lod_fill_of((uint64_t)(c->busy / 255), c->s.len);
	if (c->n)
		q->put(q->arg, lane, &c->s);
}

static void query_lane(const struct lane_query *q, const struct track *t, const struct track *fine, uint32_t lane)
{
	const struct lod_asked *k = q->asked;
	struct walk a = walk_track(t, k->from, k->to, k->pixel), b = walk_track(fine, k->from, k->to, k->pixel);
	uint64_t pixel = k->pixel;
	struct column c = {0};

	for (;;) {
		const struct lod_span *s;

		while (q->below && a.p < a.end && (a.p->len < q->below || a.p->count > 1))
			a.p++;
		if (a.p == a.end && b.p == b.end)
			break;
		s = b.p == b.end || (a.p < a.end && a.p->start <= b.p->start) ? a.p++ : b.p++;
		if (s->start < c.end && s->len < pixel) {
			add_to_column(&c, s);
			continue;
		}
		put_column(q, lane, &c);
		begin_column(&c, s, pixel);
	}
	put_column(q, lane, &c);
}

void lod_query(const struct lod *l, const struct lod *fine, const struct lod_asked *asked,
	       void (*put)(void *arg, uint32_t lane, const struct lod_span *s), void *arg)
{
	struct lane_query q = {asked, fine ? l->resolution : 0, put, arg};
	uint32_t row = asked->row;
	uint32_t lanes = row & ROW_CPU			       ? 1
			 : row < l->nstate && l->state[row].at ? l->row[l->state[row].at - 1].lanes
							       : 0;

	lanes = asked->behind_lane < lanes ? asked->behind_lane : lanes;
	for (uint32_t lane = asked->first_lane; lane < lanes; lane++)
		query_lane(&q, lod_find_track(l, row, lane), fine ? lod_find_track(fine, row, lane) : NULL, lane);
	for (uint32_t lane = LANE_STATES; lane <= LANE_LOST; lane++)
		query_lane(&q, lod_find_track(l, row, lane), fine ? lod_find_track(fine, row, lane) : NULL, lane);
}
