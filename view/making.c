/* SPDX-License-Identifier: MIT */
/*
 * making.c - one pass over a recording, by several threads
 *
 * The recording is divided (stream/decode/parts.h). Each thread makes levels of detail and an index of its part, with
 * tables of names and rows of its own, and the parts are joined in their order: lod_join.c, uft_index_join(). The
 * result is that of one thread, except for the places of the index's points. Threads do not hand decoded events to each
 * other, because that would take longer than the work on them.
 *
 * The caller's thread makes the first part, of which it can offer a preview. If a part depends on earlier events in a
 * way that cannot be joined, as the states of threads do, the other parts are dropped, and the first goes on to the
 * end. A filter's pass is one part, because it counts matches by points of the whole index.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stream/decode/parts.h"
#include "symbol/now.h"
#include "symbol/thread.h"
#include "view/making.h"

#define BATCH 512u
#define WATCH_EVENTS (1u << 18)
#define WATCH_NS 50000000
/*
 * What an event costs where passing over it costs 50, as parts.c counts: decoding and the levels, and the last thread's
 * uft_stream_info(). By the CPU clock of both threads, 20 million calls: 95 and 9 on a Zen 5, 143 to 170 and 16 on a
 * Zen 4; where passing became cheaper later (dec_skip()), 82 became 103. These lie between. As parts only have to end
 * together, either of them lets the later one end 3 to 8 % after the moment that its own ratio would; to measure it in
 * each run first would take longer.
 */
#define COST_READ 120u
#define COST_SCAN 12u
#define PARTS_BYTES (192u << 20) /* of levels of all parts while they are made, at most */

struct run {
	struct making m;
	struct names names;
	struct rows rows;
	struct uft_part *part;
	pthread_t thread;
	int *stop; /* shared by all parts: set when parts are useless or cancelled */
	int is_last, ret;
};

void making_free(struct making *m)
{
	if (m->is_new_index)
		uft_index_close(m->index);
	lod_free(m->lod);
	free(m->before);
}

/* Stores the number of matches before each index point that has been reached. */
static void pass_points(struct making *m)
{
	size_t n = uft_index_points(m->index);

	while (m->at < n && uft_index_point_event(m->index, m->at) <= m->events)
		m->before[m->at++] = m->matches;
	m->next_point = m->at < n ? uft_index_point_event(m->index, m->at) : UINT64_MAX;
}

static int add_events(struct making *m, const struct uft_event *ev, size_t n)
{
	for (size_t i = 0; m->first_ns == UINT64_MAX && i < n; i++)
		if (ev[i].kind != UFT_EV_LOST && ev[i].kind != UFT_EV_LEFT)
			m->first_ns = ev[i].ts_ns;
	if (n && !m->lod)
		m->lod = lod_new(m->names, m->rows, ev[0].ts_ns, m->spans, 0);
	if (n && !m->lod)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		size_t plain = m->filter || m->before ? 0 : lod_add_calls(m->lod, ev + i, n - i);
		int ret;

		m->events += plain;
		m->matches += plain;
		i += plain;
		if (i == n)
			break;
		ret = lod_add(m->lod, &ev[i], m->filter);
		if (ret < 0)
			return ret;
		m->events++;
		m->matches += (uint64_t)ret;
		if (m->events >= m->next_point)
			pass_points(m);
	}
	return 0;
}

/* 1: some events were added; 0: there are no more; or a negative errno. */
static int add_batch(struct making *m, struct uft_stream *st)
{
	struct uft_event ev[BATCH];
	size_t n = uft_stream_batch(st, ev, BATCH);
	int ret = n && m->is_new_index ? uft_index_add(m->index, st, ev, n) : 0;

	ret = ret ? ret : add_events(m, ev, n);
	return ret ? ret : n != 0;
}

/* ---- Parts --------------------------------------------------------------------------------------------------- */

static int is_set(const int *stop)
{
	return __atomic_load_n(stop, __ATOMIC_RELAXED);
}

