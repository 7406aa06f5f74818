/* SPDX-License-Identifier: MIT */
/*
 * lod_join.c - levels of detail that several threads made, each of a part of the recording
 *
 * A part is made as if it were the whole recording, and joined to the parts before it. Spans join by their cells, which
 * all parts have in common, so the result is the same as of one pass. Three things reach over a border: calls that were
 * open there, calls open when a task executed another program, and the task of a CPU. A part notes the first two
 * (struct early) and keeps the third apart. Other facts, such as the states of threads, cannot be joined: they make a
 * part dependent, and then one thread makes all levels.
 */
#include <errno.h>
#include <stdlib.h>

#include "view/lod_internal.h"

struct joining {
	struct lod *to;
	const struct lod *part;
	const struct lod_part_map *map;
	uint32_t *name, *row; /* by the part's numbers: those of @to */
};

static uint32_t row_of(const struct joining *j, uint32_t row)
{
	return row & ROW_CPU ? row : j->row[row];
}

static int map_tables(struct joining *j)
{
	uint32_t nname = names_count(j->part->names), nrow = rows_count(j->part->rows);
	struct row r;

	j->name = calloc(nname + 1u, sizeof(*j->name));
	j->row = calloc(nrow + 1u, sizeof(*j->row));
	if (!j->name || !j->row)
		return -ENOMEM;
	for (uint32_t i = 0; i < nname; i++)
		j->name[i] = names_get(j->to->names, names_text(j->part->names, i));
	for (uint32_t i = 0; i < nrow && rows_at(j->part->rows, i, &r); i++)
		j->row[i] = rows_get(j->to->rows, r.pid, r.tid, r.ppid, r.comm);
	return 0;
}

/* Adds new rows. The sums of known rows follow after the calls that were open before have ended. */
static int make_rows(struct joining *j)
{
	for (uint32_t i = 0; i < j->part->nrow; i++) {
		uint32_t row = j->row[j->part->row[i].row];

		if (array_reach(j->to->state, j->to->nstate, row) < 0 ||
		    !lod_row_of(j->to, row, &j->to->state[row].at, j->part->row[i].first))
			return -ENOMEM;
	}
	return 0;
}

static int end_call(struct joining *j, const struct early *e)
{
	struct track *track = lod_track(j->to, j->row[e->row], e->lane);

	return track ? lod_add_span(j->to, track, e->t - e->len, e->len, j->name[e->name], 1) : -ENOMEM;
}

static int change_task(struct joining *j, const struct early *e)
{
	uint32_t row = j->row[e->row], task = j->map->task[e->task - 1] + 1;
	struct row_state *s = &j->to->state[row];

	if (s->task == task)
		return 0;
	s->task = task;
	return lod_close_open(j->to, row, e->t ? e->t - 1 : j->to->row[s->at - 1].last, e->touched);
}

static int do_early(struct joining *j)
{
	int ret = 0;

	for (uint32_t i = 0; i < j->part->nearly && !ret; i++) {
		const struct early *e = &j->part->early[i];

		ret = e->kind == EARLY_CALL ? end_call(j, e) : change_task(j, e);
	}
	return ret;
}

/* Joins the CPU's first span to its last one before, if the task is the same and the gap is short. */
static int join_cpu(struct joining *j, uint32_t cpu)
{
	const struct cpu_state *part = &j->part->cpu[cpu];
	int has_ended = part->has_first == FIRST_ENDED;
	uint32_t row = part->has_first ? row_of(j, has_ended ? part->first_row : part->row) : 0;
	uint64_t start = has_ended ? part->first_start : part->start;
	struct cpu_state *c;
	int ret = 0;

	if (part->has_first == FIRST_NONE)
		return 0;
	if (array_reach(j->to->cpu, j->to->ncpu, cpu) < 0)
		return -ENOMEM;
	c = &j->to->cpu[cpu];
	if (c->is_busy && (c->row != row || start - c->last > CPU_IDLE_NS /* GUARD(view_cpu_idle) */))
		ret = lod_close_cpu(j->to, cpu, c);
	if (!c->is_busy)
		*c = (struct cpu_state){.row = row, .is_busy = 1, .start = start};
	c->last = has_ended ? part->first_last : part->last;
	if (ret || !has_ended)
		return ret;
	ret = lod_close_cpu(j->to, cpu, c);
	if (part->is_busy)
		*c = (struct cpu_state){
			.row = row_of(j, part->row), .is_busy = 1, .start = part->start, .last = part->last
		};
	return ret;
}

