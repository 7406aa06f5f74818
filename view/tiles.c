/* SPDX-License-Identifier: MIT */
/* tiles.c - the data of a picture of some rows: spans of each lane, and the names in them */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "output/export/protobuf.h"
#include "view/recording_internal.h"

#define TILE_SPANS (1u << 20)

#define PACKED_HEAD 4u
#define PACKED_ROOM 64u /* bytes: five varints of at most 10 */

struct tile_out {
	struct json *j;
	struct json *packed; /* spans as bytes, behind 4 bytes for how many there are; NULL: they are in j */
	uint32_t lane;
	int has_lane;
	uint64_t in_lane; /* spans so far */
	int64_t end;	  /* packed: of the span before */
	int64_t shift;	  /* from a recording's time to the answer's */
	size_t n;
	uint64_t *mark; /* names that occur, a bit each */
	uint32_t nmark; /* names that there are */
};

static void end_lane(struct tile_out *o)
{
	if (!o->has_lane)
		return;
	if (o->packed)
		json_u(o->j, o->in_lane);
	else
		json_raw(o->j, "]");
	json_raw(o->j, "]");
	o->has_lane = 0;
}

static void begin_lane(struct tile_out *o, uint32_t lane)
{
	if (o->has_lane && o->lane == lane)
		return;
	end_lane(o);
	json_comma(o->j);
	json_raw(o->j, "[");
	json_u(o->j, lane);
	json_raw(o->j, o->packed ? "," : ",[");
	o->lane = lane;
	o->has_lane = 1;
	o->in_lane = 0;
	o->end = 0;
}

/* start relative to the tile (negative: it began before), length, name, calls, fill */
static void put_span(void *arg, uint32_t lane, const struct lod_span *s)
{
	struct tile_out *o = arg;
	int64_t at = (int64_t)s->start + o->shift;
	const uint64_t v[] = {(uint64_t)(at < 0 ? -at : at), s->len, s->name, s->count, s->fill};
	char *p;

	if (o->n++ >= TILE_SPANS)
		return;
	begin_lane(o, lane);
	if (!o->packed) {
		if (o->in_lane++)
			json_bytes(o->j, ",", 1);
		json_numbers(o->j, v, sizeof(v) / sizeof(v[0]), at < 0);
		return;
	}
	o->in_lane++;
	at -= o->end;
	o->end += at + (int64_t)s->len;
	p = json_room(o->packed, PACKED_ROOM);
	if (!p)
		return;
	p = pb_put_varint(p, (uint64_t)at << 1 ^ (uint64_t)(at >> 63));
	for (size_t i = 1; i < sizeof(v) / sizeof(v[0]); i++)
		p = pb_put_varint(p, v[i]);
	o->packed->n = (size_t)(p - o->packed->p);
}

static void put_task_span(void *arg, uint32_t lane, const struct lod_span *s)
{
	struct tile_out *o = arg;

	if (s->name < o->nmark)
		o->mark[s->name / 64] |= 1ull << s->name % 64;
	put_span(arg, lane, s);
}

static void put_names(struct names *names, struct tile_out *o)
{
	json_key(o->j, "names");
	json_raw(o->j, "{");
	for (uint32_t i = 0; i < (o->nmark + 63) / 64; i++)
		for (uint64_t word = o->mark[i]; word; word &= word - 1) {
			uint32_t name = 64 * i + (uint32_t)__builtin_ctzll(word);
			char key[16];

			snprintf(key, sizeof(key), "%u", name);
			json_key_str(o->j, key, names_text(names, name));
		}
	json_raw(o->j, "}");
}

/* One recording's part of a picture: its view, levels, and the range to draw. */
struct tile_part {
	struct view *v;
	const struct lod *lod;
	struct fine *fine;
	struct view_range range;
};

