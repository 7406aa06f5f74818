/* SPDX-License-Identifier: MIT */
/*
 * seek.c - points of a recording from which decoding can begin
 *
 * The next event to decode depends on everything before it: which calls are open in each task, where each ring stands,
 * what was reported as lost. A point is all of this between two events. The first reader that decodes a recording from
 * its start makes the points and writes them to a file beside it, `NAME.index`: the recorder does not decode, so it
 * cannot make points, and existing recordings have none (doc/design/decisions.md). Points are 16 Ki events apart, or so
 * far that they take less than 1/64 of what they index.
 *
 * A reader of the range from A on starts at the last point before which no event has a time of A or later. This holds
 * for events out of order, too, which damage can make: the points keep the latest time so far, which only grows.
 *
 * Layout: struct index_head, the points, the table of tasks and counts, the directory (struct index_point each). Points
 * and table are varints (wire.h). The head names the recording: size, time of change, checksum of the header. An index
 * of another recording, or of another user, is ignored.
 *
 * Hostile input. All of it is checked before it is used: sums first, then every number against the recording (blocks,
 * places in them, tasks, depths). A point that makes no sense brings the stream to its start. A forged index that
 * passes can make the decoder show other calls, as a forged recording can, but nothing else.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stream/decode/decode.h"
#include "stream/decode/seek.h"
#include "symbol/array.h"
#include "symbol/sorted.h"

#define INDEX_EVENTS (16u << 10) /* least distance of two points */
#define INDEX_SHARE 8u		  /* and events for each byte of the last point */
#define INDEX_POINT_MAX (64u << 20)
#define INDEX_POINTS (1u << 20)
#define INDEX_BODY_MAX (64u << 20) /* table and directory: all points, and each task that a stream has */

struct index_task {
	uint32_t slice, pid, tid, has_events;
};

struct uft_index {
	struct index_head head;
	struct index_point *point;
	size_t npoint, cap_point;
	struct index_task *task;
	uint32_t ntask;
	struct uft_info info; /* counts of the recording */
	uint64_t first_ns;
	uint64_t nevents, latest_ns, since, last_bytes, every;
	struct wire blob; /* while it is made: the points, behind room for the head */
	int fd;		  /* of an opened index; -1: all is in blob */
};

/* ---- Contents of a point ------------------------------------------------------------------------------ */

enum place_flags {
	PLACE_SYNCED = 1,
	PLACE_LOADED = 2,
	PLACE_SKIP_BAD = 4,
	PLACE_AT_LIM = 8,
	PLACE_DONE = 16,
	PLACE_ASIDE = 32
};

static int is_fresh(const struct uft_stream *st, uint32_t i)
{
	const struct dec_ring *r = &st->ring[i];

	return r->cur.block == st->first_block[i] && !r->cur.is_loaded && !r->is_done && !r->task && !r->lost_due;
}

/* 0: no task. The task for all beyond the most has the last number. */
static uint64_t task_number(const struct uft_stream *st, const struct dec_task *t)
{
	return !t ? 0 : t == st->last_task ? st->ntask + 1u : t->pub.index + 1u;
}

static void put_ring(struct wire *w, const struct uft_stream *st, uint32_t i)
{
	const struct dec_ring *r = &st->ring[i];
	struct cur_place p;

	cur_save(&r->cur, st->first_block[i], &p);
	wire_put_u(w, (p.is_synced ? PLACE_SYNCED : 0) | (p.is_loaded ? PLACE_LOADED : 0) |
			      (p.is_skip_bad ? PLACE_SKIP_BAD : 0) | (p.is_at_lim ? PLACE_AT_LIM : 0) |
			      (r->is_done ? PLACE_DONE : 0) | (r->left_aside ? PLACE_ASIDE : 0));
	wire_put_u(w, p.block);
	wire_put_u(w, p.position);
	wire_put_u(w, p.skip_to);
	wire_put_u(w, p.bad);
	wire_put_bytes(w, p.carry, p.ncarry);
	wire_put_u(w, task_number(st, r->task));
	wire_put_u(w, r->key);
	wire_put_u(w, r->hi);
	wire_put_u(w, r->left);
	wire_put_u(w, r->left_ns);
	wire_put_u(w, r->lost);
	wire_put_u(w, r->lost_in_header);
	wire_put_u(w, r->lost_due);
	wire_put_u(w, r->has_flags ? r->flags + 1u : 0);
}

