/* SPDX-License-Identifier: MIT */
/*
 * lod_calls.c - entries and exits of calls, of which a recording has most
 *
 * lod_add() looks at every event as if it were the first of its task, function and CPU. Here what it has found out is
 * used: the row of the task, the name of the function and the track of the depth are known, and the CPU had the same
 * task a moment ago. Wherever something is not so, lod_add() adds the event.
 */
#include "view/lod_internal.h"

/* Where an event goes, if all is known. */
struct place {
	struct row_state *s;
	struct lod_row *r;
	struct cpu_state *c;
};

static inline int find_place(const struct lod *l, const struct uft_event *ev, uint64_t t, struct place *to)
{
	uint32_t index = ev->task->index, row;

	if (index >= l->nrow_of || !l->row_of[index] || ev->cpu >= l->ncpu)
		return 0;
	row = l->row_of[index] - 1;
	to->s = &l->state[row];
	to->c = &l->cpu[ev->cpu];
	if (to->s->task != index + 1 || !to->s->at || ev->depth >= to->s->cap || ev->depth >= LOD_LANES)
		return 0;
	to->r = &l->row[to->s->at - 1];
	return to->c->is_busy && !to->c->is_told && to->c->row == row && t - to->c->last <= CPU_IDLE_NS;
}

/* 0: something about the call is not known yet, or it began before the part. */
static inline int add_exit(struct lod *l, const struct uft_event *ev, uint64_t t, const struct place *to)
{
	uint64_t len = ev->duration_ns < t ? ev->duration_ns : t;
	struct open_call *o = &to->s->open[ev->depth];
	struct track *track = o->track;
	struct raw_span span = {t - len, len, len, len, 0, 1}, *tail;

	if (!track || !track->nraw || span.start < track->end || (l->below && len >= l->below) || !ev->sym ||
	    ev->sym->index >= l->nname_of || !l->name_of[ev->sym->index] || ev->flags & UFT_EVF_CALL)
		return 0;
	span.name = l->name_of[ev->sym->index] - 1;
	tail = &track->raw[track->nraw - 1];
	if (lod_joins(tail, &span, l->resolution)) {
		lod_join_span(tail, &span);
	} else {
		if (track->nraw == track->cap_raw || l->total >= l->most)
			return 0;
		tail[1] = span;
		track->nraw++;
		l->total++;
	}
	track->end = t;
	o->state = CALL_CLOSED;
	to->r->lanes = ev->depth >= to->r->lanes ? ev->depth + 1 : to->r->lanes;
	to->r->calls++;
	return 1;
}

size_t lod_add_calls(struct lod *l, const struct uft_event *ev, size_t n)
{
	uint64_t origin = l->origin_ns, behind = l->is_part ? l->border : 1;
	size_t i = 0;

	for (; behind && i < n; i++) {
		uint64_t t = ev[i].ts_ns - origin;
		struct place to;

		if (ev[i].ts_ns < origin || t < behind - 1 || !find_place(l, &ev[i], t, &to))
			break;
		if (ev[i].kind == UFT_EV_ENTRY) {
			struct open_call *o = &to.s->open[ev[i].depth];

			o->start = t;
			o->sym = ev[i].sym;
			o->state = CALL_OPEN;
		} else if (ev[i].kind != UFT_EV_EXIT || !add_exit(l, &ev[i], t, &to)) {
			break;
		}
		to.r->events++;
		to.r->last = to.c->last = t;
		l->last = t > l->last ? t : l->last;
	}
	return i;
}
