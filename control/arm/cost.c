// SPDX-License-Identifier: MIT
/*
 * cost.c - measure the cost of tracing in a target, by function
 *
 * The target counts nothing for this, because counting would cost, too. The session reads the target's rings in shared
 * memory: how many bytes each has got since the last measurement, and the functions of the records: of all records, or
 * of NPARTS sub-buffers spread over the written bytes, with scaled counts. The session does not drain the rings, so the
 * writer is not disturbed. Records that are overwritten during the copy are not counted.
 *
 * An event costs little more than a reading of the clock (doc/performance.md: 1.03 times the floor), so the session
 * times that floor once, on this machine. Events that are not written by the fast path (roots, depth, exchange rings)
 * cost more; the shortest distance between two records of the ring is an upper bound.
 *
 * The data comes from the target and may be anything: positions are masked, work is bounded by the window, ids are
 * checked.
 */
#include "control/arm/budget.h"
#include "control/arm/arm.h"
#include "symbol/host.h"
#include "symbol/sorted.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SUB_MAX		(256u << 10)	/* larger sub-buffers are not read */
#define NPARTS		4u
#define TABLE		16384u		/* entries for functions in one measurement */
#define OVER_FLOOR	1.05		/* cost of an event of the fast path, in floors */
#define SLOW_MAX	100.0		/* highest cost of a slow event, in events of the fast path */
#define FLOOR_CALLS	20000

struct cost_meter {
	uint64_t at_ns, cpu_ns;
	uint64_t *pos;			/* by ring: position of the last measurement */
};

struct id_count {
	uint32_t id, is_used;
	double calls, events, cost_ns;
};

/* Scratch of a session for one measurement, and the cost of an event on this machine. */
struct meter_scratch {
	struct id_count table[TABLE];
	uint8_t copy[SUB_MAX];
	double event_ns;		/* 0: not measured yet */
};

void cost_free(struct cost_meter *m)
{
	if (m)
		free(m->pos);
	free(m);
}

/* ---- The cost of an event ------------------------------------------------------------------ */

static __attribute__((noinline)) uint64_t floor_call(volatile uint64_t *to)
{
	uint64_t now = host_clock();

	*to = now;
	return now;
}

/* Returns the cost of an event of the fast path, by the fastest of a few rounds: slower ones were interrupted. */
static double event_ns(struct meter_scratch *x)
{
	uint64_t sink, best = UINT64_MAX;

	for (int round = 0; !x->event_ns && round < 5; round++) {
		uint64_t begin = now_ns(), took;

		for (int i = 0; i < FLOOR_CALLS; i++)
			floor_call(&sink);
		took = now_ns() - begin;
		best = took < best ? took : best;
	}
	if (!x->event_ns)
		x->event_ns = (double)best / FLOOR_CALLS * OVER_FLOOR;
	return x->event_ns;
}

/* ---- Records -------------------------------------------------------------------------------- */

struct sample {				/* of one ring */
	struct meter_scratch *x;
	const struct uft_arena *arena;
	double events;
	uint32_t last, gap;		/* clock of the last record; shortest distance between two */
	int has_last;
};

static const uint8_t rec_bytes[16] = {
	[UFT_REC_CONTEXT] = 24, [UFT_REC_FUNC] = 16, [UFT_REC_ENTRY] = 8, [UFT_REC_EXIT] = 8, [UFT_REC_CALL] = 16,
	[UFT_REC_UNWIND] = 8, [UFT_REC_EXIT_LEFT] = 16, [UFT_REC_LOST] = 16,
};

static struct id_count *count_of(struct meter_scratch *x, uint32_t id)
{
	uint32_t at = id * 2654435761u >> 18;

	for (uint32_t i = 0; i < 64; i++) {
		struct id_count *c = &x->table[(at + i) % TABLE];

		if (!c->is_used)
			*c = (struct id_count){ .id = id, .is_used = 1 };
		if (c->id == id)
			return c;
	}
	return NULL;		/* the table is full here: a function that comes so late is not one of the hottest */
}