/* Runs of rings that have not begun, and of rings at their end, are stored as numbers; other rings in full. */
static void put_rings(struct wire *w, const struct uft_stream *st)
{
	uint32_t i = 0;

	while (i < st->nring) {
		uint32_t from = i;

		while (i < st->nring && is_fresh(st, i))
			i++;
		wire_put_u(w, i - from);
		from = i;
		while (i < st->nring && mrg_ended(&st->ring[i]))
			i++;
		wire_put_u(w, i - from);
		for (from = i; i < st->nring && !is_fresh(st, i) && !mrg_ended(&st->ring[i]);)
			i++;
		wire_put_u(w, i - from);
		for (; from < i; from++)
			put_ring(w, st, from);
	}
}

static void put_task(struct wire *w, uint64_t number, const struct dec_task *t)
{
	uint64_t before = 0;

	if (!t->depth && !t->over && !t->ndone)
		return;
	wire_put_u(w, number);
	wire_put_u(w, t->over);
	wire_put_u(w, t->depth);
	for (uint32_t i = 0; i < t->depth; i++) {
		wire_put_u(w, t->stack[i].id);
		wire_put_s(w, (int64_t)(t->stack[i].entry_ns - before));
		wire_put_u(w, t->stack[i].child_ns);
		before = t->stack[i].entry_ns;
	}
	wire_put_u(w, t->ndone);
	for (uint32_t i = 0; i < t->ndone; i++) {
		wire_put_s(w, (int64_t)(t->done[i].start_ns - before));
		wire_put_u(w, t->done[i].duration_ns);
		before = t->done[i].start_ns;
	}
}

static void put_point(struct wire *w, const struct uft_stream *st)
{
	wire_put_u(w, st->search_budget);
	put_rings(w, st);
	for (uint32_t i = 0; i < st->ntask; i++)
		put_task(w, i + 1, st->task[i]);
	put_task(w, st->ntask + 1u, st->last_task);
	wire_put_u(w, 0);
	for (uint32_t i = 0; st->aside && i < DEC_ASIDE; i++) {
		const struct dec_aside *a = &st->aside[i];

		if (!a->entry_ns)
			continue;
		wire_put_u(w, i + 1);
		wire_put_u(w, a->entry_ns);
		wire_put_u(w, a->child_ns);
		wire_put_u(w, a->id);
		wire_put_u(w, a->slice);
	}
	wire_put_u(w, 0);
}

/* ---- Making --------------------------------------------------------------------------------------------- */

static int add_point(struct uft_index *ix, struct uft_stream *st)
{
	size_t from = ix->blob.n;

	if (array_reserve(ix->point, ix->cap_point, ix->npoint + 1))
		return -ENOMEM;
	put_point(&ix->blob, st);
	if (ix->blob.err)
		return ix->blob.err;
	ix->since = 0;
	ix->last_bytes = ix->blob.n - from;
	if (ix->last_bytes > INDEX_POINT_MAX || ix->npoint >= INDEX_POINTS) {
		ix->blob.n = from;
		return 0;
	}
	ix->point[ix->npoint++] = (struct index_point){
		.latest_ns = ix->latest_ns,
		.event = ix->nevents,
		.at = from,
		.bytes = ix->last_bytes,
		.sum = wire_sum(ix->blob.p + from, ix->last_bytes),
	};
	return 0;
}

struct uft_index *uft_index_new(struct uft_stream *st, uint64_t every)
{
	static const struct index_head room;
	struct uft_index *ix = calloc(1, sizeof(*ix));

