/* SPDX-License-Identifier: MIT */
/* snapshot.c - the buffer as streams: snapshots and the consumer; the theory is in buffer.c */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stream/live/live_internal.h"
#include "symbol/array.h"

/* ---- Streams: base and its copies ------------------------------------------------------------ */

/* Makes one decoder for each ring of the buffer. */
static int add_rings(struct uft_live *l, struct uft_stream *st)
{
	size_t n = l->nring + 1;

	if (array_resize(st->ring, n) || array_resize(st->heap, n) || array_resize(st->cursors, n))
		return -ENOMEM;
	for (; st->nring < l->nring; st->nring++) {
		const struct lv_ring *from = &l->ring[st->nring];

		st->ring[st->nring] = (struct dec_ring){
			.index = st->nring, .slice_number = from->number, .ring = from->ring,
			.cpu = lv_cpu_of(l, from->ring),
			.image = &st->image[from->image], .is_ours = from->is_ours, .is_done = 1,
		};
		st->ring[st->nring].cur.pool = &st->pool;
	}
	for (uint32_t i = 0; i < st->nring; i++)
		st->cursors[i] = &st->ring[i].cur;
	st->pool.cursor = st->cursors;
	st->pool.ncursor = st->nring;
	return 0;
}

/* Makes a block of the unseen bytes of a chunk; 0: there are none. */
static int chunk_block(const struct lv_chunk *c, const struct dec_ring *r, struct rd_block *out)
{
	uint64_t from = lv_seen_to(r), skip = from > c->position ? from - c->position : 0;

	if (skip >= c->len)
		return 0;
	*out = (struct rd_block){
		.position = c->position + skip, .clock = c->clock, .raw = c->len - (uint32_t)skip,
		.stored = c->len - (uint32_t)skip, .mem = c->data + skip,
	};
	return 1;
}

/* Gives the chunks to the decoders and orders the decoders. @hold: takes references to the chunks. */
static int refill(struct uft_live *l, struct uft_stream *st, struct lv_hold *hold)
{
	struct rd_file *f = st->file;
	size_t n = 0;

	for (uint32_t i = 0; i < l->nring; i++)
		for (struct lv_chunk *c = l->ring[i].first; c; c = c->next)
			n++;
	if (add_rings(l, st) || (n > f->cap_block && array_resize(f->block, n)))
		return -ENOMEM;
	f->cap_block = n > f->cap_block ? n : f->cap_block;
	f->nblock = st->nheap = 0;
	lv_bound_losses(l, st);
	for (uint32_t i = 0; i < l->nring; i++) {
		struct dec_ring *r = &st->ring[i];

		r->cur.block = f->block + f->nblock;
		for (struct lv_chunk *c = l->ring[i].first; c; c = c->next) {
			if (!chunk_block(c, r, &f->block[f->nblock]))
				continue;
			f->nblock++;
			if (hold) {
				__atomic_add_fetch(&c->refs, 1, __ATOMIC_RELAXED);
				hold->chunk[hold->n++] = c;
			}
		}
		r->cur.block_end = f->block + f->nblock;
		if (r->is_done && r->cur.block < r->cur.block_end && r->cur.block->clock > r->key && !r->cur.is_loaded)
			r->key = r->cur.block->clock;
		if (l->ring[i].is_dead)
			r->final_lost = l->ring[i].final_lost;
		r->is_done = 0;
		st->heap[st->nheap++] = i;
	}
	mrg_heapify(st);
	return 0;
}

/* Waits until at least two readings tell the clock's rate, before any reader gets a time. */
void lv_know_clock(struct uft_live *l)
{
	for (int i = 0; !l->line.is_known && i < (l->opts.clock ? 2 : 10000); i++)
		lv_sample_clock(l);
}

/* The stream's events are older than now: their times stay. */
static int set_clock(struct uft_live *l, struct uft_stream *st)
{
	struct uft_clock_pair now;

	if (lv_read_clock(l, l->clock_id, &now) && uft_clock_line_is_off(&l->line, &now))
		lv_sample_clock(l);
	lv_know_clock(l);
	l->told = uft_live_clock(l);
	st->stamp = l->stamp;
	st->clock_name = l->clock_name;
	uft_clock_free(&st->clock);
	return uft_clock_build_line(&st->clock, &l->line, l->shift_ns);
}