/* Counts the records of [p, p + n), each as @weight events; 0: only updates the shortest distance. */
static void count_records(struct sample *r, const uint8_t *p, size_t n, double weight, double cost_ns)
{
	while (n >= 8) {
		struct id_count *c;
		uint64_t word;
		unsigned kind, bytes;

		memcpy(&word, p, 8);
		kind = UFT_REC_KIND(word);
		bytes = kind == UFT_REC_EVENT ? 8 + 8 * UFT_EVENT_WORDS(UFT_REC_VALUE(word)) : rec_bytes[kind];
		if (!bytes || bytes > n)
			return;
		if (kind >= UFT_REC_FUNC && kind <= UFT_REC_EXIT) {
			uint32_t gap = UFT_REC_CLOCK(word) - r->last;

			if (r->has_last && gap < r->gap)
				r->gap = gap;
			r->last = UFT_REC_CLOCK(word);
			r->has_last = 1;
			r->events += weight;
			c = weight ? count_of(r->x, UFT_REC_VALUE(word)) : NULL;
			if (c) {
				c->events += weight;
				c->calls += kind != UFT_REC_EXIT ? weight : 0;
				c->cost_ns += weight * cost_ns;
			}
		}
		p += bytes;
		n -= bytes;
	}
}

/* Counts the records of [from, commit). Copies each sub-buffer first. */
static void walk_ring(struct sample *r, const struct uft_ring uft_shared *ring, uint64_t from, uint64_t commit,
		      double weight, double cost_ns)
{
	const uint32_t sub = r->arena->sub_bytes, size = r->arena->ring_bytes;

	r->has_last = 0;
	while (from < commit) {
		uint64_t end = (from | (sub - 1)) + 1;
		size_t n = (size_t)((end < commit ? end : commit) - from),
		       skip = from & (sub - 1) ? 0 : sizeof(struct uft_sub_header);

		if (n > sizeof(r->x->copy))
			return;
		shared_read(r->x->copy, (const uint8_t uft_shared *)ring + UFT_PAGE + (from & (size - 1)), n);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (SHARED_LOAD(&ring->commit) - from <= size - sub && skip < n)
			count_records(r, r->x->copy + skip, n - skip, weight, cost_ns);
		from += n;
	}
}

/* Returns the clock's units per nanosecond. */
static double clock_per_ns(struct uft_session *s)
{
	return (double)session_clock_units(s, 1000000) / 1e6;
}

/* Returns the bytes written up to a position of a ring: each earlier round is taken to have written the usual part. */
static uint64_t written_to(const struct uft_arena *a, uint64_t position)
{
	return position / a->ring_bytes * a->ring_usual + position % a->ring_bytes;
}

static uint64_t written(const struct uft_arena *a, uint64_t from, uint64_t to)
{
	const uint64_t before = written_to(a, from), all = written_to(a, to);

	return all > before ? all - before : 0;
}

static void measure_ring(struct uft_session *s, const struct uft_slice uft_shared *sl, uint32_t index,
			 struct cost_meter *m, struct budget_load *load)
{
	const struct uft_arena *a = s->arena.map;
	const struct uft_ring uft_shared *ring =
		(const struct uft_ring uft_shared *)((const uint8_t uft_shared *)sl + a->ring_offset +
						     index * a->ring_stride);
	const struct uft_tracer_params *p = &s->spec->params;
	int is_fast = index < a->ncpus && !p->max_depth && !p->has_roots;
	uint64_t commit = shared_ring_is_used(sl, index) ? SHARED_LOAD_ACQUIRE(&ring->commit) : 0, was = m->pos[index],
		 from = was;
	const uint64_t sub = a->sub_bytes, all = written(a, was, commit), newest = commit & -(uint64_t)a->ring_bytes;
	struct sample r = { .x = s->meter_scratch, .arena = a, .gap = UINT32_MAX };
	double cost = event_ns(s->meter_scratch), weight;

	m->pos[index] = commit;
	if (!m->at_ns || commit <= was)
		return;
	if (commit - from > a->ring_usual / 2)		/* older records may be overwritten at any moment */
		from = commit - a->ring_usual / 2;
	if (a->ring_usual < a->ring_bytes && from < newest)	/* earlier rounds may have skipped parts of the area */
		from = newest;
	if (from == commit)
		return;
	if (!is_fast) {
		uint64_t some = commit - from > 2 * sub ? (commit - 2 * sub) & -sub : from;

		walk_ring(&r, ring, some, commit, 0, 0);
		if (r.gap / clock_per_ns(s) > cost)
			cost = r.gap / clock_per_ns(s) < SLOW_MAX * cost ? r.gap / clock_per_ns(s) : SLOW_MAX * cost;
		r.events = 0;
	}
	if (commit - from <= 2 * NPARTS * sub) {
		walk_ring(&r, ring, from, commit, (double)all / (double)(commit - from), cost);
	} else {
		weight = (double)all / (double)(NPARTS * sub);
		for (uint64_t i = 0; i < NPARTS; i++) {
			uint64_t at = (from + sub + i * (commit - from) / NPARTS) & -sub;

			walk_ring(&r, ring, at, at + sub, weight, cost);
		}
	}
	load->events += r.events;
	load->cost_ns += r.events * cost;
}

