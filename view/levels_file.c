/* SPDX-License-Identifier: MIT */
/*
 * levels_file.c - the first view of a recording, kept beside it
 *
 * Layout: struct levels_head; the description, as varints (wire.h): rows, names, the rows of the view, its tracks; then
 * the spans as they are in memory, track by track, level by level. The file has its own numbers of rows and names;
 * reading converts them to those of the reader's tables.
 *
 * Hostile input. The sums detect accidental damage. A forged file can make the view draw other spans, but each number
 * in it is checked: spans are in the order of time, names and rows exist, no size exceeds the file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stream/wire/wire.h"
#include "view/levels_file.h"
#include "view/lod_internal.h"

#define SUFFIX ".levels"
#define FILE_MAX (1ull << 30)
#define DESCRIBED_MAX (256u << 20)
#define TRACKS_MAX (1u << 20)

/* ---- Writing ----------------------------------------------------------------------------------------------- */

static void put_tables(struct wire *w, struct names *names, struct rows *rows)
{
	uint32_t n = rows_count(rows);

	wire_put_u(w, n);
	for (uint32_t i = 0; i < n; i++) {
		struct row row;

		rows_at(rows, i, &row);
		wire_put_u(w, row.pid);
		wire_put_u(w, row.tid);
		wire_put_u(w, row.ppid);
		wire_put_str(w, row.comm);
	}
	n = names_count(names);
	wire_put_u(w, n);
	for (uint32_t i = 0; i < n; i++)
		wire_put_str(w, names_text(names, i));
}

static void put_lod(struct wire *w, const struct lod *l)
{
	wire_put_u(w, l->origin_ns);
	wire_put_u(w, l->resolution);
	wire_put_u(w, l->last);
	wire_put_u(w, l->nrow);
	for (uint32_t i = 0; i < l->nrow; i++) {
		wire_put_u(w, l->row[i].row);
		wire_put_u(w, l->row[i].lanes);
		wire_put_u(w, l->row[i].calls);
		wire_put_u(w, l->row[i].events);
		wire_put_u(w, l->row[i].first);
		wire_put_u(w, l->row[i].last);
	}
	wire_put_u(w, l->ntrack);
	for (uint32_t i = 0; i < l->ntrack; i++) {
		const struct track *t = l->track[i];

		wire_put_u(w, t->row);
		wire_put_u(w, t->lane);
		wire_put_u(w, t->nlevels);
		for (uint32_t k = 0; k < t->nlevels; k++) {
			wire_put_u(w, t->resolution[k]);
			wire_put_u(w, t->level[k].n);
		}
	}
}

/* The sum of the sums of levels, so that no copy of all spans is needed. */
static uint64_t add_sum(uint64_t sum, const struct level *v)
{
	uint64_t both[2] = {sum, wire_sum(v->v, v->n * sizeof(*v->v))};

	return wire_sum(both, sizeof(both));
}

static void describe(struct wire *w, const struct levels *v, struct names *names, struct rows *rows,
		     struct levels_head *h)
{
	put_tables(w, names, rows);
	put_lod(w, v->lod);
	for (uint32_t i = 0; i < v->lod->ntrack; i++)
		for (uint32_t k = 0; k < v->lod->track[i]->nlevels; k++) {
			const struct level *level = &v->lod->track[i]->level[k];

			h->spans += level->n * sizeof(*level->v);
			h->spans_sum = add_sum(h->spans_sum, level);
		}
	h->described = w->n;
	h->described_sum = w->err ? 0 : wire_sum(w->p, w->n);
	h->sum = wire_sum(h, offsetof(struct levels_head, sum));
}

int levels_save(const char *path, const struct rd_file *of, const struct levels *v, struct names *names,
		struct rows *rows)
{
	struct levels_head h = {
		.magic = LEVELS_MAGIC, .matches = v->matches, .first_ns = v->first_ns, .last_ns = v->last_ns};
	struct wire w = {0};
	struct sidecar s;
	int ret;