struct uft_stream *lv_stream_new(struct uft_live *l)
{
	struct uft_stream *st = calloc(1, sizeof(*st));

	if (!st)
		return NULL;
	st->sel.first_ns = UINT64_MAX;
	st->sel.image_of = dec_task_image;
	st->file = calloc(1, sizeof(*st->file));
	st->resolver = uft_resolver_alloc();
	st->last_task = calloc(1, sizeof(*st->last_task));
	if (!st->file || !st->resolver || !st->last_task) {
		uft_resolver_free(st->resolver);
		free(st->last_task);
		free(st->file);
		free(st);
		return NULL;
	}
	st->file->fd = -1;
	st->file->is_live = 1;
	st->file->head = l->geo->head;
	st->file->events = uft_event_table_get(l->opts.events);
	st->pool.file = st->file;
	st->last_task->slice = UINT32_MAX;
	st->last_task->pub.comm = "<...>";
	st->last_task->pub.program = "?";
	st->last_task->pub.index = 1u << 19;
	return st;
}

void lv_stream_release(struct uft_stream *st)
{
	while (st->hold && st->hold->n)
		lv_chunk_put(st->hold->chunk[--st->hold->n]);
}

static void stream_release(struct uft_stream *st)
{
	lv_stream_release(st);
	free(st->hold);
	free(st->sel.hidden_copy);
	lv_choices_free(st->sel.choice_copy, st->sel.nchoice_copy);
	free(st->sel.single_copy);
}

/* ---- The copy of base ------------------------------------------------------------------------ */

static int copy_spans(struct uft_stream *st, const struct uft_live *from)
{
	if (!from->nspan)
		return 0;
	st->sel.hidden_copy = malloc(from->nspan * sizeof(*from->span));
	if (!st->sel.hidden_copy)
		return -ENOMEM;
	memcpy(st->sel.hidden_copy, from->span, from->nspan * sizeof(*from->span));
	st->sel.hidden = st->sel.hidden_copy;
	st->sel.nhidden = from->nspan;
	st->has_select = 1;
	return 0;
}

static int copy_names(struct uft_stream *to, const struct uft_stream *from)
{
	const struct rd_file *f = from->file;

	to->file->task = calloc(f->ntask + 1, sizeof(*f->task));
	if (!to->file->task)
		return -ENOMEM;
	for (; to->file->ntask < f->ntask; to->file->ntask++) {
		struct rd_task *t = &to->file->task[to->file->ntask];

		*t = f->task[to->file->ntask];
		t->comm = strdup(t->comm);
		if (!t->comm)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < from->nouter; i++)
		if (dec_outer_add(to, from->outer[i].slice, from->outer[i].tid, from->outer[i].outer))
			return -ENOMEM;
	for (size_t i = 0; i < f->nimage; i++) {
		if (lv_image_add(to, i ? f->image[i] : NULL, f->image[i]->id) < 0)
			return -ENOMEM;
		to->image[i].is_used = from->image[i].is_used;
	}
	return 0;
}

static struct dec_task *copy_task(struct uft_stream *to, const struct uft_stream *from, const struct dec_task *t)
{
	struct dec_image *image = &to->image[t->image - from->image];
	struct dec_task *copy = dec_task_get(to, t->slice, image, NULL, t->pub.own_pid, t->pub.own_tid);

	while (copy != to->last_task && copy->cap < t->depth)
		if (dec_task_grow(to, copy))
			return copy;
	if (copy == to->last_task)
		return copy;
	for (uint32_t i = 0; i < t->depth; i++) {
		copy->stack[i] = t->stack[i];
		copy->stack[i].sym = dec_sym(to, image, t->stack[i].id);
	}
	copy->depth = t->depth;
	copy->over = t->over;
	return copy;
}

