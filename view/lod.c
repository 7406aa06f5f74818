/* SPDX-License-Identifier: MIT */
/*
 * lod.c - levels of detail
 *
 * Level 0 of a track is a list of spans in the order of time that do not overlap. While there are few spans, each is
 * one call. When all tracks together exceed the limit, the resolution R doubles: time is cut into cells of R ns, and
 * neighbours shorter than R that begin in the same cell become one span; later calls join by the same rule. So
 *   - a call of R or more is always a span of its own, exact to the ns: a rare long call is visible at every zoom
 *   - every call lies in a span, so every moment with a call is drawn
 *   - memory is bounded for any recording
 *   - R is a power of two, so cells lie in those of the next R: the result does not depend on the moment at which calls
 *     were joined, and threads that each make a part get the result of a single thread (lod_join.c)
 * Above level 0 each level merges by the same rule with 8 times the resolution of the one below, until few are left. A
 * query takes the highest level that is not coarser than a pixel, so the number of spans that it touches depends on the
 * pixels only. If a pixel is finer than R, the reader makes a second index of that part, which holds the calls below R;
 * a query merges both.
 *
 * A filter has an index of its own with the calls that match, so that these are visible at every zoom.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/array.h"
#include "symbol/hash_index.h"
#include "symbol/keyed_hash.h"
#include "view/event_name.h"
#include "view/lod_internal.h"
#include "output/sched_events.h"

#define LEVEL_FEW 512u /* spans of a track that need no further level */
#define EARLY_MAX (1u << 16)

struct lod *lod_new(struct names *names, struct rows *rows, uint64_t origin_ns, size_t most, uint64_t below)
{
	struct lod *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->names = names;
	l->rows = rows;
	l->origin_ns = origin_ns;
	l->most = most;
	l->below = below;
	l->slow = 1;
	return l;
}

void lod_free(struct lod *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; i < l->ntrack; i++) {
		for (uint32_t k = 0; k < LEVELS && !l->loaded; k++)
			free(l->track[i]->level[k].v);
		free(l->track[i]->raw);
		free(l->track[i]);
	}
	for (uint32_t i = 0; i < l->nstate; i++)
		free(l->state[i].open);
	free(l->loaded);
	free(l->track);
	hash_index_free(&l->by_lane);
	free(l->row);
	free(l->state);
	free(l->cpu);
	free(l->name_of);
	free(l->row_of);
	free(l->place);
	free(l->sched);
	free(l->runs);
	free(l->early);
	free(l);
}

/* ---- Tracks ---------------------------------------------------------------------------------------------- */

struct track *lod_find_track(const struct lod *l, uint32_t row, uint32_t lane)
{
	uint32_t at = HASH_FIND(i, &l->by_lane, hash_words(row, lane),
				l->track[i]->row == row && l->track[i]->lane == lane);

	return at != HASH_NONE ? l->track[at] : NULL;
}

void lod_link_tracks(struct lod *l)
{
	hash_index_clear(&l->by_lane);
	for (uint32_t i = 0; i < l->ntrack; i++)
		hash_index_add(&l->by_lane, hash_words(l->track[i]->row, l->track[i]->lane), i);
}

struct track *lod_track(struct lod *l, uint32_t row, uint32_t lane)
{
	struct track *t = lod_find_track(l, row, lane);

	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t || array_reach(l->track, l->cap_track, l->ntrack) ||
	    hash_index_add(&l->by_lane, hash_words(row, lane), l->ntrack)) {
		free(t);
		return NULL;
	}
	t->row = row;
	t->lane = lane;
	l->track[l->ntrack++] = t;
	return t;
}

/* ---- Spans ----------------------------------------------------------------------------------------------- */

uint32_t lod_fill_of(uint64_t busy, uint64_t len)
{
	return !len || busy >= len ? 255 : (uint32_t)(busy * 255.0 / (double)len);
}

size_t lod_merge(struct raw_span *to, const struct raw_span *from, size_t n, uint64_t resolution)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (kept && lod_joins(&to[kept - 1], &from[i], resolution))
			lod_join_span(&to[kept - 1], &from[i]);
		else
			to[kept++] = from[i];
	return kept;
}