	sidecar_mark(of, &h.of);
	describe(&w, v, names, rows, &h);
	ret = w.err ? w.err : sidecar_begin(path, SUFFIX, &s);
	if (!ret) {
		fwrite(&h, sizeof(h), 1, s.f);
		fwrite(w.p, 1, w.n, s.f);
		for (uint32_t i = 0; i < v->lod->ntrack; i++)
			for (uint32_t k = 0; k < v->lod->track[i]->nlevels; k++) {
				const struct level *level = &v->lod->track[i]->level[k];

				fwrite(level->v, sizeof(*level->v), level->n, s.f);
			}
		ret = sidecar_end(&s, 0);
	}
	wire_free(&w);
	return ret;
}

/* ---- Reading ----------------------------------------------------------------------------------------------- */

struct reading {
	struct wire_in in;
	struct names *names;
	struct rows *rows;
	uint32_t *row, nrow, *name, nname; /* by the file's numbers: the tables' */
	struct levels *v;
};

/* Reads the number of the elements that follow, of at least @bytes each and @max at most. */
static uint32_t get_count(struct wire_in *in, size_t bytes, uint32_t max)
{
	uint32_t n = wire_get_u32(in);

	if (n > max /* GUARD(levels_count) */ || n > (size_t)(in->end - in->p) / bytes)
		in->bad = 1;
	return in->bad ? 0 : n;
}

static int get_tables(struct reading *r)
{
	char *text;

	r->nrow = get_count(&r->in, 4, ROWS_MAX);
	r->row = calloc(r->nrow + 1ull, sizeof(*r->row));
	for (uint32_t i = 0; r->row && i < r->nrow; i++) {
		uint32_t pid = wire_get_u32(&r->in), tid = wire_get_u32(&r->in), ppid = wire_get_u32(&r->in);

		text = wire_get_str(&r->in);
		if (!text)
			return -EBADMSG;
		r->row[i] = rows_get(r->rows, pid, tid, ppid, text);
		free(text);
	}
	r->nname = get_count(&r->in, 1, NAMES_MAX);
	r->name = calloc(r->nname + 1ull, sizeof(*r->name));
	for (uint32_t i = 0; r->name && i < r->nname; i++) {
		text = wire_get_text(&r->in);
		if (!text)
			return -EBADMSG;
		r->name[i] = names_get(r->names, text);
		free(text);
	}
	return !r->row || !r->name ? -ENOMEM : r->in.bad ? -EBADMSG : 0;
}

/* Reads a row: that of a task, by the file's number, or that of a CPU. */
static uint32_t get_row(struct reading *r)
{
	uint32_t row = wire_get_u32(&r->in);

	if (row & ROW_CPU)
		return row;
	if (row >= r->nrow) {
		r->in.bad = 1;
		return 0;
	}
	return r->row[row];
}

static int get_rows(struct reading *r, struct lod *l)
{
	uint32_t n = get_count(&r->in, 6, ROWS_MAX);

	for (uint32_t i = 0; i < n && !r->in.bad; i++) {
		uint32_t row = get_row(r);
		struct lod_row *p;

		if (row & ROW_CPU)
			return -EBADMSG;
		if (array_reach(l->state, l->nstate, row) < 0 ||
		    !(p = lod_row_of(l, row, &l->state[row].at, 0)))
			return -ENOMEM;
		p->lanes = wire_get_u32(&r->in);
		p->calls = wire_get_u(&r->in);
		p->events = wire_get_u(&r->in);
		p->first = wire_get_u(&r->in);
		p->last = wire_get_u(&r->in);
		if (p->lanes > LOD_LANES)
			return -EBADMSG;
	}
	return r->in.bad ? -EBADMSG : 0;
}

/* Reads the tracks. Each level takes its part of @room spans. */
static int get_tracks(struct reading *r, struct lod *l, size_t room)
{
	struct lod_span *at = l->loaded;
	uint32_t n = get_count(&r->in, 5, TRACKS_MAX);

	for (uint32_t i = 0; i < n && !r->in.bad; i++) {
		uint32_t row = get_row(r), lane = wire_get_u32(&r->in), nlevels = wire_get_u32(&r->in);
		struct track *t;

		if (r->in.bad || lane > LANE_LOST || !nlevels || nlevels > LEVELS)
			return -EBADMSG;
		t = lod_track(l, row, lane);
		if (!t)
			return -ENOMEM;
		if (t->nlevels)
			return -EBADMSG;
		for (uint32_t k = 0; k < nlevels; k++) {
			uint64_t resolution = wire_get_u(&r->in), spans = wire_get_u(&r->in);

			if (r->in.bad || spans > room || (k && resolution < t->resolution[k - 1]))
				return -EBADMSG;
			t->resolution[k] = resolution;
			t->level[k] = (struct level){at, spans, spans};
			at += spans;
			room -= spans;
			l->total += spans;
		}
		t->nlevels = nlevels;
	}
	return r->in.bad || room ? -EBADMSG : 0;
}