static int copy_rings(struct uft_live *l, struct uft_stream *to, const struct uft_stream *from)
{
	if (add_rings(l, to))
		return -ENOMEM;
	for (uint32_t i = 0; i < from->nring; i++) {
		struct dec_ring *r = &to->ring[i];
		size_t n = (size_t)(from->ring[i].cur.end - from->ring[i].cur.p);
		size_t lim = (size_t)(from->ring[i].cur.lim - from->ring[i].cur.p);

		*r = from->ring[i];
		r->image = &to->image[from->ring[i].image - from->image];
		if (r->task)
			r->task = dec_task_get(to, r->task->slice, r->image, NULL, r->task->pub.own_pid,
					       r->task->pub.own_tid);
		r->cur.pool = &to->pool;
		r->cur.base = cur_position(&from->ring[i].cur);
		r->cur.buf = n ? malloc(n) : NULL;
		if (n && !r->cur.buf)
			n = lim = 0;
		if (n)
			memcpy(r->cur.buf, from->ring[i].cur.p, n);
		r->cur.cap = (uint32_t)n;
		r->cur.p = r->cur.buf;
		r->cur.end = r->cur.buf + n;
		r->cur.lim = r->cur.buf + lim;
		to->pool.bytes += n;
	}
	return 0;
}

struct uft_stream *lv_copy_base(struct uft_live *l)
{
	const struct uft_stream *base = l->base;
	struct uft_stream *st = lv_stream_new(l);
	size_t n = 0;
	int ret;

	if (!st)
		return NULL;
	for (uint32_t i = 0; i < l->nring; i++)
		for (struct lv_chunk *c = l->ring[i].first; c; c = c->next)
			n++;
	st->release = stream_release;
	st->hold = calloc(1, sizeof(*st->hold) + n * sizeof(st->hold->chunk[0]));
	ret = st->hold ? copy_names(st, base) : -ENOMEM;
	if (!ret)
		ret = set_clock(l, st);
	for (uint32_t i = 0; i < base->ntask && !ret; i++)
		copy_task(st, base, base->task[i]);
	if (!ret && base->aside) {
		st->aside = malloc(DEC_ASIDE * sizeof(*st->aside));
		if (st->aside)
			memcpy(st->aside, base->aside, DEC_ASIDE * sizeof(*st->aside));
	}
	if (!ret)
		ret = copy_rings(l, st, base);
	if (!ret)
		ret = refill(l, st, st->hold);
	if (!ret)
		ret = copy_spans(st, l);
	if (!ret)
		ret = lv_copy_choices(st, l);
	if (!ret)
		return st;
	uft_stream_close(st);
	return NULL;
}

/* Keeps only the rings of one CPU. */
static void keep_cpu(struct uft_stream *st, uint32_t cpu)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < st->nring; i++)
		if (st->ring[i].cpu == cpu)
			st->heap[n++] = i;
	st->nheap = n;
	mrg_heapify(st);
}

static void count_events(struct uft_stream *st, struct uft_live_stats *out)
{
	struct uft_event ev[64];
	size_t n;

	while ((n = uft_stream_batch(st, ev, 64)))
		for (size_t i = 0; i < n; i++) {
			if (ev[i].kind == UFT_EV_LOST || ev[i].kind == UFT_EV_LEFT ||
			    (ev[i].kind == UFT_EV_DATA && !UFT_EVENT_IS_OWN(ev[i].data)))
				continue;
			if (!out->entries++)
				out->oldest_ns = ev[i].ts_ns;
		}
}

/* Records that found no room in a buffer that overwrites came late, and count as lost. */
static uint64_t missing(const struct uft_live *l, uint32_t cpu)
{
	return l->cpu[cpu].overrun + (l->opts.overwrite ? l->cpu[cpu].dropped : 0);
}

void uft_live_stats(struct uft_live *l, uint32_t cpu, struct uft_live_stats *out)
{
	struct uft_stream *st;

	*out = (struct uft_live_stats){ .oldest_ns = 0 };
	pthread_mutex_lock(&l->lock);
	out->stamp = l->stamp;
	out->now_ns = uft_live_now(l);
	st = lv_copy_base(l);
	for (uint32_t i = 0; i < l->ncpus; i++) {
		if (cpu != UFT_LIVE_ALL && i != cpu)
			continue;
		out->overrun += l->cpu[i].overrun;
		out->dropped += l->cpu[i].dropped;
		out->missing += missing(l, i);
		out->read += l->cpu[i].read;
		out->bytes += l->cpu[i].bytes;
	}
	pthread_mutex_unlock(&l->lock);
	if (!st)
		return;
	if (cpu != UFT_LIVE_ALL)
		keep_cpu(st, cpu);
	count_events(st, out);
	uft_stream_close(st);
}