static void *make_part(void *arg)
{
	struct run *r = arg;
	struct uft_stream *st = r->part->st;
	int ret = uft_part_begin(r->part);

	if (!ret && r->m.is_new_index) {
		r->m.index = uft_index_new(st, 0);
		ret = r->m.index ? 1 : -ENOMEM;
	}
	while (ret >= 0 && !is_set(r->stop)) {
		uint64_t before = r->m.events;

		ret = add_batch(&r->m, st);
		if (ret <= 0)
			break;
		if (r->m.events / WATCH_EVENTS == before / WATCH_EVENTS && before && !lod_is_dependent(r->m.lod))
			continue;
		if (lod_is_dependent(r->m.lod) || !uft_part_is_exact(r->part))
			__atomic_store_n(r->stop, 1, __ATOMIC_RELAXED);
	}
	if (!ret && r->is_last && r->m.is_new_index && !is_set(r->stop))
		uft_stream_info(st);
	r->ret = ret < 0 ? ret : 0;
	return NULL;
}

static int start_part(struct run *r, const struct making *m, uint64_t origin_ns)
{
	int ret = names_init(&r->names);

	ret = ret ? ret : rows_init(&r->rows);
	r->m = (struct making){.names = &r->names, .rows = &r->rows, .spans = m->spans, .is_new_index = m->is_new_index,
			       .first_ns = UINT64_MAX, .next_point = UINT64_MAX};
	r->m.lod = ret ? NULL : lod_new(&r->names, &r->rows, origin_ns, m->spans, 0);
	if (!r->m.lod)
		return -ENOMEM;
	lod_begin_part(r->m.lod);
	return thread_start(&r->thread, make_part, r);
}

static void free_part(struct run *r)
{
	making_free(&r->m);
	names_free(&r->names);
	rows_free(&r->rows);
}

/* 0 or -ENOMEM. */
static int join_part(struct making *m, struct uft_stream *st, struct run *r)
{
	const struct uft_task *tasks;
	size_t n = uft_stream_tasks(r->part->st, &tasks);
	uint32_t *task = calloc(n + 1, sizeof(*task));
	const struct uft_sym **sym = NULL;
	struct lod_part_map map = {.task = task, .nsym = uft_part_symbols(r->part, st, &sym)};
	int ret = task && sym ? 0 : -ENOMEM;

	map.sym = sym;
	for (uint32_t i = 0; !ret && i < n; i++)
		task[i] = uft_part_task(r->part, i, st);
	if (!ret)
		ret = lod_join(m->lod, r->m.lod, &map);
	if (!ret && m->is_new_index)
		ret = uft_index_join(m->index, r->m.index);
	m->events += r->m.events;
	m->matches += r->m.matches;
	m->first_ns = m->first_ns == UINT64_MAX ? r->m.first_ns : m->first_ns;
	free(sym);
	free(task);
	return ret;
}

struct parts {
	struct uft_part part[UFT_PARTS_MAX];
	struct run run[UFT_PARTS_MAX]; /* from 1 on */
	size_t n, started;	       /* n: 1 if there are no parts (any more) */
	int stop;
};

/* Ends the threads, which check `stop`; calls go_on() of the caller's watch meanwhile. */
static int end_threads(struct parts *p, struct making *m, struct uft_stream *st, const struct making_watch *watch)
{
	int ret = 0;

	for (size_t i = 1; i < p->started; i++) {
		struct timespec until;

		do {
			if (!ret && !is_set(&p->stop))
				ret = watch->go_on(watch->arg, m, st, 1);
			if (ret)
				__atomic_store_n(&p->stop, 1, __ATOMIC_RELAXED);
			until = clock_in(CLOCK_REALTIME, WATCH_NS);
		} while (pthread_timedjoin_np(p->run[i].thread, NULL, &until) == ETIMEDOUT);
		ret = ret ? ret : p->run[i].ret;
	}
	return ret;
}

/* Drops the other parts: the stream of @m then goes on behind its part. */
static void leave_parts(struct parts *p, struct uft_stream *st)
{
	for (size_t i = 1; i < p->started; i++)
		free_part(&p->run[i]);
	p->part[0].st = st;
	uft_parts_close(p->part, p->n, 0);
	p->n = p->started = 1;
}