/* Converts the file's numbers of names and tasks to the tables'. Checks the order of time, which queries rely on. */
static int take_level(const struct reading *r, const struct track *t, struct level *v)
{
	int is_task = t->row & ROW_CPU && t->lane != LANE_LOST;
	const uint32_t *map = is_task ? r->row : r->name;
	uint32_t n = is_task ? r->nrow : r->nname;
	uint64_t end = 0;

	for (size_t i = 0; i < v->n; i++) {
		struct lod_span *s = &v->v[i];

		if (s->start < end || s->len > UINT64_MAX / 2 - s->start || s->name >= n || !s->count)
			return -EBADMSG;
		end = s->start + s->len;
		s->name = map[s->name];
	}
	return 0;
}

static int get_levels(struct reading *r, const struct levels_head *h, int fd)
{
	struct lod *l = r->v->lod;
	uint64_t sum = 0;
	int ret = get_tables(r);

	if (ret)
		return ret;
	l->origin_ns = wire_get_u(&r->in);
	l->resolution = wire_get_u(&r->in);
	l->last = wire_get_u(&r->in);
	l->loaded = malloc(h->spans + 1);
	ret = l->loaded ? wire_read_at(fd, l->loaded, h->spans, sizeof(*h) + h->described) : -ENOMEM;
	if (!ret)
		ret = get_rows(r, l);
	if (!ret)
		ret = get_tracks(r, l, h->spans / sizeof(struct lod_span));
	if (!ret && r->in.p != r->in.end)
		ret = -EBADMSG;
	for (uint32_t i = 0; i < l->ntrack && !ret; i++)
		for (uint32_t k = 0; k < l->track[i]->nlevels && !ret; k++) {
			sum = add_sum(sum, &l->track[i]->level[k]);
			ret = take_level(r, l->track[i], &l->track[i]->level[k]);
		}
	return ret ? ret : sum == h->spans_sum ? 0 : -EBADMSG;
}

int levels_open(const char *path, const struct rd_file *of, struct names *names, struct rows *rows, struct levels *out)
{
	struct reading r = {.names = names, .rows = rows, .v = out};
	struct levels_head h;
	uint64_t size = 0;
	uint8_t *text = NULL;
	int fd = sidecar_open(path, SUFFIX, of, &size), ret = 0;

	*out = (struct levels){0};
	if (fd < 0)
		return fd;
	if (wire_read_at(fd, &h, sizeof(h), 0) || h.magic != LEVELS_MAGIC ||
	    h.sum != wire_sum(&h, offsetof(struct levels_head, sum)) || !sidecar_has_mark(of, &h.of))
		ret = -ENOENT;
	else if (size > FILE_MAX || h.described > DESCRIBED_MAX || h.described > size || h.spans > size ||
		 h.spans % sizeof(struct lod_span) ||
		 sizeof(h) + h.described + h.spans != size)
		ret = -EBADMSG;
	if (!ret) {
		*out = (struct levels){.lod = lod_new(names, rows, 0, 0, 0),
				       .matches = h.matches,
				       .first_ns = h.first_ns,
				       .last_ns = h.last_ns};
		text = malloc(h.described + 1);
		ret = text && out->lod ? wire_read_at(fd, text, h.described, sizeof(h)) : -ENOMEM;
	}
	if (!ret && wire_sum(text, h.described) != h.described_sum)
		ret = -EBADMSG;
	if (!ret) {
		r.in = (struct wire_in){.p = text, .end = text + h.described};
		ret = get_levels(&r, &h, fd);
	}
	close(fd);
	free(text);
	free(r.row);
	free(r.name);
	if (ret) {
		lod_free(out->lod);
		*out = (struct levels){0};
	}
	return ret;
}