/* ---- From ids to sites ---------------------------------------------------------------------- */

/* Finds the site of a text id, which is the 4-byte granule behind the site's instruction. -1: none. */
static int64_t site_of_text(const struct uft_mapped *m, uint32_t id)
{
	uint64_t granule = (m->text_start & ~3ull) + ((uint64_t)(id - m->first_text_id) << 2) - m->bias;
	const struct uft_object *obj = m->obj;
	size_t lo = SORTED_FIRST(i, obj->nsite, obj->site[i].addr + 16 > granule);

	for (; lo < obj->nsite && obj->site[lo].addr <= granule + 3; lo++)
		if (((obj->site[lo].addr + obj->site[lo].len) & ~3ull) == granule)
			return (int64_t)lo;
	return -1;
}

/* Finds the site of an id. 1: found; 0: it cannot be dropped; -1: it was dropped before. */
static int find_site(const struct spec *spec, const struct space *sp, uint32_t id, struct budget_fn *f)
{
	for (uint32_t o = 0; o < sp->nobj; o++) {
		const struct uft_mapped *m = &sp->img->obj[o];
		int64_t site = -1;

		if (id - m->first_stub_id < m->nstubs)
			site = id - m->first_stub_id;
		else if (id - m->first_text_id < m->ntext_ids)
			site = site_of_text(m, id);
		if (site < 0 || site >= m->nstubs || !sp->obj[o].want)
			continue;
		if (sp->obj[o].want[site] == WANT_NOT)
			return -1;
		if (spec_ops(spec, sp->obj[o].want[site]) & UFT_ACT_ROOT)
			return 0;
		f->object = o;
		f->site = (uint32_t)site;
		return 1;
	}
	return 0;
}

static uint32_t size_of(const struct space *sp, const struct budget_fn *f)
{
	const struct uft_mapped *m = &sp->img->obj[f->object];
	struct uft_object *obj = m->obj;
	const struct uft_func *func;

	if (uft_object_names(obj, NULL))
		return 0;
	func = uft_object_func(obj, m->stub_addr[f->site] - m->bias);
	return func && func->size < UINT32_MAX ? (uint32_t)func->size : 0;
}

static uint64_t cpu_time(pid_t pid)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static struct cost_meter *cost_make(uint32_t nrings)
{
	struct cost_meter *m = calloc(1, sizeof(*m));

	if (m)
		m->pos = calloc(nrings, sizeof(*m->pos));
	if (m && m->pos)
		return m;
	cost_free(m);
	return NULL;
}

void cost_restart(struct uft_session *s, struct target *t)
{
	struct budget_load unused;

	if (!t->meter)
		return;
	t->meter->at_ns = 0;
	cost_measure(s, t, &unused, NULL, 0);
}

size_t cost_measure(struct uft_session *s, struct target *t, struct budget_load *load, struct budget_fn *fn, size_t max)
{
	const struct uft_slice uft_shared *sl = arena_slice(&s->arena, t->slice);
	uint32_t nrings = s->arena.map->ncpus + s->arena.map->nexch;
	uint64_t now = now_ns(), cpu = cpu_time(t->pid);
	struct cost_meter *m = t->meter ? t->meter : cost_make(nrings);
	struct id_count *table;
	size_t n = 0;

	t->meter = m;
	if (!s->meter_scratch)
		s->meter_scratch = calloc(1, sizeof(*s->meter_scratch));
	if (!m || !s->meter_scratch)
		return 0;
	table = s->meter_scratch->table;
	memset(table, 0, sizeof(s->meter_scratch->table));
	*load = (struct budget_load){ .wall_ns = (double)(now - m->at_ns), .cpu_ns = (double)(cpu - m->cpu_ns) };
	for (uint32_t i = 0; i < nrings; i++)
		measure_ring(s, sl, i, m, load);
	for (uint32_t i = 0; m->at_ns && i < TABLE && n < max; i++) {
		struct budget_fn f = { .calls = table[i].calls, .events = table[i].events,
			.cost_ns = table[i].cost_ns };

		int found = table[i].is_used ? find_site(s->spec, t->space, table[i].id, &f) : 0;

		if (found < 0) {		/* the last events of a dropped function: their cost has ended */
			load->events -= f.events;
			load->cost_ns -= f.cost_ns;
			load->cpu_ns -= f.cost_ns;
		}
		if (found <= 0)
			continue;
		f.size = size_of(t->space, &f);
		fn[n++] = f;
	}
	m->at_ns = now;
	m->cpu_ns = cpu;
	return n;
}