uint64_t lod_power_of_two(uint64_t at_least)
{
	return at_least <= 1 ? 1 : at_least > 1ull << 63 ? 1ull << 63 : 1ull << (64 - __builtin_clzll(at_least - 1));
}

static int set_room(struct lod *l, struct track *t, size_t cap)
{
	if (array_resize(t->raw, cap))
		return -ENOMEM;
	l->room += cap - t->cap_raw;
	t->cap_raw = cap;
	return 0;
}

/*
 * Doubles the resolution. Tracks free unused memory, because each may have been the largest at some resolution, but
 * only when all have memory for a quarter more spans than allowed: most tracks fill it again, and fresh memory costs a
 * page fault every 4 KB.
 */
void lod_coarsen_to(struct lod *l, uint64_t resolution)
{
	if (resolution <= l->resolution)
		return;
	l->resolution = resolution;
	l->total = 0;
	for (uint32_t i = 0; i < l->ntrack; i++) {
		struct track *t = l->track[i];

		t->nraw = lod_merge(t->raw, t->raw, t->nraw, resolution);
		l->total += t->nraw;
	}
	if (l->room <= l->most + l->most / 4)
		return;
	for (uint32_t i = 0; i < l->ntrack; i++) {
		struct track *t = l->track[i];

		if (t->cap_raw > t->nraw + t->nraw / 2 + 64)
			set_room(l, t, t->nraw + t->nraw / 8 + 16);
	}
}

/*
 * Takes the least resolution at which a quarter of the room is free: a span joins the one before it at 2^bits and
 * above. With more tracks than the limit of spans there is no such resolution.
 */
static void coarsen(struct lod *l)
{
	size_t join[65] = {0}, left = l->total;
	unsigned bits = 0;

	if (left <= l->most / 4 * 3)
		return;
	for (uint32_t i = 0; i < l->ntrack; i++)
		for (size_t k = 1; k < l->track[i]->nraw; k++) {
			const struct raw_span *s = &l->track[i]->raw[k];
			uint64_t at = s->len | (s->start ^ s[-1].start);

			join[at ? 64 - __builtin_clzll(at) : 0]++;
		}
	for (left -= join[0]; left > l->most / 4 * 3 && bits < 63; left -= join[bits])
		bits++;
	lod_coarsen_to(l, 1ull << bits);
}

int lod_add_raw(struct lod *l, struct track *t, const struct raw_span *s)
{
	struct raw_span *tail = t->nraw ? &t->raw[t->nraw - 1] : NULL;

	t->end = s->start + s->len;
	if (tail && lod_joins(tail, s, l->resolution)) {
		lod_join_span(tail, s);
		return 0;
	}
	if (t->nraw == t->cap_raw && set_room(l, t, t->nraw + t->nraw / 8 + 16))
		return -ENOMEM;
	t->raw[t->nraw++] = *s;
	if (++l->total > l->most)
		coarsen(l);
	return 0;
}

int lod_add_span(struct lod *l, struct track *t, uint64_t start, uint64_t len, uint32_t name, uint32_t count)
{
	if (start < t->end) { /* out of order: it is drawn where nothing is yet */
		len = start + len > t->end ? start + len - t->end : 0;
		start = t->end;
	}
	return lod_add_raw(l, t, &(struct raw_span){start, len, len, len, name, lod_sum_count(count, 0)});
}

/* ---- Events ---------------------------------------------------------------------------------------------- */

/* Finds the row. Most events have a known row, which needs no lookup; names, below, likewise. */
static int row_number(struct lod *l, const struct uft_task *task, uint32_t *row)
{
	if (task->index < l->nrow_of && l->row_of[task->index]) {
		*row = l->row_of[task->index] - 1;
		return 0;
	}
	if (array_reach(l->row_of, l->nrow_of, task->index) < 0)
		return -ENOMEM;
	if (!l->row_of[task->index])
		l->row_of[task->index] = rows_get(l->rows, task->pid, task->tid, task->ppid, task->comm) + 1;
	*row = l->row_of[task->index] - 1;
	return array_reach(l->state, l->nstate, *row);
}