static void put_rows(const struct tile_part *part, uint32_t place, uint64_t pixel, const struct tiles_asked *q,
		     struct tile_out *o)
{
	for (size_t i = 0; i < q->nrows; i++) {
		struct lod_asked asked = q->rows[i];
		uint32_t is_cpu = asked.row & ROW_CPU;

		if ((asked.row & ~ROW_CPU) >> ROW_PLACE != place)
			continue;
		json_comma(o->j);
		json_raw(o->j, "{");
		json_key_u(o->j, "row", asked.row);
		json_key(o->j, "lanes");
		json_raw(o->j, "[");
		asked.row = (asked.row & ((1u << ROW_PLACE) - 1)) | is_cpu;
		asked.from = part->range.from;
		asked.to = part->range.to;
		asked.pixel = pixel;
		lod_query(part->lod, part->fine ? part->fine->lod : NULL, &asked, is_cpu ? put_span : put_task_span, o);
		end_lane(o);
		json_raw(o->j, "]}");
	}
}

/* Writes the number of bytes of spans in front of them, little endian. */
static void put_size(struct json *packed)
{
	for (size_t i = 0; i < PACKED_HEAD && !packed->err; i++)
		packed->p[i] = (char)((packed->n - PACKED_HEAD) >> 8 * i);
}

static uint64_t less(uint64_t t, uint64_t offset)
{
	return t > offset ? t - offset : 0;
}

int view_tiles(const struct sources *s, const struct tiles_asked *q, struct json *j, int *is_packed, const char **why)
{
	struct view_range range = q->range;
	uint64_t pixel = (range.to - range.from) / (q->width ? q->width : 1), matches = 0, generation = 0;
	struct tile_part part[SOURCES_MAX] = {{0}};
	struct tile_out o = {.j = j};
	struct json head = {0};
	int ret = 1, is_coarse = 0;
	size_t n = 0;

	*is_packed = 0;
	while (n < s->n && ret > 0) {
		struct recording *r = s->file[n];

		pthread_mutex_lock(&r->lock);
		if (s->n == 1 && r->preview.lod && !*q->filter) { /* its first view is being made */
			part[n].lod = r->preview.lod;
			part[n].range = range;
			matches = r->preview.events;
			n++;
			break;
		}
		ret = view_need(r, q->filter, &part[n].v, j, why);
		if (ret > 0) {
			part[n].lod = part[n].v->lod;
			part[n].range = (struct view_range){less(range.from, s->offset[n]),
				less(range.to, s->offset[n])};
			if (lod_resolution(part[n].v->lod) > pixel + 1 && part[n].range.to > part[n].range.from)
				part[n].fine = part_get(r, part[n].v, part[n].range.from, part[n].range.to, &is_coarse);
			matches += part[n].v->matches;
			generation += r->generation;
		}
		n++;
	}
	if (ret <= 0)
		goto out;
	o.nmark = names_count(s->file[0]->names);
	o.mark = calloc(o.nmark / 64 + 1, sizeof(*o.mark));
	ret = o.mark ? 0 : -ENOMEM;
	if (ret)
		goto out;
	if (q->is_packed) { /* its text comes behind the bytes, which are more */
		json_bytes(j, "\0\0\0", PACKED_HEAD);
		o.packed = j;
		o.j = j = &head;
	}
	json_raw(j, "{\"state\":\"done\"");
	json_key_u(j, "from", range.from);
	json_key_u(j, "to", range.to);
	json_key_u(j, "pixel", pixel);
	json_key_u(j, "coarse", (uint64_t)is_coarse);
	json_key_u(j, "matches", matches);
	json_key_u(j, "generation", generation);
	json_key(j, "rows");
	json_raw(j, "[");
	for (uint32_t i = 0; i < s->n; i++) {
		o.shift = (int64_t)s->offset[i] - (int64_t)range.from;
		put_rows(&part[i], i, pixel, q, &o);
	}
	json_raw(j, "]");
	put_names(s->file[0]->names, &o);
	json_raw(j, "}");
	ret = o.j->err;
	if (o.packed) {
		put_size(o.packed);
		json_bytes(o.packed, head.p, head.n);
		ret = ret ? ret : o.packed->err;
		*is_packed = 1;
	}
out:
	while (n-- > 0)
		pthread_mutex_unlock(&s->file[n]->lock);
	json_free(&head);
	free(o.mark);
	return ret;
}