	if (!ix)
		return NULL;
	ix->fd = -1;
	ix->every = every ? every : INDEX_EVENTS;
	ix->first_ns = UINT64_MAX;
	ix->head.magic = INDEX_MAGIC;
	sidecar_mark(st->file, &ix->head.of);
	for (size_t i = 0; i < sizeof(room) / 8; i++)
		wire_put_bytes(&ix->blob, "1234567", 7); /* eight bytes each, with the length */
	if (ix->blob.err || add_point(ix, st)) {
		uft_index_close(ix);
		return NULL;
	}
	return ix;
}

int uft_index_add(struct uft_index *ix, struct uft_stream *st, const struct uft_event *ev, size_t n)
{
	uint64_t latest_ns = ix->latest_ns;

	for (size_t i = 0; ix->first_ns == UINT64_MAX && i < n; i++)
		if (ev[i].kind != UFT_EV_LOST && ev[i].kind != UFT_EV_LEFT)
			ix->first_ns = ev[i].ts_ns;
	for (size_t i = 0; i < n; i++)
		latest_ns = ev[i].ts_ns > latest_ns ? ev[i].ts_ns : latest_ns;
	ix->latest_ns = latest_ns;
	ix->nevents += n;
	ix->since += n;
	if (ix->since < ix->every || (ix->every == INDEX_EVENTS && ix->since < INDEX_SHARE * ix->last_bytes))
		return 0;
	return add_point(ix, st);
}

int uft_index_join(struct uft_index *ix, const struct uft_index *part)
{
	for (size_t i = 0; i < part->npoint && ix->npoint < INDEX_POINTS; i++) {
		struct index_point p = part->point[i];

		if (array_reserve(ix->point, ix->cap_point, ix->npoint + 1))
			return -ENOMEM;
		wire_put_bytes(&ix->blob, part->blob.p + p.at, p.bytes);
		p.at = ix->blob.n - p.bytes;
		p.event += ix->nevents;
		p.latest_ns = p.latest_ns > ix->latest_ns ? p.latest_ns : ix->latest_ns;
		ix->point[ix->npoint++] = p;
	}
	ix->first_ns = ix->first_ns == UINT64_MAX ? part->first_ns : ix->first_ns;
	ix->latest_ns = part->latest_ns > ix->latest_ns ? part->latest_ns : ix->latest_ns;
	ix->nevents += part->nevents;
	return ix->blob.err;
}

static void put_table(struct wire *w, const struct uft_index *ix, const struct uft_stream *st)
{
	const struct uft_info *i = &st->info;

	wire_put_u(w, ix->first_ns);
	wire_put_u(w, ix->nevents);
	wire_put_u(w, i->events);
	wire_put_u(w, i->calls);
	wire_put_u(w, i->lost);
	wire_put_u(w, i->lost_parts);
	wire_put_u(w, i->overwritten);
	wire_put_u(w, i->first_ns);
	wire_put_u(w, i->duration_ns);
	wire_put_u(w, i->damaged_bytes);
	wire_put_u(w, i->ntasks);
	wire_put_u(w, i->false_losses);
	wire_put_u(w, st->ntask);
	for (uint32_t k = 0; k < st->ntask; k++) {
		wire_put_u(w, st->task[k]->slice);
		wire_put_u(w, st->task[k]->pub.own_pid);
		wire_put_u(w, st->task[k]->pub.own_tid);
		wire_put_u(w, st->task[k]->has_events);
	}
}

static int get_table(struct uft_index *ix, const uint8_t *p, size_t n)
{
	struct wire_in in = {.p = p, .end = p + n};
	struct uft_info *i = &ix->info;

	ix->first_ns = wire_get_u(&in);
	ix->nevents = wire_get_u(&in);
	i->events = wire_get_u(&in);
	i->calls = wire_get_u(&in);
	i->lost = wire_get_u(&in);
	i->lost_parts = wire_get_u(&in);
	i->overwritten = wire_get_u(&in);
	i->first_ns = wire_get_u(&in);
	i->duration_ns = wire_get_u(&in);
	i->damaged_bytes = wire_get_u(&in);
	i->ntasks = wire_get_u32(&in);
	i->false_losses = wire_get_u32(&in);
	ix->ntask = wire_get_u32(&in);
	if (in.bad || ix->ntask > n / 4)
		return -EBADMSG;
	ix->task = calloc(ix->ntask + 1u, sizeof(*ix->task));
	if (!ix->task)
		return -ENOMEM;
	for (uint32_t k = 0; k < ix->ntask; k++) {
		ix->task[k].slice = wire_get_u32(&in);
		ix->task[k].pid = wire_get_u32(&in);
		ix->task[k].tid = wire_get_u32(&in);
		ix->task[k].has_events = wire_get_u32(&in);
	}
	return in.bad ? -EBADMSG : 0;
}