static int join_track(struct joining *j, struct track *from)
{
	struct track *t = lod_track(j->to, row_of(j, from->row), from->lane);
	int is_task = from->row & ROW_CPU && from->lane != LANE_LOST, ret = t ? 0 : -ENOMEM;

	for (size_t i = 0; i < from->nraw && !ret; i++) {
		struct raw_span s = from->raw[i];

		s.name = is_task ? j->row[s.name] : j->name[s.name];
		ret = lod_add_raw(j->to, t, &s);
	}
	free(from->raw);
	from->raw = NULL;
	from->nraw = from->cap_raw = 0;
	return ret;
}

/* Adds the sums of a row, and takes over its calls that are open at the end of the part. */
static int join_row(struct joining *j, const struct lod_row *from)
{
	const struct row_state *part = &j->part->state[from->row];
	uint32_t row = j->row[from->row];
	struct row_state *s = &j->to->state[row];
	struct lod_row *r = &j->to->row[s->at - 1];

	r->lanes = from->lanes > r->lanes ? from->lanes : r->lanes;
	r->calls += from->calls;
	r->events += from->events;
	r->last = from->last;
	if (part->task)
		s->task = j->map->task[part->task - 1] + 1;
	if (part->cap && array_reach(s->open, s->cap, part->cap - 1) < 0)
		return -ENOMEM;
	for (uint32_t d = 0; d < part->cap; d++) {
		const struct open_call *o = &part->open[d];

		if (o->state == CALL_UNKNOWN)
			continue;
		s->open[d].state = o->state;
		s->open[d].start = o->start;
		s->open[d].sym = o->sym && o->sym->index < j->map->nsym ? j->map->sym[o->sym->index] : NULL;
	}
	return 0;
}

int lod_can_join(const struct lod *l, uint64_t *last)
{
	if (l->is_dependent || (l->border && *last > l->border - 1))
		return 0;
	*last = l->last > *last ? l->last : *last;
	return 1;
}

int lod_join(struct lod *to, struct lod *part, const struct lod_part_map *map)
{
	struct joining j = {.to = to, .part = part, .map = map};
	int ret;

	to->slow++;
	ret = map_tables(&j);
	lod_coarsen_to(to, part->resolution);
	ret = ret ? ret : make_rows(&j);
	ret = ret ? ret : do_early(&j); /* GUARD(view_early) */
	for (uint32_t i = 0; i < part->ncpu && !ret; i++)
		ret = join_cpu(&j, i);
	for (uint32_t i = 0; i < part->ntrack && !ret; i++)
		ret = join_track(&j, part->track[i]);
	for (uint32_t i = 0; i < part->nrow && !ret; i++)
		ret = join_row(&j, &part->row[i]);
	to->last = part->last > to->last ? part->last : to->last;
	free(j.name);
	free(j.row);
	return ret;
}

static int compare_tracks(const void *a, const void *b)
{
	const struct track *x = *(struct track *const *)a, *y = *(struct track *const *)b;

	return x->row != y->row ? (x->row > y->row) - (x->row < y->row) : (x->lane > y->lane) - (x->lane < y->lane);
}

void lod_sort(struct lod *l)
{
	if (l->ntrack)
		qsort(l->track, l->ntrack, sizeof(*l->track), compare_tracks);
	lod_link_tracks(l);
}