uint64_t uft_live_missing(struct uft_live *l)
{
	uint64_t n = 0;

	pthread_mutex_lock(&l->lock);
	for (uint32_t i = 0; i < l->ncpus; i++)
		n += missing(l, i);
	pthread_mutex_unlock(&l->lock);
	return n;
}

int uft_live_snapshot(struct uft_live *l, uint32_t cpu, struct uft_stream **out)
{
	struct uft_live_stats stats = { 0 };
	struct uft_stream *st, *counted;

	*out = NULL;
	pthread_mutex_lock(&l->lock);
	st = lv_copy_base(l);
	counted = st ? lv_copy_base(l) : NULL;
	for (uint32_t i = 0; i < l->ncpus; i++)
		stats.missing += cpu == UFT_LIVE_ALL || i == cpu ? missing(l, i) : 0;
	pthread_mutex_unlock(&l->lock);
	if (!counted) {
		uft_stream_close(st);
		return -ENOMEM;
	}
	if (cpu != UFT_LIVE_ALL) {
		keep_cpu(st, cpu);
		keep_cpu(counted, cpu);
	}
	count_events(counted, &stats);
	uft_stream_close(counted);
	st->has_info = 1;
	st->info.format = "live";
	st->info.events = stats.entries;
	st->info.lost = stats.missing;
	st->info.ncpus = l->ncpus;
	*out = st;
	return 0;
}

uint64_t uft_live_now(struct uft_live *l)
{
	struct uft_clock_pair now;

	lv_read_clock(l, l->clock_id, &now);
	return mrg_stamp(l->stamp, now.ns + l->shift_ns, now.clock);
}

/* Open calls began at the old times. */
void uft_live_use_clock(struct uft_live *l, const struct uft_live_clock *c)
{
	uint64_t more = (uint64_t)c->shift_ns - l->shift_ns;
	struct uft_stream *base = l->base;
	struct uft_clock_pair old, now;

	pthread_mutex_lock(&l->lock);
	if (c->id != l->clock_id) {
		uft_clock_sample_of(l->clock_id, &old);
		uft_clock_sample_of(c->id, &now);
		more += now.ns - old.ns;
		uft_clock_line_free(&l->line);
	}
	l->clock_name = c->name;
	l->clock_id = c->id;
	l->shift_ns = (uint64_t)c->shift_ns;
	l->stamp = c->stamp;
	l->base_version = 0;
	for (uint32_t i = 0; i < base->ntask; i++)
		for (uint32_t k = 0; k < base->task[i]->depth; k++)
			base->task[i]->stack[k].entry_ns += more;
	for (size_t i = 0; base->aside && i < DEC_ASIDE; i++)
		base->aside[i].entry_ns += more;
	pthread_mutex_unlock(&l->lock);
}

/* ---- The consumer ---------------------------------------------------------------------------- */

/* Frees texts and payloads of events that the consumer has used. */
static void forget_texts(struct uft_stream *st)
{
	if (st->next_at != st->next_n)
		return;
	while (st->nmark)
		free(st->mark[--st->nmark]);
	dec_payloads_free(st); /* GUARD(live_payloads) */
}

/* Base has all chunks, but a reader of one CPU's rings put the other rings aside. */
static void refresh(struct uft_stream *st)
{
	st->nheap = 0;
	for (uint32_t i = 0; i < st->nring; i++) {
		st->ring[i].is_done = 0;
		st->heap[st->nheap++] = i;
	}
	mrg_heapify(st);
}

/* A reader of pages comes again and again between two rounds of draining: then nothing has changed. */
static int begin(struct uft_live *l)
{
	int ret = 0;

	forget_texts(l->base);
	if (l->base->nstack == UFT_STREAM_STACKS)	/* events with a stack are not used after the end */
		dec_stacks_free(l->base);
	l->base->sel.hidden = l->span;
	l->base->sel.nhidden = l->nspan;
	l->base->sel.choice = l->choice;
	l->base->sel.nchoice = l->nchoice;
	l->base->sel.single_at = l->single_at;
	l->base->sel.nsingle_at = l->nsingle_at;
	l->base->has_select |= l->nspan != 0 || l->nchoice != 0;
	if (l->base_version && l->base_version == l->version && l->base->nring == l->nring) {
		refresh(l->base);
		return 0;
	}
	if (set_clock(l, l->base) || refill(l, l->base, NULL))
		ret = -ENOMEM;
	l->base_version = ret ? 0 : l->version;
	return ret;
}