int uft_index_finish(struct uft_index *ix, struct uft_stream *st)
{
	struct index_head *h = &ix->head;
	struct wire *w = &ix->blob;
	size_t directory = ix->npoint * sizeof(*ix->point);
	int ret;

	/* Counting meets no task that decoding has not met. */
	uft_stream_info(st);
	ret = uft_stream_check_file(st, NULL);
	if (ret)
		return ret;
	h->table = w->n;
	put_table(w, ix, st);
	h->npoints = ix->npoint;
	wire_put_bytes(w, ix->point, directory);
	if (w->err)
		return w->err;
	h->directory = w->n - directory;
	h->body_sum = wire_sum(w->p + h->table, w->n - h->table);
	h->sum = wire_sum(h, offsetof(struct index_head, sum));
	memcpy(w->p, h, sizeof(*h));
	ret = get_table(ix, w->p + h->table, h->directory - h->table);
	return ret == -EBADMSG ? -E2BIG : ret;
}

const struct rd_file *uft_stream_recording(const struct uft_stream *st)
{
	return st->file;
}

int uft_index_save(const struct uft_index *ix, const char *path)
{
	struct sidecar s;
	int ret = sidecar_begin(path, ".index", &s);

	if (ret)
		return ret;
	return sidecar_end(&s, fwrite(ix->blob.p, 1, ix->blob.n, s.f) == ix->blob.n ? 0 : -EIO);
}

int uft_index_make(const char *path, struct uft_index **out, struct uft_error *err)
{
	struct uft_select all = {.no_parents = 1};
	struct uft_event ev[256];
	struct uft_stream *st;
	struct uft_index *ix;
	size_t n;
	int ret;

	*out = NULL;
	ret = uft_stream_open(path, &all, &st, err);
	if (ret)
		return ret;
	ix = uft_index_new(st, 0);
	ret = ix ? 0 : -ENOMEM;
	while (!ret && (n = uft_stream_batch(st, ev, sizeof(ev) / sizeof(ev[0]))) != 0)
		ret = uft_index_add(ix, st, ev, n);
	if (!ret)
		ret = uft_index_finish(ix, st);
	uft_stream_close(st);
	if (ret) {
		uft_index_close(ix);
		return uft_fail(err, ret, "%s: cannot make an index: %s", path, strerror(-ret));
	}
	*out = ix;
	return 0;
}

/* ---- Opening --------------------------------------------------------------------------------------------- */

/* Checks that the directory is in order, because binary searches rely on it. */
static int check_points(const struct uft_index *ix)
{
	const struct index_point *p = ix->point;

	for (size_t i = 0; i < ix->npoint; i++) {
		if (p[i].bytes > INDEX_POINT_MAX || p[i].at > ix->head.table || p[i].bytes > ix->head.table - p[i].at)
			return -EBADMSG;
		if (i && (p[i].latest_ns < p[i - 1].latest_ns || p[i].event < p[i - 1].event))
			return -EBADMSG;
	}
	return ix->npoint && !p[0].event && !p[0].latest_ns ? 0 : -EBADMSG;
}