static inline int name_of_sym(struct lod *l, const struct uft_sym *sym, uint32_t *name)
{
	if (!sym) {
		*name = names_get(l->names, "?");
		return 0;
	}
	if (sym->index < l->nname_of && l->name_of[sym->index]) {
		*name = l->name_of[sym->index] - 1;
		return 0;
	}
	if (array_reach(l->name_of, l->nname_of, sym->index) < 0)
		return -ENOMEM;
	if (!l->name_of[sym->index])
		l->name_of[sym->index] = names_get(l->names, sym->name) + 1;
	*name = l->name_of[sym->index] - 1;
	return 0;
}

static __attribute__((noinline)) int name_of_text(struct lod *l, const struct uft_event *ev, uint32_t *name)
{
	char buf[VIEW_NAME_ROOM];

	*name = names_get(l->names, view_event_name(ev, buf));
	return 0;
}

static inline int name_of_event(struct lod *l, const struct uft_event *ev, uint32_t *name)
{
	return ev->sym && ev->kind != UFT_EV_DATA ? name_of_sym(l, ev->sym, name) : name_of_text(l, ev, name);
}

struct lod_row *lod_row_of(struct lod *l, uint32_t row, uint32_t *at, uint64_t t)
{
	if (!*at) {
		if (array_reach(l->row, l->cap_row, l->nrow) < 0)
			return NULL;
		l->row[l->nrow] = (struct lod_row){.row = row, .first = t};
		*at = ++l->nrow;
	}
	return &l->row[*at - 1];
}

static int add_early(struct lod *l, const struct early *e)
{
	if (l->nearly >= EARLY_MAX)
		l->is_dependent = 1;
	else if (array_reach(l->early, l->cap_early, l->nearly) < 0)
		return -ENOMEM;
	else
		l->early[l->nearly++] = *e;
	return 0;
}

/*
 * Notes a call that began before the part. Its lane, and how much of it is drawn, may depend on calls before the part.
 */
static int add_early_call(struct lod *l, const struct uft_event *ev, struct track *track, uint64_t t, uint64_t len,
			  uint32_t name)
{
	l->is_dependent |= ev->flags & UFT_EVF_CALL; /* GUARD(view_dependent) */
	track->end = t;
	return add_early(l, &(struct early){.kind = EARLY_CALL, .row = track->row, .lane = track->lane, .name = name,
					    .t = t, .len = len});
}

static int add_call(struct lod *l, struct lod_row *r, struct row_state *s, const struct uft_event *ev, uint64_t t,
		    uint32_t name)
{
	uint64_t len = ev->duration_ns < t ? ev->duration_ns : t;
	uint32_t lane = ev->depth < LOD_LANES ? ev->depth : LOD_LANES - 1;
	struct track *track = lane < s->cap ? s->open[lane].track : NULL;

	if (l->below && len >= l->below)
		return 0;
	if (!track)
		track = lod_track(l, r->row, lane);
	if (track && lane < s->cap)
		s->open[lane].track = track;
	/* Calls without entries come when they end, inner ones first: the outer call takes the next lane with room. */
	while (track && ev->flags & UFT_EVF_CALL && track->end > t - len && lane < LOD_LANES - 1)
		track = lod_track(l, r->row, ++lane);
	if (!track)
		return -ENOMEM;
	r->lanes = lane >= r->lanes ? lane + 1 : r->lanes;
	r->calls++;
	if (l->is_part && !track->end && t - len < l->border - 1)
		return add_early_call(l, ev, track, t, len, name);
	return lod_add_span(l, track, t - len, len, name, 1);
}

static int note_entry(struct row_state *s, const struct uft_event *ev, uint64_t t)
{
	uint32_t depth = ev->depth < LOD_LANES ? ev->depth : LOD_LANES - 1;

	if (array_reach(s->open, s->cap, depth) < 0)
		return -ENOMEM;
	s->open[depth].start = t;
	s->open[depth].sym = ev->sym;
	s->open[depth].state = CALL_OPEN;
	return 0;
}

static int add_point(struct lod *l, uint32_t row, uint32_t lane, uint64_t t, uint32_t name, uint64_t count)
{
	struct track *track = lod_track(l, row, lane);

	return track ? lod_add_span(l, track, t, 0, name, count < 1u << 24 ? (uint32_t)count : (1u << 24) - 1) :
		-ENOMEM;
}

