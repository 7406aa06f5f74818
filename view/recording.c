/* SPDX-License-Identifier: MIT */
/*
 * recording.c - a recording that is looked at
 *
 * A view is a filter with what was made for it: an index of levels of detail (lod.c) and, for each point of the
 * recording's index (decode/seek.c), how many matching events come before it. The first view has no filter, and making
 * it makes the index if there is none. A report is an answer that takes a pass over its range. The worker makes views
 * and reports in the order in which they were asked for; who asks gets `"state":"working"` and how far it is, and asks
 * again.
 *
 * The file is opened once: what is shown is what it was then, also if it is deleted. A stream reads it by its
 * descriptor's name in /proc.
 *
 * Threads: the worker owns its streams, and what it makes until that is published, under `lock`. The asking thread owns
 * `st` and the fine indices, and holds `lock` while it uses views. The worker holds it only to take an order or to
 * publish. Views and reports that were not used for longest make room for new ones; the one that is being made stays.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "output/report/aggregate.h"
#include "stream/decode/seek.h"
#include "view/recording.h"

#define VIEWS 5u /* filters that are remembered, the empty one included */
#define REPORTS 16u
#define FINE 8u /* parts with a finer index */
#define BATCH 512u
#define SPANS_MIN (1u << 20) /* 24 MB */
#define SPANS_MAX (4u << 20)
#define SPAN_SHARE 960u /* bytes of the recording for each span: with levels about 3 % of it */
#define FINE_SPANS (1u << 19)
#define FINE_AT_ONCE 150000u /* events: 10 ms */
#define TREE_NODES 20000u
#define SEARCH_NS 200000000u
#define LIST_MAX 2000u
#define TILE_SPANS (1u << 20)

enum made { MADE_NOT, MADE_WORKING, MADE_DONE, MADE_FAILED };

struct view {
	char *text; /* of the filter; NULL: the slot is free */
	struct view_filter *filter;
	struct lod *lod;
	uint64_t *before; /* by point of the index: matching events before it */
	uint64_t matches, used;
	double progress;
	enum made made;
	int error;
};

struct report {
	int is_used, is_histogram;
	struct view_range range;
	uint32_t tid;
	char *func;
	struct json answer;
	uint64_t used;
	double progress;
	enum made made;
	int error;
};

struct fine {
	struct lod *lod;
	const struct lod *of;
	uint64_t from, to, used;
};

/* What the worker is to make, and the last one that was asked for meanwhile: earlier ones nobody looks at any more. */
struct part {
	struct view *v;
	uint64_t from, to;
};
struct order {
	struct view *v; /* being made */
	uint64_t from, to;
	enum made made;
	int is_cancelled, has_next;
	struct part next;
};