static int read_index(struct uft_index *ix, const struct uft_stream *st, uint64_t size)
{
	struct index_head *h = &ix->head;
	uint64_t directory;
	uint8_t *body;
	size_t n;
	int ret;

	if (wire_read_at(ix->fd, h, sizeof(*h), 0) || h->sum != wire_sum(h, offsetof(struct index_head, sum)) ||
	    h->magic != INDEX_MAGIC || !sidecar_has_mark(st->file, &h->of))
		return -ENOENT;
	directory = h->npoints * sizeof(*ix->point);
	if (h->npoints > INDEX_POINTS || h->table > h->directory || h->directory > size ||
	    directory != size - h->directory)
		return -EBADMSG;
	if (size - h->table > INDEX_BODY_MAX) /* GUARD(index_body) */
		return -EFBIG;
	n = (size_t)(size - h->table);
	body = malloc(n + 1);
	ix->point = malloc(directory + 1);
	ret = body && ix->point ? wire_read_at(ix->fd, body, n, h->table) : -ENOMEM;
	if (!ret && wire_sum(body, n) != h->body_sum)
		ret = -EBADMSG;
	if (!ret) {
		memcpy(ix->point, body + n - directory, directory);
		ix->npoint = h->npoints;
		ret = check_points(ix);
	}
	if (!ret)
		ret = get_table(ix, body, h->directory - h->table);
	free(body);
	return ret;
}

int uft_index_open(const char *path, struct uft_stream *st, struct uft_index **out)
{
	struct uft_index *ix = calloc(1, sizeof(*ix));
	uint64_t size = 0;
	int ret = ix ? 0 : -ENOMEM;

	*out = NULL;
	if (!ret) {
		ix->fd = sidecar_open(path, ".index", st->file, &size);
		ret = ix->fd < 0 ? ix->fd : read_index(ix, st, size);
	}
	if (ret)
		uft_index_close(ix);
	else
		*out = ix;
	return ret;
}

void uft_index_close(struct uft_index *ix)
{
	if (!ix)
		return;
	if (ix->fd >= 0)
		close(ix->fd);
	wire_free(&ix->blob);
	free(ix->point);
	free(ix->task);
	free(ix);
}

size_t uft_index_points(const struct uft_index *ix)
{
	return ix->npoint;
}

uint64_t uft_index_events(const struct uft_index *ix)
{
	return ix->nevents;
}

uint64_t uft_index_bytes(const struct uft_index *ix)
{
	return ix->head.directory + ix->npoint * sizeof(*ix->point);
}

uint64_t uft_index_point_event(const struct uft_index *ix, size_t point)
{
	return ix->point[point].event;
}

size_t uft_index_find_ns(const struct uft_index *ix, uint64_t ns)
{
	/* The first point that has an event of @ns or later before it. */
	size_t lo = SORTED_FIRST(i, ix->npoint, ix->point[i].latest_ns >= ns);

	return lo ? lo - 1 : 0;
}

/* ---- Seeking ---------------------------------------------------------------------------------------------- */

static void ring_fresh(struct uft_stream *st, uint32_t i)
{
	static const struct cur_place start;
	struct dec_ring *r = &st->ring[i];

	cur_restore(&r->cur, st->first_block[i], &start);
	r->task = NULL;
	r->key = st->first_block[i]->clock;
	r->hi = r->left_ns = r->lost = r->lost_in_header = r->lost_due = 0;
	r->left = r->left_aside = 0;
	r->is_done = r->has_flags = 0;
}

static void ring_ended(struct uft_stream *st, uint32_t i)
{
	ring_fresh(st, i);
	cur_release(&st->ring[i].cur);
	st->ring[i].is_done = 1;
}

