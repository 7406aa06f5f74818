/* SPDX-License-Identifier: MIT */
/* tiles.c - what a picture of some rows needs: spans of each lane, and the names in them */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "view/recording_internal.h"

#define TILE_SPANS (1u << 20)

struct tile_out {
	struct json *j;
	uint32_t lane;
	int has_lane;
	uint64_t from;
	size_t n;
	uint64_t *mark; /* names that occur, a bit each */
	uint32_t nmark; /* names that there are */
};

/* start relative to the tile (negative: it began before), length, name, calls, fill */
static void put_span(void *arg, uint32_t lane, const struct lod_span *s)
{
	struct tile_out *o = arg;
	const uint64_t v[] = {s->start < o->from ? o->from - s->start : s->start - o->from, s->len, s->name, s->count,
			      s->fill};

	if (o->n++ >= TILE_SPANS)
		return;
	if (!o->has_lane || o->lane != lane) {
		if (o->has_lane)
			json_raw(o->j, "]],[");
		else
			json_raw(o->j, "[");
		json_u(o->j, lane);
		json_raw(o->j, ",[");
		o->lane = lane;
		o->has_lane = 1;
	} else {
		json_raw(o->j, ",");
	}
	json_numbers(o->j, v, sizeof(v) / sizeof(v[0]), s->start < o->from);
}

static void put_task_span(void *arg, uint32_t lane, const struct lod_span *s)
{
	struct tile_out *o = arg;

	if (s->name < o->nmark)
		o->mark[s->name / 64] |= 1ull << s->name % 64;
	put_span(arg, lane, s);
}

static void put_names(struct recording *r, struct tile_out *o)
{
	json_key(o->j, "names");
	json_raw(o->j, "{");
	for (uint32_t i = 0; i < (o->nmark + 63) / 64; i++)
		for (uint64_t word = o->mark[i]; word; word &= word - 1) {
			uint32_t name = 64 * i + (uint32_t)__builtin_ctzll(word);
			char key[16];

			snprintf(key, sizeof(key), "%u", name);
			json_key_str(o->j, key, names_text(&r->names, name));
		}
	json_raw(o->j, "}");
}

int recording_tiles(struct recording *r, const char *filter, struct view_range range, uint32_t width,
		    const uint32_t *rows, size_t nrows, struct json *j, const char **why)
{
	uint64_t pixel = (range.to - range.from) / (width ? width : 1);
	struct tile_out o = {.j = j, .from = range.from};
	struct fine *fine = NULL;
	struct view *v;
	int ret = 0, is_coarse = 0;

	pthread_mutex_lock(&r->lock);
	v = view_get(r, filter, why);
	if (!v) {
		ret = -EINVAL;
		goto out;
	}
	if (!view_is_made(v, j))
		goto out;
	if (lod_resolution(v->lod) > pixel + 1)
		fine = part_get(r, v, range.from, range.to, &is_coarse);
	o.nmark = names_count(&r->names);
	o.mark = calloc(o.nmark / 64 + 1, sizeof(*o.mark));
	if (!o.mark) {
		ret = -ENOMEM;
		goto out;
	}
	json_raw(j, "{\"state\":\"done\"");
	json_key_u(j, "from", range.from);
	json_key_u(j, "to", range.to);
	json_key_u(j, "pixel", pixel);
	json_key_u(j, "coarse", (uint64_t)is_coarse);
	json_key_u(j, "matches", v->matches);
	json_key_u(j, "generation", r->generation);
	json_key(j, "rows");
	json_raw(j, "[");
	for (size_t i = 0; i < nrows; i++) {
		json_comma(j);
		json_raw(j, "{");
		json_key_u(j, "row", rows[i]);
		json_key(j, "lanes");
		json_raw(j, "[");
		o.has_lane = 0;
		lod_query(v->lod, fine ? fine->lod : NULL, rows[i], range.from, range.to, pixel,
			  rows[i] & ROW_CPU ? put_span : put_task_span, &o);
		json_raw(j, o.has_lane ? "]]]}" : "]}");
	}
	json_raw(j, "]");
	put_names(r, &o);
	json_raw(j, "}");
	ret = j->err;
out:
	pthread_mutex_unlock(&r->lock);
	free(o.mark);
	return ret;
}