/* Returns the clock up to which the order of events is certain, and known which of them are shown. */
static uint64_t limit_of(const struct uft_live *l)
{
	return l->tap && l->looked < l->watermark ? l->looked : l->watermark;
}

struct uft_stream *uft_live_begin(struct uft_live *l, uint32_t cpu)
{
	pthread_mutex_lock(&l->lock);
	l->base->limit = limit_of(l);
	if (!begin(l)) {
		if (cpu != UFT_LIVE_ALL)
			keep_cpu(l->base, cpu);
		return l->base;
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

/* Frees chunks that base has loaded. Removes a ring of an ended slice when it has no chunk left. */
static void release_seen(struct uft_live *l)
{
	for (uint32_t i = 0; i < l->nring; i++) {
		struct lv_ring *r = &l->ring[i];
		uint64_t seen = lv_seen_to(&l->base->ring[i]);

		l->cpu[lv_cpu_of(l, r->ring)].read += l->base->ring[i].given;
		l->base->ring[i].given = 0;
		while (r->first && r->first->position + r->first->len <= seen) {
			uint64_t version = l->version;

			lv_drop_first(l, r);	/* base is past it */
			l->version = version;
		}
	}
}

void uft_live_end(struct uft_live *l)
{
	release_seen(l);
	if (l->opts.is_tap)
		lv_fit(l); /* GUARD(tap_fits) */
	pthread_mutex_unlock(&l->lock);
}

uint64_t uft_live_untold(struct uft_live *l, uint32_t cpu)
{
	uint64_t n = cpu < l->ncpus ? l->cpu[cpu].untold : 0;

	if (n)
		l->cpu[cpu].untold = 0;
	return n;
}

int uft_live_is_empty(struct uft_live *l, uint32_t cpu)
{
	int empty = 1;

	pthread_mutex_lock(&l->lock);
	for (uint32_t i = 0; i < l->nring && empty; i++) {
		const struct dec_ring *r = i < l->base->nring ? &l->base->ring[i] : NULL;
		const struct lv_chunk *c = l->ring[i].first;

		if (cpu != UFT_LIVE_ALL && lv_cpu_of(l, l->ring[i].ring) != cpu)
			continue;
		if (r && r->cur.p != r->cur.end && r->key <= limit_of(l))
			empty = 0;
		for (; c && empty; c = c->next)
			empty = (r && lv_seen_to(r) >= c->position + c->len) || c->clock > limit_of(l);
	}
	pthread_mutex_unlock(&l->lock);
	return empty;
}

/* Drains what targets have committed. */
void lv_pull_slices(struct uft_live *l)
{
	l = l->leader ? l->leader : l;
	for (uint32_t i = 0; i < l->geo->nslices; i++)
		if (l->slice[i].is_live)
			lv_pull_slice(l, i);
}

/* Decodes all records up to @until and drops them: the rings go on from there with their contexts and open calls. */
void lv_clear(struct uft_live *l, uint32_t cpu, uint64_t until)
{
	struct uft_event ev[64];

	if (!begin(l)) {
		l->base->limit = until == UFT_LIVE_NOW ? 0 : until;
		if (cpu != UFT_LIVE_ALL)
			keep_cpu(l->base, cpu);
		while (uft_stream_batch(l->base, ev, 64))
			forget_texts(l->base);
		release_seen(l);
	}
	for (uint32_t i = 0; i < l->ncpus; i++)
		if (cpu == UFT_LIVE_ALL || i == cpu)
			l->cpu[i].overrun = l->cpu[i].untold = l->cpu[i].dropped = l->cpu[i].read = 0;
}

void uft_live_clear(struct uft_live *l, uint32_t cpu)
{
	lv_lock_all(l);
	lv_pull_slices(l);
	lv_clear(l, cpu, UFT_LIVE_NOW);
	lv_unlock_all(l);
}