static int get_ring(struct wire_in *in, struct uft_stream *st, uint32_t i, struct dec_task **task, uint32_t ntask)
{
	struct dec_ring *r = &st->ring[i];
	struct cur_place p = {0};
	const uint8_t *carry;
	uint64_t flags = wire_get_u(in), number;
	uint32_t latency;

	p.is_synced = (flags & PLACE_SYNCED) != 0;
	p.is_loaded = (flags & PLACE_LOADED) != 0;
	p.is_skip_bad = (flags & PLACE_SKIP_BAD) != 0;
	p.is_at_lim = (flags & PLACE_AT_LIM) != 0;
	p.block = wire_get_u32(in);
	p.position = wire_get_u(in);
	p.skip_to = wire_get_u(in);
	p.bad = wire_get_u(in);
	p.ncarry = (uint32_t)wire_get_bytes(in, &carry);
	if (in->bad || p.ncarry > sizeof(p.carry))
		return -EBADMSG;
	memcpy(p.carry, carry, p.ncarry);
	number = wire_get_u(in);
	r->key = wire_get_u(in);
	r->hi = wire_get_u(in) & ~0xffffffffull;
	r->left = wire_get_u32(in); /* checked when the stacks are read */
	r->left_ns = wire_get_u(in);
	r->lost = wire_get_u(in);
	r->lost_in_header = wire_get_u(in);
	r->lost_due = wire_get_u(in);
	latency = wire_get_u32(in);
	r->has_flags = latency != 0;
	r->flags = (uint16_t)(latency - 1);
	r->left_aside = (flags & PLACE_ASIDE) != 0;
	r->is_done = (flags & PLACE_DONE) != 0;
	/* Records need a task, which the header of their sub-buffer named. */
	if (in->bad || number > ntask + 1u || (!number && (p.is_synced || r->left)) || r->lost_in_header > r->lost)
		return -EBADMSG;
	r->task = !number ? NULL : number == ntask + 1u ? st->last_task : task[number - 1];
	if (r->task && r->task != st->last_task && r->task->slice != r->slice_number)
		return -EBADMSG;
	return cur_restore(&r->cur, st->first_block[i], &p);
}

static int get_rings(struct wire_in *in, struct uft_stream *st, struct dec_task **task, uint32_t ntask)
{
	uint32_t i = 0;

	while (i < st->nring) {
		uint32_t fresh, ended, open, from = i;

		for (fresh = wire_get_u32(in); fresh && i < st->nring; fresh--)
			ring_fresh(st, i++);
		for (ended = wire_get_u32(in); ended && i < st->nring; ended--)
			ring_ended(st, i++);
		for (open = wire_get_u32(in); open && i < st->nring; open--)
			if (get_ring(in, st, i++, task, ntask))
				return -EBADMSG;
		if (in->bad || fresh || ended || open || i == from)
			return -EBADMSG;
	}
	return 0;
}

static int get_task(struct wire_in *in, struct uft_stream *st, struct dec_task *t)
{
	uint32_t over = wire_get_u32(in), n = wire_get_u32(in);
	uint64_t before = 0;

	for (; n && !in->bad; n--) {
		uint32_t id = wire_get_u32(in) & UFT_REC_VALUE_MAX;

		if (t->depth == t->cap && dec_task_grow(st, t))
			return -EBADMSG;
		before += (uint64_t)wire_get_s(in);
		t->stack[t->depth++] = (struct dec_frame){before, wire_get_u(in), dec_sym(st, t->image, id), id, 0};
	}
	t->over = over;
	n = wire_get_u32(in);
	if (n > 1024 || in->bad)
		return -EBADMSG;
	if (n > t->cap_done) {
		if (array_resize(t->done, 1024))
			return -ENOMEM;
		t->cap_done = 1024;
	}
	for (; n; n--) {
		before += (uint64_t)wire_get_s(in);
		t->done[t->ndone++] = (struct dec_done){before, wire_get_u(in)};
	}
	return in->bad ? -EBADMSG : 0;
}

static int get_aside(struct wire_in *in, struct uft_stream *st)
{
	uint32_t at;

	if (st->aside)
		memset(st->aside, 0, DEC_ASIDE * sizeof(*st->aside));
	while ((at = wire_get_u32(in)) != 0) {
		if (at > DEC_ASIDE)
			return -EBADMSG;
		if (!st->aside)
			st->aside = calloc(DEC_ASIDE, sizeof(*st->aside));
		if (!st->aside)
			return -ENOMEM;
		st->aside[at - 1].entry_ns = wire_get_u(in);
		st->aside[at - 1].child_ns = wire_get_u(in);
		st->aside[at - 1].id = wire_get_u32(in);
		st->aside[at - 1].slice = wire_get_u32(in);
	}
	return in->bad ? -EBADMSG : 0;
}

static void close_calls(struct uft_stream *st)
{
	for (uint32_t i = 0; i <= st->ntask; i++) {
		struct dec_task *t = i < st->ntask ? st->task[i] : st->last_task;

		t->depth = t->over = t->ndone = 0;
	}
}