int lod_close_cpu(struct lod *l, uint32_t cpu, struct cpu_state *c)
{
	struct track *track;

	c->is_busy = 0;
	if (c->has_first == FIRST_LASTS) {
		c->has_first = FIRST_ENDED;
		c->first_row = c->row;
		c->first_start = c->start;
		c->first_last = c->last;
		return 0;
	}
	if (l->below && c->last - c->start >= l->below)
		return 0;
	track = lod_track(l, ROW_CPU | cpu, 0);
	return track ? lod_add_span(l, track, c->start, c->last - c->start, c->row, 1) : -ENOMEM;
}

/* Notes by an event which task the CPU has. */
static int add_to_cpu(struct lod *l, uint32_t cpu, uint32_t row, const struct uft_task *task, uint64_t t)
{
	struct cpu_state *c;
	int ret = 0;

	if (cpu >= 65536 || !task->tid) /* the idle task is none */
		return 0;
	if (array_reach(l->cpu, l->ncpu, cpu) < 0)
		return -ENOMEM;
	c = &l->cpu[cpu];
	if (c->is_told) { /* between two switches it has one task */
		c->last = t;
		return 0;
	}
	if (c->is_busy && (c->row != row || t - c->last > CPU_IDLE_NS))
		ret = lod_close_cpu(l, cpu, c);
	if (!c->is_busy) {
		c->row = row;
		c->is_busy = 1;
		c->start = t;
		if (l->is_part && c->has_first == FIRST_NONE)
			c->has_first = FIRST_LASTS;
	}
	c->last = t;
	return ret;
}

/* ---- States of threads ------------------------------------------------------------------------------------- */

/* Draws the state that ends, and begins the next one. since 0: the state is unknown from here on. */
static int next_state(struct lod *l, uint32_t row, enum thread_state next, uint64_t t, int is_known)
{
	static const char *const names[THREAD_STATES] = {"runs", "waits for a CPU", "blocked", "runs its guest"};
	struct row_state *s = &l->state[row];
	uint64_t from = s->since - 1, was = s->since;
	uint32_t name = s->name;
	struct track *track;

	if (s->at && t > l->row[s->at - 1].last)
		l->row[s->at - 1].last = t;
	if (is_known && !l->state_name[next])
		l->state_name[next] = names_get(l->names, names[next]) + 1;
	s->name = is_known ? l->state_name[next] - 1 : 0;
	s->since = is_known ? t + 1 : 0;
	if (!was || t <= from || (l->below && t - from >= l->below))
		return 0;
	track = lod_track(l, row, LANE_STATES);
	return track ? lod_add_span(l, track, from, t - from, name, 1) : -ENOMEM;
}

/*
 * A thread gets a CPU. Another thread that ran there no longer does, even if no event told when it left: the end of a
 * process is not always recorded.
 */
static int take_cpu(struct lod *l, uint32_t cpu, uint32_t row, uint64_t t)
{
	uint32_t before;

	if (cpu >= 65536)
		return 0;
	if (array_reach(l->runs, l->nruns, cpu) < 0)
		return -ENOMEM;
	before = l->runs[cpu];
	l->runs[cpu] = row + 1;
	if (!before || before == row + 1 || !l->state[before - 1].since ||
	    (l->state[before - 1].name + 1 != l->state_name[THREAD_RUNS] &&
	     l->state[before - 1].name + 1 != l->state_name[THREAD_GUEST]))
		return 0;
	return next_state(l, before - 1, THREAD_RUNS, t, 0);
}

/* Adds an event of `uft record --sched-switch`. */
static int add_state(struct lod *l, uint32_t row, const struct uft_event *ev, uint64_t t)
{
	uint64_t how = ev->word[0];

	if (how & UFT_SWITCH_IN && take_cpu(l, ev->cpu, row, t))
		return -ENOMEM;
	return next_state(l, row,
			  how & UFT_SWITCH_IN	       ? THREAD_RUNS
			  : how & UFT_SWITCH_PREEMPTED ? THREAD_WAITS
						       : THREAD_BLOCKED,
			  t, how & UFT_SWITCH_IN || !(how & UFT_SWITCH_ENDED));
}

/*
 * The row of a task that an event names by its PID. 0: *row. A task of the kernel counts as its own process in a
 * trace.dat.
 */
