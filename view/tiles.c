/* SPDX-License-Identifier: MIT */
/* tiles.c - what a picture of some rows needs: spans of each lane, and the names in them */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "view/recording_internal.h"

#define TILE_SPANS (1u << 20)

struct tile_out {
	struct json *j;
	uint32_t lane, last_name;
	int has_lane;
	uint64_t from;
	size_t n;
	uint32_t *seen;
	size_t nseen, cap_seen; /* names that occur, unsorted */
};

static void note_name(struct tile_out *o, uint32_t name)
{
	if (o->last_name == name)
		return;
	o->last_name = name;
	if (o->nseen == o->cap_seen) {
		size_t cap = o->cap_seen ? 2 * o->cap_seen : 256;
		uint32_t *grown = realloc(o->seen, cap * sizeof(*grown));

		if (!grown) {
			o->j->err = -ENOMEM;
			return;
		}
		o->seen = grown;
		o->cap_seen = cap;
	}
	o->seen[o->nseen++] = name;
}

/* start relative to the tile (negative: it began before), length, name, calls, fill */
static void put_span(void *arg, uint32_t lane, const struct lod_span *s)
{
	struct tile_out *o = arg;

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
	if (s->start < o->from)
		json_raw(o->j, "-");
	json_u(o->j, s->start < o->from ? o->from - s->start : s->start - o->from);
	json_raw(o->j, ",");
	json_u(o->j, s->len);
	json_raw(o->j, ",");
	json_u(o->j, s->name);
	json_raw(o->j, ",");
	json_u(o->j, s->count);
	json_raw(o->j, ",");
	json_u(o->j, s->fill);
}

static void put_task_span(void *arg, uint32_t lane, const struct lod_span *s)
{
	struct tile_out *o = arg;

	note_name(o, s->name);
	put_span(arg, lane, s);
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void put_names(struct recording *r, struct tile_out *o)
{
	qsort(o->seen, o->nseen, sizeof(*o->seen), compare_u32);
	json_key(o->j, "names");
	json_raw(o->j, "{");
	for (size_t i = 0; i < o->nseen; i++) {
		char key[16];

		if (i && o->seen[i] == o->seen[i - 1])
			continue;
		snprintf(key, sizeof(key), "%u", o->seen[i]);
		json_key_str(o->j, key, names_text(&r->names, o->seen[i]));
	}
	json_raw(o->j, "}");
}

int recording_tiles(struct recording *r, const char *filter, struct view_range range, uint32_t width,
		    const uint32_t *rows, size_t nrows, struct json *j, const char **why)
{
	uint64_t pixel = (range.to - range.from) / (width ? width : 1);
	struct tile_out o = {.j = j, .from = range.from, .last_name = UINT32_MAX};
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
	free(o.seen);
	return ret;
}