struct recording {
	char *path, name[64]; /* name: of the descriptor, in /proc */
	int fd;
	struct stat stat;
	struct names names;
	pthread_mutex_t lock;
	pthread_cond_t ordered;
	pthread_t worker;
	int has_worker, is_ending, is_stale; /* stale: what is being made is of the file before */
	struct uft_index *index;	     /* made, or read, with the first view; then it does not change */
	uint64_t origin_ns, duration_ns, generation;
	struct uft_info info;
	char *cmdline, *hostname, *uname;
	struct view view[VIEWS];
	struct report report[REPORTS];
	uint64_t clock;	       /* of uses */
	struct uft_stream *st; /* the asking thread's */
	struct fine fine[FINE];
	struct order order;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* At its name there is another file now, a longer one, or none. */
static int is_changed(const struct recording *r)
{
	struct stat st;

	return stat(r->path, &st) || st.st_ino != r->stat.st_ino || st.st_dev != r->stat.st_dev ||
	       st.st_size != r->stat.st_size;
}

/* ---- The worker: views --------------------------------------------------------------------------------- */

/* How long the recording is, and what it says of itself, are known before all of it is read. */
static int open_stream(const struct recording *r, const struct uft_select *sel, struct uft_stream **st,
		       struct uft_error *err)
{
	return uft_stream_open(r->name, sel, st, err);
}

struct making {
	struct uft_index *index;
	int is_new_index;
	struct lod *lod;
	uint64_t *before;
	size_t npoints, at;
	uint64_t events, matches, first_ns, last_ns;
	uint64_t next_point; /* the event before which the next point is */
};

static void making_free(struct making *m)
{
	if (m->is_new_index)
		uft_index_close(m->index);
	lod_free(m->lod);
	free(m->before);
}

static int grow_before(struct making *m, size_t n)
{
	uint64_t *grown;

	if (n <= m->npoints)
		return 0;
	grown = realloc(m->before, (n + n / 2 + 64) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	m->before = grown;
	m->npoints = n + n / 2 + 64;
	return 0;
}

/* Remembers how many matched before each point that is reached. */
static int pass_points(struct making *m)
{
	size_t n = uft_index_points(m->index);

	if (grow_before(m, n) < 0)
		return -ENOMEM;
	while (m->at < n && uft_index_point_event(m->index, m->at) <= m->events)
		m->before[m->at++] = m->matches;
	m->next_point = m->at < n ? uft_index_point_event(m->index, m->at) : UINT64_MAX;
	return 0;
}

static int is_wanted(struct recording *r, struct view *v, double progress)
{
	int is;

	pthread_mutex_lock(&r->lock);
	v->progress = progress;
	is = !r->is_ending && !r->is_stale;
	pthread_mutex_unlock(&r->lock);
	return is;
}

static size_t spans_for(const struct recording *r)
{
	uint64_t n = (uint64_t)r->stat.st_size / SPAN_SHARE;

	return n < SPANS_MIN ? SPANS_MIN : n > SPANS_MAX ? SPANS_MAX : n;
}

static int make_events(struct recording *r, struct view *v, struct making *m, struct uft_stream *st)
{
	static __thread struct uft_event ev[BATCH];
	uint64_t asked = 0;
	size_t n;
	int ret = pass_points(m);

	while (!ret && (n = uft_stream_batch(st, ev, BATCH)) != 0) {
		if (m->is_new_index) {
			ret = uft_index_add(m->index, st, ev, n);
			if (ret)
				return ret;
		}
		for (size_t i = 0; i < n; i++) {
			if (m->first_ns == UINT64_MAX && ev[i].kind != UFT_EV_LOST && ev[i].kind != UFT_EV_LEFT)
				m->first_ns = ev[i].ts_ns;
			m->last_ns = ev[i].ts_ns > m->last_ns ? ev[i].ts_ns : m->last_ns;
			if (!m->lod)
				m->lod = lod_new(&r->names, m->first_ns == UINT64_MAX ? ev[i].ts_ns : m->first_ns,
						 spans_for(r), 0);
			ret = m->lod ? lod_add(m->lod, &ev[i], v->filter) : -ENOMEM;
			if (ret < 0)
				return ret;
			m->events++;
			m->matches += (uint64_t)ret;
			if (m->events >= m->next_point && pass_points(m) < 0)
				return -ENOMEM;
			ret = 0;
		}
		if (m->is_new_index && pass_points(m) < 0)
			return -ENOMEM;
		if (m->events - asked >= 1u << 18) {
			asked = m->events;
			if (!is_wanted(r, v, uft_stream_progress(st)))
				return -ECANCELED;
		}
	}
	if (!m->lod)
		m->lod = lod_new(&r->names, 0, 1, 0);
	if (!m->lod || pass_points(m) < 0)
		return -ENOMEM;
	if (m->is_new_index) {
		ret = uft_index_finish(m->index, st);
		if (ret)
			return ret;
	}
	return lod_finish(m->lod);
}

static void describe(struct recording *r, struct uft_stream *st, const struct making *m)
{
	struct uft_info info;

	if (!m->is_new_index)
		uft_stream_seek_selection(st, m->index); /* the counts are in it */
	info = *uft_stream_info(st);
	free(r->cmdline);
	free(r->hostname);
	free(r->uname);
	r->cmdline = strdup(info.cmdline);
	r->hostname = strdup(info.hostname);
	r->uname = strdup(info.uname);
	info.cmdline = info.hostname = info.uname = NULL;
	r->info = info;
	r->origin_ns = m->first_ns == UINT64_MAX ? 0 : m->first_ns;
	r->duration_ns = m->last_ns > r->origin_ns ? m->last_ns - r->origin_ns : 0;
}

static void make_view(struct recording *r, struct view *v)
{
	struct uft_select all = {.no_parents = 1};
	struct making m = {.first_ns = UINT64_MAX, .index = r->index};
	struct uft_stream *st = NULL;
	struct uft_error err;
	int ret = open_stream(r, &all, &st, &err);

	if (!ret && !m.index && uft_index_open(r->path, st, &m.index)) {
		m.index = uft_index_new(st, 0);
		m.is_new_index = 1;
		ret = m.index ? 0 : -ENOMEM;
	}
	if (!ret)
		ret = make_events(r, v, &m, st);
	pthread_mutex_lock(&r->lock);
	if (!ret && r->is_stale)
		ret = -ECANCELED;
	if (!ret && !r->index) {
		describe(r, st, &m);
		if (m.is_new_index && !is_changed(r))
			uft_index_save(m.index, r->path); /* or not: then it is made again the next time */
		r->index = m.index;
	}
	if (!ret) {
		v->lod = m.lod;
		v->before = m.before;
		v->matches = m.matches;
		v->made = MADE_DONE;
	} else if (ret != -ECANCELED) {
		v->made = MADE_FAILED;
		v->error = ret;
	}
	pthread_mutex_unlock(&r->lock);
	if (ret) {
		if (m.index && !m.is_new_index && m.index != r->index)
			uft_index_close(m.index);
		making_free(&m);
	}
	uft_stream_close(st);
}

/* ---- The worker: reports ------------------------------------------------------------------------------- */

static int open_range(struct recording *r, struct view_range range, uint32_t tid, struct uft_stream **st)
{
	struct uft_select sel = {
		.from_ns = range.from,
		.to_ns = range.to,
		.tids = &tid,
		.ntids = tid != 0,
		.no_parents = 1,
	};
	struct uft_error err;
	int ret = open_stream(r, &sel, st, &err);

	if (!ret && r->index)
		uft_stream_seek_selection(*st, r->index);
	return ret;
}

static void put_node(struct json *j, const struct agg *a, uint32_t i, uint32_t depth)
{
	const struct agg_node *n = &a->node[i];

	json_comma(j);
	json_raw(j, "[");
	json_u(j, depth);
	json_comma(j);
	json_str(j, a->func[n->func].name);
	json_raw(j, ",");
	json_u(j, n->calls);
	json_raw(j, ",");
	json_u(j, n->total);
	json_raw(j, ",");
	json_u(j, n->self);
	json_raw(j, ",");
	json_u(j, n->timed ? n->max : 0);
	json_raw(j, ",");
	json_u(j, n->nopen);
	json_raw(j, "]");
}

/* In the order of the tree, largest first; what is smaller than a pixel of a large screen is left out, and counted. */
static void put_tree(struct json *j, const struct agg *a)
{
	uint32_t *stack = malloc((a->nnodes + 1u) * sizeof(*stack)), *depth = malloc((a->nnodes + 1u) * sizeof(*depth)),
		 n = 0, put = 0;
	uint64_t total = 0, least, left = 0;

	for (uint32_t i = a->nnodes ? a->node[0].child : 0; i; i = a->node[i].next)
		total += a->node[i].total;
	least = total / 8000;
	json_raw(j, "{\"state\":\"done\",\"nodes\":[");
	/* a node's siblings are below it on the stack, its children above */
	if (stack && depth && a->nnodes && a->node[0].child) {
		stack[n] = a->node[0].child;
		depth[n++] = 0;
	}
	while (n) {
		uint32_t i = stack[--n], d = depth[n];

		if (a->node[i].next) {
			stack[n] = a->node[i].next;
			depth[n++] = d;
		}
		if (a->node[i].total < least || put >= TREE_NODES) {
			left++;
			continue;
		}
		put_node(j, a, i, d);
		put++;
		if (a->node[i].child) {
			stack[n] = a->node[i].child;
			depth[n++] = d + 1;
		}
	}
	free(stack);
	free(depth);
	json_raw(j, "]");
	json_key_u(j, "total", total);
	json_key_u(j, "left_out", left);
	json_key_u(j, "lost", a->lost);
	json_key_u(j, "unknown", a->unknown);
	json_raw(j, "}");
}

static void put_bucket(void *arg, uint64_t from, uint64_t to, uint64_t calls)
{
	struct json *j = arg;

	json_comma(j);
	json_raw(j, "[");
	json_u(j, from);
	json_raw(j, ",");
	json_u(j, to);
	json_raw(j, ",");
	json_u(j, calls);
	json_raw(j, "]");
}

/* Function by function: names are compared as they are shown, not as patterns. */
static int put_histogram(struct json *j, const struct agg *a, const char *func)
{
	struct agg sum = {0};
	uint32_t node = UINT32_MAX, f;
	int ret = agg_init(&sum);

	for (uint32_t i = 1; i < a->nnodes && !ret; i++) {
		if (a->node[i].is_group || strcmp(a->func[a->node[i].func].name, func))
			continue;
		if (node == UINT32_MAX) {
			f = agg_func_get(&sum, func, func, "");
			node = f == UINT32_MAX ? f : agg_child(&sum, 0, f);
			if (node == UINT32_MAX)
				ret = -ENOMEM;
		}
		if (!ret)
			ret = agg_merge(&sum, node, a, &a->node[i], 1);
	}
	if (!ret) {
		json_raw(j, "{\"state\":\"done\"");
		json_key_str(j, "func", func);
		if (node != UINT32_MAX) {
			const struct agg_node *n = &sum.node[node];

			json_key_u(j, "calls", n->calls);
			json_key_u(j, "min", n->timed ? n->min : 0);
			json_key_u(j, "max", n->timed ? n->max : 0);
			json_key_u(j, "p50", agg_rank(&sum, n, 50));
			json_key_u(j, "p99", agg_rank(&sum, n, 99));
			json_key(j, "buckets");
			json_raw(j, "[");
			agg_each_bucket(&sum, n, put_bucket, j);
			json_raw(j, "]");
		} else {
			json_key_u(j, "calls", 0);
			json_key(j, "buckets");
			json_raw(j, "[]");
		}
		json_raw(j, "}");
	}
	agg_free(&sum);
	return ret ? ret : j->err;
}

static void make_report(struct recording *r, struct report *p)
{
	struct json answer = {0};
	struct agg a = {0};
	struct uft_stream *st = NULL;
	int ret = agg_init(&a);

	if (!ret)
		ret = open_range(r, p->range, p->tid, &st);
	if (!ret)
		ret = agg_add(&a, st, UFT_BY_NONE);
	if (!ret) {
		agg_finish(&a);
		if (p->is_histogram)
			ret = put_histogram(&answer, &a, p->func);
		else
			put_tree(&answer, &a);
		ret = ret ? ret : answer.err;
	}
	uft_stream_close(st);
	agg_free(&a);
	pthread_mutex_lock(&r->lock);
	if (ret) {
		json_free(&answer);
		p->error = ret;
		p->made = MADE_FAILED;
	} else if (p->made == MADE_WORKING) {
		p->answer = answer;
		p->made = MADE_DONE;
	}
	pthread_mutex_unlock(&r->lock);
}

/* ---- The worker: parts --------------------------------------------------------------------------------- */

static struct fine *keep_fine(struct recording *r, const struct lod *of, struct lod *lod, uint64_t from, uint64_t to)
{
	struct fine *f = &r->fine[0];

	for (uint32_t i = 1; i < FINE; i++)
		if (!r->fine[i].lod || (f->lod && r->fine[i].used < f->used))
			f = &r->fine[i];
	lod_free(f->lod);
	*f = (struct fine){lod, of, from, to, ++r->clock};
	return f;
}

static int is_cancelled(struct recording *r)
{
	int is;

	pthread_mutex_lock(&r->lock);
	is = r->order.is_cancelled;
	pthread_mutex_unlock(&r->lock);
	return is;
}

/*
 * The index of the calls below the view's resolution up to @to, of @st, which stands before it. NULL: no memory, or
 * the worker, which does not hold the lock, was told to leave it.
 */
static struct lod *make_part(struct recording *r, struct uft_stream *st, const struct view *v, uint64_t to)
{
	uint64_t coarse = lod_resolution(v->lod);
	/* what begins in it ends by then, if it is short enough to be in here */
	uint64_t end = r->origin_ns + to + coarse;
	struct lod *l = lod_new(&r->names, r->origin_ns, FINE_SPANS, coarse);
	struct uft_event ev[BATCH];
	uint64_t done = 0;
	int ret = 0;
	size_t n;

	while (l && ret >= 0 && (n = uft_stream_batch(st, ev, BATCH)) != 0) {
		size_t i;

		for (i = 0; i < n && ev[i].ts_ns <= end && ret >= 0; i++)
			ret = lod_add(l, &ev[i], v->filter);
		if (i < n)
			break;
		done += n;
		if (st != r->st && done % (128 * BATCH) < BATCH && is_cancelled(r))
			ret = -ECANCELED;
	}
	if (l && ret >= 0 && !lod_finish(l))
		return l;
	lod_free(l);
	return NULL;
}

static void make_order(struct recording *r, struct order *o)
{
	struct uft_select all = {.no_parents = 1};
	struct uft_stream *st = NULL;
	struct uft_error err;
	struct lod *l = NULL;

	if (!open_stream(r, &all, &st, &err) &&
	    !uft_stream_seek(st, r->index, uft_index_find_ns(r->index, r->origin_ns + o->from)))
		l = make_part(r, st, o->v, o->to);
	uft_stream_close(st);
	pthread_mutex_lock(&r->lock);
	if (l)
		keep_fine(r, o->v->lod, l, o->from, o->to);
	*o = (struct order){.has_next = o->has_next, .next = o->next};
	pthread_mutex_unlock(&r->lock);
}

/* ---- The worker ------------------------------------------------------------------------------------------ */

static void *index_main(void *arg)
{
	struct recording *r = arg;

	pthread_mutex_lock(&r->lock);
	while (!r->is_ending) {
		struct view *v = NULL;
		struct report *p = NULL;

		for (uint32_t i = 0; i < VIEWS && !v; i++)
			if (r->view[i].text && r->view[i].made == MADE_NOT)
				v = &r->view[i];
		for (uint32_t i = 0; i < REPORTS && !v && !p; i++)
			if (r->report[i].is_used && r->report[i].made == MADE_NOT)
				p = &r->report[i];
		if (!v && r->order.has_next) {
			struct part next = r->order.next;

			r->order = (struct order){next.v, next.from, next.to, MADE_WORKING, 0, 0, next};
			pthread_mutex_unlock(&r->lock);
			make_order(r, &r->order);
			pthread_mutex_lock(&r->lock);
			pthread_cond_broadcast(&r->ordered);
			continue;
		}
		if (!v && !p) {
			pthread_cond_wait(&r->ordered, &r->lock);
			continue;
		}
		if (v)
			v->made = MADE_WORKING;
		else
			p->made = MADE_WORKING;
		pthread_mutex_unlock(&r->lock);
		if (v)
			make_view(r, v);
		else
			make_report(r, p);
		pthread_mutex_lock(&r->lock);
		if (v && v->made == MADE_WORKING) /* cancelled */
			v->made = MADE_NOT;
		r->is_stale = 0;
		pthread_cond_broadcast(&r->ordered);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* ---- Opening, closing -------------------------------------------------------------------------------------- */

static void view_clear(struct view *v)
{
	free(v->text);
	view_filter_free(v->filter);
	lod_free(v->lod);
	free(v->before);
	*v = (struct view){0};
}

static void report_clear(struct report *p)
{
	free(p->func);
	json_free(&p->answer);
	*p = (struct report){0};
}

static int open_file(struct recording *r, const char *path, struct uft_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return uft_fail(err, -errno, "%s: cannot be opened: %s", path, strerror(errno));
	if (fstat(fd, &r->stat)) {
		close(fd);
		return uft_fail(err, -errno, "%s: %s", path, strerror(errno));
	}
	if (r->fd >= 0)
		close(r->fd);
	r->fd = fd;
	snprintf(r->name, sizeof(r->name), "/proc/self/fd/%d", fd);
	return 0;
}

int recording_open(const char *path, struct recording **out, struct uft_error *err)
{
	struct recording *r = calloc(1, sizeof(*r));
	struct uft_stream *st;
	int ret;

	*out = NULL;
	if (!r)
		return uft_fail(err, -ENOMEM, "out of memory");
	r->fd = -1;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->ordered, NULL);
	r->path = strdup(path);
	r->view[0].text = strdup("");
	ret = r->path && r->view[0].text ? names_init(&r->names) : -ENOMEM;
	if (ret)
		uft_fail(err, ret, "out of memory");
	/* Once by its name: for the sentence that says what is wrong with it. */
	if (!ret)
		ret = uft_stream_open(path, NULL, &st, err);
	if (!ret) {
		uft_stream_close(st);
		ret = open_file(r, path, err);
	}
	if (!ret && pthread_create(&r->worker, NULL, index_main, r))
		ret = uft_fail(err, -EAGAIN, "cannot make a thread");
	if (ret) {
		recording_close(r);
		return ret;
	}
	r->has_worker = 1;
	*out = r;
	return 0;
}

static void forget_fine(struct recording *r)
{
	for (uint32_t i = 0; i < FINE; i++) {
		lod_free(r->fine[i].lod);
		r->fine[i] = (struct fine){0};
	}
	uft_stream_close(r->st);
	r->st = NULL;
}

static void stop_work(struct recording *r, int is_end)
{
	r->is_ending |= is_end;
	r->is_stale = 1;
	r->order.has_next = 0;
	r->order.is_cancelled = 1;
	for (uint32_t i = 0; i < REPORTS; i++)
		if (r->report[i].made == MADE_NOT)
			r->report[i].is_used = 0;
	pthread_cond_broadcast(&r->ordered);
}

void recording_close(struct recording *r)
{
	if (!r)
		return;
	if (r->has_worker) {
		pthread_mutex_lock(&r->lock);
		stop_work(r, 1);
		pthread_mutex_unlock(&r->lock);
		pthread_join(r->worker, NULL);
	}
	forget_fine(r);
	for (uint32_t i = 0; i < VIEWS; i++)
		view_clear(&r->view[i]);
	for (uint32_t i = 0; i < REPORTS; i++)
		report_clear(&r->report[i]);
	uft_index_close(r->index);
	if (r->names.hash)
		names_free(&r->names);
	if (r->fd >= 0)
		close(r->fd);
	free(r->cmdline);
	free(r->hostname);
	free(r->uname);
	free(r->path);
	pthread_cond_destroy(&r->ordered);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

const char *recording_path(const struct recording *r)
{
	return r->path;
}

/* ---- Answers ----------------------------------------------------------------------------------------------- */

static void put_working(struct json *j, double progress)
{
	json_raw(j, "{\"state\":\"working\",\"progress\":");
	json_f(j, progress);
	json_raw(j, "}");
}

static void put_failed(struct json *j, int error)
{
	json_raw(j, "{\"state\":\"failed\"");
	json_key_str(j, "error", strerror(-error));
	json_raw(j, "}");
}

/* The view of a filter, ordered if it is new. lock is held. NULL: *why, or no room is left at this moment. */
static struct view *get_view(struct recording *r, const char *text, const char **why)
{
	struct uft_filter_error err = {NULL, 0};
	struct view_filter *filter;
	struct view *v = NULL;
	char *copy;

	*why = NULL;
	for (uint32_t i = 0; i < VIEWS; i++)
		if (r->view[i].text && !strcmp(r->view[i].text, text)) {
			r->view[i].used = ++r->clock;
			return &r->view[i];
		}
	if (view_filter_make(text, &filter, &err) < 0) {
		*why = err.what ? err.what : "the filter is too long";
		return NULL;
	}
	for (uint32_t i = 1; i < VIEWS; i++)
		if (r->view[i].made != MADE_WORKING && r->order.v != &r->view[i] &&
		    (!v || !r->view[i].text || (v->text && r->view[i].used < v->used)))
			v = &r->view[i];
	copy = strdup(text);
	if (!v || !copy) {
		view_filter_free(filter);
		free(copy);
		*why = "out of memory";
		return NULL;
	}
	for (uint32_t i = 0; i < FINE; i++)
		if (v->lod && r->fine[i].of == v->lod) {
			lod_free(r->fine[i].lod);
			r->fine[i] = (struct fine){0};
		}
	if (r->order.next.v == v)
		r->order.has_next = 0;
	view_clear(v);
	v->text = copy;
	v->filter = filter;
	v->used = ++r->clock;
	pthread_cond_broadcast(&r->ordered);
	return v;
}

/* 1: @v is there; 0: the answer says that it is not. */
static int is_made(const struct view *v, struct json *j)
{
	if (v->made == MADE_DONE)
		return 1;
	if (v->made == MADE_FAILED)
		put_failed(j, v->error);
	else
		put_working(j, v->progress);
	return 0;
}

static void put_rows(struct recording *r, struct json *j, const struct lod *l)
{
	const struct lod_row *row;
	size_t n = lod_rows(l, &row);

	json_key(j, "tasks");
	json_raw(j, "[");
	for (size_t i = 0; i < n; i++) {
		struct name_row who;

		if (!names_row_get(&r->names, row[i].row, &who))
			continue;
		json_comma(j);
		json_raw(j, "{");
		json_key_u(j, "row", row[i].row);
		json_key_u(j, "pid", who.pid);
		json_key_u(j, "tid", who.tid);
		json_key_u(j, "ppid", who.ppid);
		json_key_str(j, "comm", who.comm);
		json_key_u(j, "lanes", row[i].lanes);
		json_key_u(j, "calls", row[i].calls);
		json_key_u(j, "events", row[i].events);
		json_key_u(j, "first", row[i].first);
		json_key_u(j, "last", row[i].last);
		json_raw(j, "}");
	}
	json_raw(j, "]");
}

int recording_info(struct recording *r, struct json *j)
{
	struct view *v = &r->view[0];

	pthread_mutex_lock(&r->lock);
	json_raw(j, "{");
	json_key_str(j, "state", v->made == MADE_DONE ? "done" : v->made == MADE_FAILED ? "failed" : "working");
	json_key(j, "progress");
	json_f(j, v->made == MADE_DONE ? 1 : v->progress);
	json_key_str(j, "path", r->path);
	json_key_u(j, "bytes", (uint64_t)r->stat.st_size);
	json_key_u(j, "changed", (uint64_t)is_changed(r));
	json_key_u(j, "generation", r->generation);
	if (v->made == MADE_FAILED)
		json_key_str(j, "error", strerror(-v->error));
	if (v->made == MADE_DONE) {
		json_key_u(j, "first_ns", r->origin_ns);
		json_key_u(j, "duration", r->duration_ns);
		json_key_u(j, "events", v->matches);
		json_key_u(j, "calls", r->info.calls);
		json_key_u(j, "lost", r->info.lost);
		json_key_u(j, "overwritten", r->info.overwritten);
		json_key_u(j, "damaged_bytes", r->info.damaged_bytes);
		json_key_u(j, "complete", (uint64_t)r->info.complete);
		json_key_u(j, "ncpus", r->info.ncpus);
		json_key_str(j, "cmdline", r->cmdline ? r->cmdline : "");
		json_key_str(j, "hostname", r->hostname ? r->hostname : "");
		json_key_str(j, "uname", r->uname ? r->uname : "");
		json_key_u(j, "resolution", lod_resolution(v->lod));
		json_key_u(j, "index_bytes", lod_bytes(v->lod));
		put_rows(r, j, v->lod);
	}
	json_raw(j, "}");
	pthread_mutex_unlock(&r->lock);
	return j->err;
}

/* ---- Tiles ---- */

/* The asking thread's stream at @point. */
static int seek(struct recording *r, size_t point)
{
	struct uft_select all = {.no_parents = 1};
	struct uft_error err;
	int ret = r->st ? 0 : open_stream(r, &all, &r->st, &err);

	return ret ? ret : uft_stream_seek(r->st, r->index, point);
}

static struct fine *find_fine(struct recording *r, const struct view *v, uint64_t from, uint64_t to)
{
	for (uint32_t i = 0; i < FINE; i++) {
		struct fine *f = &r->fine[i];

		if (f->lod && f->of == v->lod && f->from <= from && f->to >= to) {
			f->used = ++r->clock;
			return f;
		}
	}
	return NULL;
}

/* A part of so few events that a question waits for its index. */
static int is_short(const struct recording *r, uint64_t from, uint64_t to)
{
	size_t first = uft_index_find_ns(r->index, r->origin_ns + from),
	       last = uft_index_find_ns(r->index, r->origin_ns + to);

	return uft_index_point_event(r->index, last) - uft_index_point_event(r->index, first) < FINE_AT_ONCE;
}

/*
 * The finer index for [from, to): one that is there, or made now, or ordered. NULL: the answer has to do without,
 * *is_coarse. It is wider by half on both sides, for who moves.
 */
static struct fine *get_fine(struct recording *r, struct view *v, uint64_t from, uint64_t to, int *is_coarse)
{
	struct fine *f = find_fine(r, v, from, to);
	uint64_t width = (to - from) / 2;
	struct lod *l;

	if (f)
		return f;
	from = from > width ? from - width : 0;
	to += width;
	if (is_short(r, from, to)) {
		l = seek(r, uft_index_find_ns(r->index, r->origin_ns + from)) ? NULL : make_part(r, r->st, v, to);
		return l ? keep_fine(r, v->lod, l, from, to) : NULL;
	}
	*is_coarse = 1;
	if (r->order.v != v || r->order.from != from || r->order.to != to) {
		r->order.is_cancelled = r->order.made == MADE_WORKING;
		r->order.next = (struct part){v, from, to};
		r->order.has_next = 1;
		pthread_cond_broadcast(&r->ordered);
	}
	return NULL;
}

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
	v = get_view(r, filter, why);
	if (!v) {
		ret = -EINVAL;
		goto out;
	}
	if (!is_made(v, j))
		goto out;
	if (lod_resolution(v->lod) > pixel + 1)
		fine = get_fine(r, v, range.from, range.to, &is_coarse);
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

/* ---- Lists ---- */

/* The last point with at most @number matching events before it. */
static size_t point_of_match(const struct recording *r, const struct view *v, uint64_t number)
{
	size_t lo = 0, hi = uft_index_points(r->index);

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (v->before[mid] <= number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? lo - 1 : 0;
}

static const char *const kind_names[] = {
	[UFT_EV_FUNC] = "function",	  [UFT_EV_ENTRY] = "funcgraph_entry",
	[UFT_EV_EXIT] = "funcgraph_exit", [UFT_EV_LEFT] = "left",
	[UFT_EV_LOST] = "lost",		  [UFT_EV_MARK] = "print",
	[UFT_EV_DATA] = "event",
};

static void put_event(const struct recording *r, struct json *j, const struct uft_event *ev, uint64_t number)
{
	char buf[VIEW_NAME_ROOM];

	json_comma(j);
	json_raw(j, "{");
	json_key_u(j, "n", number);
	json_key_u(j, "t", ev->ts_ns > r->origin_ns ? ev->ts_ns - r->origin_ns : 0);
	json_key_u(j, "ts", ev->ts_ns);
	json_key_u(j, "cpu", ev->cpu);
	json_key_str(j, "comm", ev->task->comm);
	json_key_u(j, "pid", ev->task->pid);
	json_key_u(j, "tid", ev->task->tid);
	json_key_str(j, "event", kind_names[ev->kind]);
	json_key_str(j, "name", view_event_name(ev, buf));
	json_key_u(j, "depth", ev->depth);
	if (ev->kind == UFT_EV_EXIT || ev->kind == UFT_EV_LEFT) {
		json_key_u(j, "duration", ev->duration_ns);
		json_key_u(j, "self", ev->self_ns);
	}
	if (ev->kind == UFT_EV_LOST)
		json_key_u(j, "lost", ev->lost);
	if (ev->kind == UFT_EV_FUNC && ev->parent)
		json_key_str(j, "parent", ev->parent->name);
	json_raw(j, "}");
}

/* Gets a made view, or answers that it is not. 1: *out; 0: answered; -EINVAL. lock is held. */
static int need_view(struct recording *r, const char *filter, struct view **out, struct json *j, const char **why)
{
	struct view *v = get_view(r, filter, why);

	if (!v)
		return -EINVAL;
	*out = v;
	return is_made(v, j);
}

int recording_list(struct recording *r, const char *filter, uint64_t first, uint32_t count, struct json *j,
		   const char **why)
{
	uint64_t number, last;
	struct view *v;
	size_t point;
	int ret;

	pthread_mutex_lock(&r->lock);
	ret = need_view(r, filter, &v, j, why);
	if (ret <= 0)
		goto out;
	count = count > LIST_MAX ? LIST_MAX : count;
	last = first < v->matches ? first + count : 0;
	point = point_of_match(r, v, first);
	number = v->before[point];
	ret = seek(r, point);
	if (ret)
		goto out;
	json_raw(j, "{\"state\":\"done\"");
	json_key_u(j, "total", v->matches);
	json_key(j, "rows");
	json_raw(j, "[");
	while (number < last) {
		struct uft_event ev;

		if (uft_stream_next(r->st, &ev) != 1)
			break;
		if (!view_filter_match(v->filter, &ev))
			continue;
		if (number >= first)
			put_event(r, j, &ev, number);
		number++;
	}
	json_raw(j, "]}");
	ret = j->err;
out:
	pthread_mutex_unlock(&r->lock);
	return ret < 0 ? ret : 0;
}

int recording_row_at(struct recording *r, const char *filter, uint64_t t, struct json *j, const char **why)
{
	uint64_t number;
	struct view *v;
	size_t point;
	int ret;

	pthread_mutex_lock(&r->lock);
	ret = need_view(r, filter, &v, j, why);
	if (ret <= 0)
		goto out;
	point = uft_index_find_ns(r->index, r->origin_ns + t);
	number = v->before[point];
	ret = seek(r, point);
	if (ret)
		goto out;
	for (struct uft_event ev; uft_stream_next(r->st, &ev) == 1;) {
		if (!view_filter_match(v->filter, &ev))
			continue;
		if (ev.ts_ns >= r->origin_ns + t)
			break;
		number++;
		if (number >= v->matches)
			break;
	}
	json_raw(j, "{\"state\":\"done\"");
	json_key_u(j, "total", v->matches);
	json_key_u(j, "row", number);
	json_raw(j, "}");
	ret = j->err;
out:
	pthread_mutex_unlock(&r->lock);
	return ret < 0 ? ret : 0;
}

static int has_text(const struct uft_event *ev, const char *text)
{
	char buf[VIEW_NAME_ROOM];

	return strcasestr(view_event_name(ev, buf), text) || strcasestr(ev->task->comm, text);
}

struct found {
	uint64_t number, t;
	int is;
};

/* Matching events from @point to the next one: the first that has @text behind @after, or the last before it. */
static int search_part(struct recording *r, const struct view *v, size_t point, const char *text, uint64_t edge,
		       int is_back, struct found *out)
{
	uint64_t number = v->before[point],
		 end = point + 1 < uft_index_points(r->index) ? v->before[point + 1] : v->matches;
	int ret = number < end ? seek(r, point) : 0;

	for (struct uft_event ev; !ret && number < end && uft_stream_next(r->st, &ev) == 1;) {
		if (!view_filter_match(v->filter, &ev))
			continue;
		if ((is_back ? number < edge : number > edge) && has_text(&ev, text)) {
			*out = (struct found){number, ev.ts_ns > r->origin_ns ? ev.ts_ns - r->origin_ns : 0, 1};
			if (!is_back)
				break;
		}
		if (is_back && number >= edge)
			break;
		number++;
	}
	return ret;
}

int recording_search(struct recording *r, const char *filter, const char *text, uint64_t first, int is_back,
		     struct json *j, const char **why)
{
	uint64_t begun = now_ns(), more = 0;
	struct found found = {0, 0, 0};
	struct view *v;
	size_t point;
	int ret, has_more = 0;

	pthread_mutex_lock(&r->lock);
	ret = need_view(r, filter, &v, j, why);
	if (ret <= 0)
		goto out;
	for (point = point_of_match(r, v, first); point < uft_index_points(r->index); point += is_back ? -1 : 1) {
		ret = search_part(r, v, point, text, first, is_back, &found);
		if (ret)
			goto out;
		if (found.is || (is_back && !point))
			break;
		if (now_ns() - begun > SEARCH_NS) {
			has_more = 1;
			more = is_back					? v->before[point]
			       : point + 1 < uft_index_points(r->index) ? v->before[point + 1]
									: v->matches;
			more = !is_back && more ? more - 1 : more;
			break;
		}
	}
	json_raw(j, "{\"state\":\"done\"");
	if (found.is) {
		json_key_u(j, "row", found.number);
		json_key_u(j, "t", found.t);
	} else if (has_more) {
		json_key_u(j, "more", more);
	}
	json_raw(j, "}");
	ret = j->err;
out:
	pthread_mutex_unlock(&r->lock);
	return ret < 0 ? ret : 0;
}

/* ---- Reports ---- */

static struct report *get_report(struct recording *r, struct view_range range, uint32_t tid, const char *func)
{
	struct report *p = NULL;
	char *copy;

	for (uint32_t i = 0; i < REPORTS; i++) {
		struct report *q = &r->report[i];

		if (q->is_used && q->range.from == range.from && q->range.to == range.to && q->tid == tid &&
		    q->is_histogram == !!func && (!func || !strcmp(q->func, func))) {
			q->used = ++r->clock;
			return q;
		}
		if (q->made != MADE_WORKING && (!p || !q->is_used || (p->is_used && q->used < p->used)))
			p = q;
	}
	copy = func ? strdup(func) : NULL;
	if (!p || (func && !copy))
		return NULL;
	report_clear(p);
	*p = (struct report){
		.is_used = 1, .is_histogram = !!func, .range = range, .tid = tid, .func = copy, .used = ++r->clock};
	pthread_cond_broadcast(&r->ordered);
	return p;
}

static int answer_report(struct recording *r, struct view_range range, uint32_t tid, const char *func, struct json *j)
{
	struct report *p;
	int ret = 0;

	pthread_mutex_lock(&r->lock);
	if (!r->index) { /* it would read from the start */
		is_made(&r->view[0], j);
		goto out;
	}
	p = get_report(r, range, tid, func);
	if (!p)
		ret = -ENOMEM;
	else if (p->made == MADE_DONE)
		json_raw(j, p->answer.p);
	else if (p->made == MADE_FAILED)
		put_failed(j, p->error);
	else
		put_working(j, p->progress);
out:
	pthread_mutex_unlock(&r->lock);
	return ret ? ret : j->err;
}

int recording_tree(struct recording *r, struct view_range range, uint32_t tid, struct json *j, const char **why)
{
	*why = NULL;
	return answer_report(r, range, tid, NULL, j);
}

int recording_histogram(struct recording *r, struct view_range range, uint32_t tid, const char *func, struct json *j,
			const char **why)
{
	*why = NULL;
	return answer_report(r, range, tid, func, j);
}

int recording_reload(struct recording *r, struct json *j)
{
	struct uft_error err = {""};
	int ret;

	pthread_mutex_lock(&r->lock);
	stop_work(r, 0);
	while (r->order.made == MADE_WORKING)
		pthread_cond_wait(&r->ordered, &r->lock);
	r->order.is_cancelled = 0;
	for (uint32_t i = 0; i < REPORTS; i++)
		while (r->report[i].made == MADE_WORKING)
			pthread_cond_wait(&r->ordered, &r->lock);
	for (uint32_t i = 0; i < VIEWS; i++)
		while (r->view[i].made == MADE_WORKING) {
			r->is_stale = 1;
			pthread_cond_wait(&r->ordered, &r->lock);
		}
	r->is_stale = 0;
	ret = open_file(r, r->path, &err);
	if (!ret) {
		forget_fine(r);
		uft_index_close(r->index);
		r->index = NULL;
		for (uint32_t i = 0; i < REPORTS; i++)
			report_clear(&r->report[i]);
		for (uint32_t i = 1; i < VIEWS; i++)
			view_clear(&r->view[i]);
		lod_free(r->view[0].lod);
		free(r->view[0].before);
		r->view[0] = (struct view){.text = r->view[0].text};
		r->generation++;
		pthread_cond_broadcast(&r->ordered);
	}
	json_raw(j, "{");
	json_key_str(j, "state", ret ? "failed" : "working");
	if (ret)
		json_key_str(j, "error", err.text);
	json_raw(j, "}");
	pthread_mutex_unlock(&r->lock);
	return j->err;
}