static int row_of_pid(struct lod *l, uint32_t pid, const char *comm, uint64_t t, uint32_t *row)
{
	*row = rows_get(l->rows, pid, pid, 0, *comm ? comm : "<...>");
	if (array_reach(l->state, l->nstate, *row) < 0)
		return -ENOMEM;
	return lod_row_of(l, *row, &l->state[*row].at, t) ? 0 : -ENOMEM;
}

/* CPU @cpu had the task of @prev, and has that of @row from @t on; is_idle: none. */
static int switch_cpu(struct lod *l, uint32_t cpu, uint32_t prev, uint32_t row, int is_idle, uint64_t t)
{
	struct cpu_state *c;
	int ret = 0;

	if (cpu >= 65536)
		return 0;
	if (array_reach(l->cpu, l->ncpu, cpu) < 0)
		return -ENOMEM;
	c = &l->cpu[cpu];
	if (c->is_busy) {
		c->last = c->is_told || c->row == prev ? t : c->last;
		ret = lod_close_cpu(l, cpu, c);
	}
	*c = (struct cpu_state){.row = row, .is_busy = !is_idle, .is_told = 1, .start = t, .last = t};
	return ret;
}

/* Adds an event sched_switch or sched_wakeup of the kernel. */
static int add_sched(struct lod *l, enum sched_kind kind, const struct uft_event *ev, uint64_t t)
{
	struct sched_change c;
	uint32_t row = 0, prev = UINT32_MAX;
	int ret = 0;

	sched_read(ev, kind, &c);
	if (c.pid)
		ret = row_of_pid(l, c.pid, c.comm, t, &row);
	if (kind == SCHED_WAKEUP) /* a thread that runs, or waits for a CPU already, does not begin to wait */
		return ret || !c.pid || (l->state[row].since && l->state[row].name + 1 != l->state_name[THREAD_BLOCKED])
			       ? ret
			       : next_state(l, row, THREAD_WAITS, t, 1);
	if (!ret && c.prev) {
		ret = row_of_pid(l, c.prev, "", t, &prev);
		ret = ret ? ret : next_state(l, prev, c.is_preempted ? THREAD_WAITS : THREAD_BLOCKED, t, !c.has_ended);
	}
	if (!ret && c.pid)
		ret = next_state(l, row, THREAD_RUNS, t, 1);
	return ret ? ret : switch_cpu(l, ev->cpu, prev, row, !c.pid, t);
}

static int sched_kind(struct lod *l, const struct uft_event_type *type, enum sched_kind *kind)
{
	if (array_reach(l->sched, l->nsched, type->index) < 0)
		return -ENOMEM;
	if (!l->sched[type->index])
		l->sched[type->index] = (uint8_t)(sched_kind_of(type) + 1);
	*kind = l->sched[type->index] - 1u;
	return 0;
}

/* Keeps an event. @r and @s are invalid afterwards, because rows may move in memory. */
static int keep_event(struct lod *l, struct lod_row *r, struct row_state *s, const struct uft_event *ev, uint64_t t)
{
	enum sched_kind kind = SCHED_NONE;
	uint32_t name;
	int ret;

	if (ev->kind == UFT_EV_ENTRY)
		return note_entry(s, ev, t);
	if (ev->kind == UFT_EV_DATA && ev->data == UFT_EVENT_SWITCH) {
		l->is_dependent = 1;
		return add_state(l, r->row, ev, t);
	}
	if (name_of_event(l, ev, &name) < 0)
		return -ENOMEM;
	switch (ev->kind) {
	case UFT_EV_EXIT:
	case UFT_EV_LEFT:
		return add_call(l, r, s, ev, t, name);
	case UFT_EV_FUNC:
		r->calls++;
		r->lanes = r->lanes ? r->lanes : 1;
		return add_point(l, r->row, 0, t, name, 1);
	case UFT_EV_LOST:
		return add_point(l, ROW_CPU | (ev->cpu & 0xffff), LANE_LOST, t, name, ev->lost);
	case UFT_EV_DATA:
		if (UFT_EVENT_IS_NAMED(ev->data) && sched_kind(l, ev->type, &kind) < 0)
			return -ENOMEM;
		ret = add_point(l, r->row, LANE_EVENTS, t, name, 1);
		l->is_dependent |= kind != SCHED_NONE;
		if (ret || kind == SCHED_NONE)
			return ret;
		if (kind == SCHED_GUEST_ENTER || kind == SCHED_GUEST_LEAVE)
			return next_state(l, r->row, kind == SCHED_GUEST_ENTER ? THREAD_GUEST : THREAD_RUNS, t, 1);
		return add_sched(l, kind, ev, t);
	default:
		return add_point(l, r->row, LANE_EVENTS, t, name, 1);
	}
}