/* Starts the threads of the other parts, when the begin of the recording is known. */
static int start_parts(struct parts *p, struct making *m, struct uft_stream *st, const struct making_watch *watch)
{
	int ret = uft_part_begin(&p->part[0]);

	ret = ret ? ret : add_batch(m, st);
	if (ret < 0)
		return ret;
	for (; m->lod && p->started < p->n; p->started++) {
		struct run *r = &p->run[p->started];

		r->part = &p->part[p->started];
		r->part->stop = r->stop = &p->stop;
		r->is_last = p->started + 1 == p->n;
		if (start_part(r, m, lod_origin(m->lod))) {
			free_part(r);
			break;
		}
	}
	if (p->started < p->n) {
		p->stop = 1;
		ret = end_threads(p, m, st, watch);
		leave_parts(p, st);
	}
	return ret < 0 ? ret : 0;
}

/* Makes the caller's part, or the whole recording. */
static int make_first(struct parts *p, struct making *m, struct uft_stream *st, const struct making_watch *watch)
{
	uint64_t asked = m->events;
	int ret;

	while ((ret = add_batch(m, st)) > 0) {
		if (p->n > 1 && (lod_is_dependent(m->lod) || is_set(&p->stop)))
			return 0;
		if (m->events - asked < WATCH_EVENTS)
			continue;
		asked = m->events;
		ret = watch->go_on(watch->arg, m, st, uft_stream_progress(st));
		if (ret)
			return ret;
	}
	return ret;
}

/* 1: the parts are joined; 0: they cannot be, and @m is unchanged; or a negative errno. */
static int join_parts(struct parts *p, struct making *m, struct uft_stream *st, const struct making_watch *watch)
{
	int ret = end_threads(p, m, st, watch);
	uint64_t last = 0;

	ret = ret ? ret : !is_set(&p->stop);
	for (size_t i = 0; ret > 0 && i < p->n; i++)
		ret = uft_part_is_exact(&p->part[i]) && lod_can_join(i ? p->run[i].m.lod : m->lod, &last);
	if (ret > 0 && m->is_new_index)
		ret = uft_part_tell_info(&p->part[p->n - 1], st);
	for (size_t i = 1; ret > 0 && i < p->n; i++)
		ret = join_part(m, st, &p->run[i]) ? -ENOMEM : 1;
	return ret;
}

int making_run(struct making *m, struct uft_stream *st, unsigned threads, const struct making_watch *watch)
{
	struct uft_parts_cost cost = {.read = COST_READ, .after = m->is_new_index ? COST_SCAN : 0};
	struct parts p = {.n = 1, .started = 1};
	int ret = 0;

	m->next_point = UINT64_MAX;
	m->parts = 1;
	if (m->before)
		pass_points(m);
	cost.most = (unsigned)(PARTS_BYTES / lod_bytes_of(m->spans));
	if (!m->filter && !m->before)
		p.n = uft_parts_open(st, threads, &cost, p.part);
	if (p.n > 1)
		ret = start_parts(&p, m, st, watch);
	ret = ret ? ret : make_first(&p, m, st, watch);
	if (p.n > 1) {
		if (ret || lod_is_dependent(m->lod))
			__atomic_store_n(&p.stop, 1, __ATOMIC_RELAXED);
		int joined = join_parts(&p, m, st, watch);

		ret = ret ? ret : joined < 0 ? joined : 0;
		m->parts = joined > 0 ? (unsigned)p.n : 1;
		leave_parts(&p, st);
		if (!ret && !joined)
			ret = make_first(&p, m, st, watch);
	}
	if (!ret && !m->lod)
		m->lod = lod_new(m->names, m->rows, 0, 1, 0);
	if (!ret && m->is_new_index)
		ret = uft_index_finish(m->index, st);
	if (!ret && m->events)
		m->last_ns = lod_last(m->lod);
	return ret ? ret : m->lod ? lod_finish(m->lod, st) : -ENOMEM;
}
