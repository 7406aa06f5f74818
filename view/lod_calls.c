/* SPDX-License-Identifier: MIT */
/*
 * lod_calls.c - entries and exits of calls, of which a recording has most
 *
 * lod_add() handles every event as if it were the first of its task, function and CPU. The functions here use its
 * results: the row of the task, the name of the function, the track of the depth, and the fact that the CPU had the
 * same task a moment ago. If one of these is unknown, lod_add() adds the event. Only lod_add() and lod_join() change
 * these facts, so a place is valid until the next call of either.
 */
#include "view/lod_internal.h"

/* Looks up where the events of @ev's task on its CPU go. 0: unknown. */
static __attribute__((noinline)) int learn_place(struct lod *l, const struct uft_event *ev)
{
	uint32_t index = ev->task->index, row;
	struct row_state *s;
	struct cpu_state *c;

	if (index >= l->nrow_of || !l->row_of[index] || ev->cpu >= l->ncpu ||
	    array_reach(l->place, l->nplace, index) < 0)
		return 0;
	row = l->row_of[index] - 1;
	s = &l->state[row];
	c = &l->cpu[ev->cpu];
	if (s->task != index + 1 || !s->at || !c->is_busy || c->is_told || c->row != row)
		return 0;
	l->place[index] = (struct place){.slow = l->slow, .cpu = ev->cpu, .open = s->open,
					 .depths = s->cap < LOD_LANES ? s->cap : LOD_LANES,
					 .r = &l->row[s->at - 1], .c = c};
	return 1;
}

/* The place of the event. NULL: something about it is unknown. */
static inline const struct place *find_place(struct lod *l, const struct uft_event *ev, uint64_t t)
{
	uint32_t index = ev->task->index;
	const struct place *p = index < l->nplace ? &l->place[index] : NULL;

	if (!p || p->slow != l->slow || p->cpu != ev->cpu) {
		if (!learn_place(l, ev))
			return NULL;
		p = &l->place[index];
	}
	return ev->depth < p->depths && t - p->c->last <= CPU_IDLE_NS ? p : NULL;
}

/* Adds an exit. 0: something about the call is unknown, or the call began before the part. */
static inline int add_exit(struct lod *l, const struct uft_event *ev, uint64_t t, const struct place *to)
{
	uint64_t len = ev->duration_ns < t ? ev->duration_ns : t;
	struct open_call *o = &to->open[ev->depth];
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
	const uint64_t origin = l->origin_ns, from = l->is_part ? l->border - 1 : 0;
	uint64_t last = l->last;
	size_t i = 0;

	for (; (!l->is_part || l->border) && i < n; i++) {
		uint64_t t = ev[i].ts_ns - origin;
		const struct place *to;

		if (ev[i].ts_ns < origin || t < from || !(to = find_place(l, &ev[i], t)))
			break;
		if (ev[i].kind == UFT_EV_ENTRY) {
			struct open_call *o = &to->open[ev[i].depth];

			o->start = t;
			o->sym = ev[i].sym;
			o->state = CALL_OPEN;
		} else if (ev[i].kind != UFT_EV_EXIT || !add_exit(l, &ev[i], t, to)) {
			break;
		}
		to->r->events++;
		to->r->last = to->c->last = t;
		last = t > last ? t : last;
	}
	l->last = last;
	return i;
}
