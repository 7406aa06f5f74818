/* SPDX-License-Identifier: MIT */
/*
 * lod_preview.c - a first picture of levels of detail that are still being made
 *
 * It is a coarse copy: spans are merged until about as many are left as a screen has pixels, and open calls end at the
 * last event so far. Making it takes a pass over the spans, not over events.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "view/lod_internal.h"

#define PREVIEW_PARTS 4096u /* of the time so far: shorter calls are merged */

static int copy_track(struct lod *to, const struct track *t)
{
	struct track *copy = lod_track(to, t->row, t->lane);

	if (!copy)
		return -ENOMEM;
	copy->end = t->end;
	if (!t->nraw)
		return 0;
	copy->raw = malloc(t->nraw * sizeof(*copy->raw));
	if (!copy->raw)
		return -ENOMEM;
	copy->nraw = lod_merge(copy->raw, t->raw, t->nraw, to->resolution);
	copy->cap_raw = t->nraw;
	to->room += t->nraw;
	to->total += copy->nraw;
	return 0;
}

/* Copies the rows and their open calls: @to finds its own tracks for them. */
static int copy_rows(struct lod *to, const struct lod *from)
{
	for (uint32_t i = 0; i < from->nrow; i++) {
		if (array_reach(to->row, to->cap_row, i) < 0)
			return -ENOMEM;
		to->row[i] = from->row[i];
	}
	to->nrow = from->nrow;
	for (uint32_t i = 0; i < from->nstate; i++) {
		const struct row_state *s = &from->state[i];

		if (array_reach(to->state, to->nstate, i) < 0)
			return -ENOMEM;
		to->state[i] = *s;
		to->state[i].open = NULL;
		to->state[i].cap = 0;
		if (s->cap && array_reach(to->state[i].open, to->state[i].cap, s->cap - 1) < 0)
			return -ENOMEM;
		for (uint32_t d = 0; d < s->cap; d++) {
			to->state[i].open[d] = s->open[d];
			to->state[i].open[d].track = NULL;
		}
	}
	for (uint32_t i = 0; i < from->ncpu; i++) {
		if (array_reach(to->cpu, to->ncpu, i) < 0)
			return -ENOMEM;
		to->cpu[i] = from->cpu[i];
	}
	return 0;
}

struct lod *lod_preview(const struct lod *from)
{
	struct lod *to = lod_new(from->names, from->rows, from->origin_ns, SIZE_MAX, 0);
	int ret;

	if (!to)
		return NULL;
	to->last = from->last;
	to->resolution = lod_power_of_two(from->last / PREVIEW_PARTS);
	to->resolution = to->resolution > from->resolution ? to->resolution : from->resolution;
	memcpy(to->state_name, from->state_name, sizeof(to->state_name));
	ret = copy_rows(to, from);
	for (uint32_t i = 0; i < from->ntrack && !ret; i++)
		ret = copy_track(to, from->track[i]);
	ret = ret ? ret : lod_finish(to, NULL);
	if (!ret)
		return to;
	lod_free(to);
	return NULL;
}