static int get_point(struct wire_in *in, struct uft_stream *st, struct dec_task **task, uint32_t ntask)
{
	uint64_t number;
	int ret;

	close_calls(st);
	st->search_budget = wire_get_u(in);
	ret = get_rings(in, st, task, ntask);
	while (!ret && (number = wire_get_u(in)) != 0)
		ret = number > ntask + 1u ? -EBADMSG
					  : get_task(in, st, number == ntask + 1u ? st->last_task : task[number - 1]);
	if (!ret)
		ret = get_aside(in, st);
	for (uint32_t i = 0; !ret && i < st->nring; i++)
		if (st->ring[i].left && st->ring[i].left > st->ring[i].task->depth)
			ret = -EBADMSG;
	return ret;
}

/* Orders all rings that are not at their end, by their next records. */
static void order_rings(struct uft_stream *st)
{
	st->nheap = 0;
	for (uint32_t i = 0; i < st->nring; i++)
		if (!mrg_ended(&st->ring[i]))
			st->heap[st->nheap++] = i;
	mrg_heapify(st);
	st->next_at = st->next_n = 0;
	st->sel.is_past = 0;
	end_init(st);
}

void seek_start(struct uft_stream *st)
{
	close_calls(st);
	for (uint32_t i = 0; i < st->nring; i++)
		ring_fresh(st, i);
	st->search_budget = 0;
	if (st->aside)
		memset(st->aside, 0, DEC_ASIDE * sizeof(*st->aside));
	order_rings(st);
}

/* Makes the recording's tasks in the order in which decoding met them, so that they get the same numbers. */
static int get_tasks(struct uft_stream *st, const struct uft_index *ix, struct dec_task ***out)
{
	struct dec_task **task = malloc((ix->ntask + 1u) * sizeof(*task));

	if (!task)
		return -ENOMEM;
	for (uint32_t i = 0; i < ix->ntask; i++) {
		const struct index_task *t = &ix->task[i];
		const struct rd_slice *slice = rd_find_slice(st->file, t->slice);

		task[i] = dec_task_get(st, t->slice, mrg_image(st, slice), slice, t->pid, t->tid);
		task[i]->has_events |= t->has_events;
	}
	*out = task;
	return 0;
}

int uft_stream_seek(struct uft_stream *st, const struct uft_index *ix, size_t point)
{
	const struct index_point *p = &ix->point[point < ix->npoint ? point : 0];
	struct dec_task **task = NULL;
	uint8_t *bytes = malloc(p->bytes + 1);
	int ret = bytes ? get_tasks(st, ix, &task) : -ENOMEM;

	if (!ret && ix->fd >= 0)
		ret = wire_read_at(ix->fd, bytes, p->bytes, p->at);
	else if (!ret)
		memcpy(bytes, ix->blob.p + p->at, p->bytes);
	if (!ret && wire_sum(bytes, p->bytes) != p->sum)
		ret = -EBADMSG;
	if (!ret) {
		struct wire_in in = {.p = bytes, .end = bytes + p->bytes};

		ret = get_point(&in, st, task, ix->ntask);
	}
	if (ret)
		seek_start(st);
	else
		order_rings(st);
	free(task);
	free(bytes);
	return ret;
}

int uft_stream_seek_selection(struct uft_stream *st, const struct uft_index *ix)
{
	int ret = 0;

	scan_known(st, &ix->info);
	if (!st->has_select || ix->first_ns == UINT64_MAX)
		return 0;
	if (st->sel.asked.from_ns) {
		uint64_t first_ns = st->sel.first_ns;
		struct uft_select sel = st->sel.asked;

		sel_begin(&st->sel, ix->first_ns);
		ret = uft_stream_seek(st, ix,
				      uft_index_find_ns(ix, st->sel.asked.from_ns > UINT64_MAX - ix->first_ns
								    ? UINT64_MAX
								    : ix->first_ns + st->sel.asked.from_ns));
		if (ret) { /* as if there were no index */
			st->sel.first_ns = first_ns;
			st->sel.asked = sel;
			st->has_info = 0;
		}
	}
	return ret;
}