int lod_close_open(struct lod *l, uint32_t row, uint64_t end, const uint64_t *touched)
{
	struct row_state *s = &l->state[row];

	for (uint32_t d = 0; d < s->cap; d++) {
		struct open_call *o = &s->open[d];
		struct lod_row *r = s->at ? &l->row[s->at - 1] : NULL;
		struct track *track;
		uint32_t name;

		if (o->state != CALL_OPEN || (touched && d < LOD_LANES && touched[d / 64] >> d % 64 & 1))
			continue;
		o->state = CALL_CLOSED;
		if (!r || l->below)
			continue;
		track = lod_track(l, row, d);
		if (!track || name_of_sym(l, o->sym, &name) < 0 ||
		    lod_add_span(l, track, o->start, end > o->start ? end - o->start : 0, name, 1) < 0)
			return -ENOMEM;
		r->lanes = d >= r->lanes ? d + 1 : r->lanes;
		r->calls++;
	}
	return 0;
}

/*
 * The task executes another program. The session's events about it, as switches, belong to a task without calls. In a
 * part the second change closes calls that were open before the part, if the first did not.
 */
static int change_task(struct lod *l, uint32_t row, struct row_state *s, uint32_t task)
{
	struct early e = {.kind = EARLY_TASK, .row = row, .task = task, .t = s->at ? l->row[s->at - 1].last + 1 : 0};

	for (uint32_t d = 0; d < s->cap && d < LOD_LANES; d++)
		e.touched[d / 64] |= (uint64_t)(s->open[d].state != CALL_UNKNOWN) << d % 64;
	s->task = task;
	if (l->is_part && ++s->ntasks <= 2 && add_early(l, &e))
		return -ENOMEM;
	return s->at ? lod_close_open(l, row, l->row[s->at - 1].last, NULL) : 0;
}

/* Notes the first event of a part, or an event that is out of order there. */
static void note_border(struct lod *l, uint64_t t)
{
	if (!l->border)
		l->border = t + 1;
	else
		l->is_dependent = 1;
}

int lod_add(struct lod *l, const struct uft_event *ev, const struct view_filter *f)
{
	uint64_t t = ev->ts_ns > l->origin_ns ? ev->ts_ns - l->origin_ns : 0;
	int match = !f || view_filter_match(f, ev), ret;
	int is_call = ev->kind == UFT_EV_ENTRY || ev->kind == UFT_EV_EXIT || ev->kind == UFT_EV_LEFT;
	struct row_state *s;
	uint32_t row;
	struct lod_row *r;

	l->slow++;
	l->last = t > l->last ? t : l->last;
	if (row_number(l, ev->task, &row) < 0)
		return -ENOMEM;
	s = &l->state[row];
	if (l->is_part && (!l->border || t < l->border - 1))
		note_border(l, t);
	if (is_call && s->task != ev->task->index + 1 && change_task(l, row, s, ev->task->index + 1) < 0)
		return -ENOMEM;
	if (ev->kind == UFT_EV_EXIT || ev->kind == UFT_EV_LEFT) {
		if (l->is_part && ev->depth >= s->cap && ev->depth < LOD_LANES &&
		    array_reach(s->open, s->cap, ev->depth) < 0)
			return -ENOMEM;
		if (ev->depth < s->cap)
			s->open[ev->depth].state = CALL_CLOSED;
	}
	if (!match)
		return 0;
	r = s->at ? &l->row[s->at - 1] : lod_row_of(l, row, &s->at, t);
	if (!r)
		return -ENOMEM;
	r->events++;
	r->last = t;
	ret = keep_event(l, r, s, ev, t);
	if (!ret)
		ret = add_to_cpu(l, ev->cpu, row, ev->task, t);
	return ret ? ret : 1;
}

static int finish_open(struct lod *l, struct uft_stream *st)
{
	int ret = 0;

	for (uint32_t row = 0; row < l->nstate && !ret; row++) {
		const struct row_state *s = &l->state[row];
		struct row who;
		int has_ended = s->at && st && rows_at(l->rows, row, &who) &&
				uft_stream_has_ended(st, who.pid, l->row[s->at - 1].last + l->origin_ns);

		uint64_t end = has_ended ? l->row[s->at - 1].last : l->last;

		ret = lod_close_open(l, row, end, NULL);
		if (!ret && !l->below && s->since) /* in a part, a state may go on behind it */
			ret = next_state(l, row, THREAD_RUNS, end, 0);
	}
	return ret;
}

static int keep_level(struct lod *l, struct track *t, uint64_t resolution)
{
	struct level *v = &t->level[t->nlevels];

	v->v = malloc((t->nraw + !t->nraw) * sizeof(*v->v));
	if (!v->v)
		return -ENOMEM;
	for (size_t i = 0; i < t->nraw; i++) {
		const struct raw_span *s = &t->raw[i];

		v->v[i] = (struct lod_span){s->start, s->len, s->name, s->count,
			s->count > 1 ? lod_fill_of(s->busy, s->len) : 255};
	}
	v->n = v->cap = t->nraw;
	t->resolution[t->nlevels++] = resolution;
	l->total += v->n;
	return 0;
}

static int make_levels(struct lod *l, struct track *t)
{
	uint64_t resolution = l->resolution;
	int ret = keep_level(l, t, resolution);

	l->total -= t->nraw;
	while (!ret && t->nlevels < LEVELS && t->level[t->nlevels - 1].n > LEVEL_FEW && resolution < t->end) {
		if (!resolution) /* the mean distance */
			resolution = lod_power_of_two((t->end - t->raw[0].start) / t->nraw + 1);
		resolution = resolution < 1ull << 60 ? resolution * 8 : 1ull << 63;
		t->nraw = lod_merge(t->raw, t->raw, t->nraw, resolution);
		if (t->nraw > t->level[t->nlevels - 1].n / 4 * 3) /* most calls are longer: not worth a list */
			continue;
		ret = keep_level(l, t, resolution);
	}
	free(t->raw);
	l->room -= t->cap_raw;
	t->raw = NULL;
	t->nraw = t->cap_raw = 0;
	return ret;
}

int lod_finish(struct lod *l, struct uft_stream *st)
{
	int ret = finish_open(l, st);

	for (uint32_t i = 0; i < l->ncpu && !ret; i++)
		if (l->cpu[i].is_busy) {
			l->cpu[i].last = l->cpu[i].is_told && !l->below ? l->last : l->cpu[i].last;
			ret = lod_close_cpu(l, i, &l->cpu[i]);
		}
	lod_sort(l);
	coarsen(l);
	for (uint32_t i = 0; i < l->ntrack && !ret; i++)
		ret = make_levels(l, l->track[i]);
	return ret;
}

void lod_begin_part(struct lod *l)
{
	l->is_part = 1;
}

int lod_is_dependent(const struct lod *l)
{
	return l->is_dependent;
}

uint64_t lod_origin(const struct lod *l)
{
	return l->origin_ns;
}

uint64_t lod_last(const struct lod *l)
{
	return l->origin_ns + l->last;
}

size_t lod_bytes_of(size_t most)
{
	return most * sizeof(struct raw_span);
}

uint64_t lod_resolution(const struct lod *l)
{
	return l->resolution;
}

size_t lod_spans(const struct lod *l)
{
	return l->total;
}

size_t lod_bytes(const struct lod *l)
{
	size_t n = 0;

	for (uint32_t i = 0; i < l->ntrack; i++) {
		n += l->track[i]->cap_raw * sizeof(struct raw_span);
		for (uint32_t k = 0; k < LEVELS; k++)
			n += l->track[i]->level[k].cap * sizeof(struct lod_span);
	}
	return n;
}

size_t lod_rows(const struct lod *l, const struct lod_row **out)
{
	*out = l->row;
	return l->nrow;
}
