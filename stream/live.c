/* SPDX-License-Identifier: MIT */
/*
 * live.c - the ring buffer of a running session
 *
 * What targets write is taken out of the arena's rings soon after, and kept here in chunks of a sub-buffer each. A
 * buffer of ours, not the arena's: it outlives targets, its size can change, all processes share it CPU by CPU, and it
 * may be read, cleared and consumed while they write.
 *
 * Objects
 *	lv_ring		one ring of one slice that has had data: its chunks in order. What ring i is here is ring i of `base`
 *	lv_chunk	a sub-buffer, filled as data comes; bytes once written never change, so a snapshot refers to it (refs)
 *	base		the consumer's stream: how far each ring is decoded, whose it is then, and which calls are open.
 *			Chunks are freed when base has loaded them
 *	snapshot	a stream of its own: base copied, with references to all chunks behind it. So what it shows begins
 *			exactly where the consumer stopped, with the depths and durations that the consumer would give
 *
 * Order. Records of one task may lie in several rings, so base may not decode one ring further than all others have
 * been taken: `watermark` is a clock read before a round of taking; what is younger waits for the next round.
 *
 * Full. With `overwrite` the oldest chunk of the CPU goes, unless it is being filled, and its records are counted. A
 * ring that lost chunks goes on at the next sub-buffer header. Without, nothing is taken until there is room; what is not
 * taken is counted, too, and the rest of that sub-buffer with it.
 *
 * Concurrency: `lock` guards everything; held for a round of taking, a copy, or what a consumer does between begin and
 * end. Snapshots are their reader's alone.
 *
 * Failure. Without memory records are dropped and counted. A ring whose fields make no sense is not looked at again.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "stream/decode.h"
#include "stream/live.h"
#include "stream/writer_internal.h"

#define LV_SLACK	20000u		/* clocks: the longest from reading the clock to the commit, undisturbed */
#define LV_PAIR_NS	1000000000ull
#define LV_NO_IMAGE	UINT32_MAX

struct lv_chunk {
	struct lv_chunk *next;
	int refs;			/* atomic: the buffer's and snapshots' */
	uint32_t len, cap;		/* len is read by snapshots under the lock only */
	uint64_t position, clock;
	uint8_t data[];
};

struct lv_ring {
	uint32_t number, ring, image;	/* slice number, ring in it */
	struct lv_chunk *first, *last;
	uint64_t end;			/* position behind the last byte that was taken or dropped */
	uint64_t final_lost;
	int is_dead, is_ours;
};

struct lv_slice {
	int is_live;
	uint32_t number, image;
	const struct uft_image *img;
	uint64_t *read;			/* by ring */
	uint8_t *is_broken;
	uint32_t *index;		/* by ring: of its lv_ring, + 1; 0 none */
};

struct lv_cpu { uint64_t bytes, overrun, dropped, read; };

struct lv_hold { size_t n; struct lv_chunk *chunk[]; };

struct uft_live {
	pthread_mutex_t lock;
	struct uft_live_opts opts;
	struct uft_writer *geo;		/* arena and geometry only, for the inlines of writer_internal.h */
	uint32_t ncpus;
	struct lv_slice *slice;
	struct lv_ring *ring; uint32_t nring, cap_ring;
	struct lv_cpu *cpu;		/* ncpus, and one for all exchange rings */
	struct uft_stream *base;
	uint32_t numbers;		/* of slices, from 1: 0 is ours */
	uint32_t image_version;
	uint64_t watermark;
	struct uft_clock_pair *pair; size_t npair, cap_pair;
	uint64_t next_pair_ns;
	uint32_t mark_index[1024];	/* by CPU: of the ring of its markers, + 1 */
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t now_clock(void)
{
	struct uft_clock_pair p;

	uft_clock_sample(&p);
	return p.clock;
}

/* ---- Chunks ---------------------------------------------------------------------------------- */

static void chunk_put(struct lv_chunk *c)
{
	if (!__atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL))
		free(c);
}

static struct lv_cpu *cpu_of(struct uft_live *l, const struct lv_ring *r)
{
	return &l->cpu[r->ring < l->ncpus ? r->ring : l->ncpus];
}

static void drop_first(struct uft_live *l, struct lv_ring *r)
{
	struct lv_chunk *c = r->first;

	r->first = c->next;
	if (!r->first)
		r->last = NULL;
	cpu_of(l, r)->bytes -= c->cap;
	chunk_put(c);
}

static uint64_t count(const struct uft_live *l, const struct lv_chunk *c)
{
	return wr_count_records(c->data, c->len, c->position, l->geo->head.sub_bytes);
}

/* Lets the oldest chunk of the CPU go. 0: there is none that may. */
static int drop_oldest(struct uft_live *l, struct lv_cpu *cpu)
{
	struct lv_ring *oldest = NULL;

	for (uint32_t i = 0; i < l->nring; i++) {
		struct lv_ring *r = &l->ring[i];

		if (r->first && (r->first != r->last || r->is_dead) && cpu_of(l, r) == cpu &&
		    (!oldest || r->first->clock < oldest->first->clock))
			oldest = r;
	}
	if (!oldest)
		return 0;
	cpu->overrun += count(l, oldest->first);
	drop_first(l, oldest);
	return 1;
}

/* Room for one more chunk of the ring's CPU; 0: there is none. */
static int make_room(struct uft_live *l, struct lv_ring *r)
{
	struct lv_cpu *cpu = cpu_of(l, r);

	while (cpu->bytes + l->geo->head.sub_bytes > l->opts.cpu_bytes)
		if (!l->opts.overwrite || !drop_oldest(l, cpu))
			return l->opts.overwrite;
	return 1;
}

static struct lv_chunk *chunk_new(struct uft_live *l, struct lv_ring *r, uint64_t position, const uint8_t *data, size_t n)
{
	uint32_t sub = l->geo->head.sub_bytes;
	struct lv_chunk *c = make_room(l, r) ? malloc(sizeof(*c) + sub) : NULL;

	if (!c)
		return NULL;
	*c = (struct lv_chunk){ .refs = 1, .cap = sub, .position = position };
	if (!(position & (sub - 1)) && n >= sizeof(struct uft_sub_header))
		memcpy(&c->clock, data + offsetof(struct uft_sub_header, clock), 8);
	else
		c->clock = l->watermark;
	if (r->last)
		r->last->next = c;
	else
		r->first = c;
	r->last = c;
	cpu_of(l, r)->bytes += sub;
	return c;
}

/* [data, data + n) lies within one sub-buffer. */
static void take(struct uft_live *l, struct lv_ring *r, uint64_t position, const uint8_t *data, size_t n)
{
	uint32_t sub = l->geo->head.sub_bytes, at = (uint32_t)(position & (sub - 1));
	int goes_on = r->end == position;
	struct lv_chunk *c = r->last;

	if (!c || !goes_on || c->position + c->len != position || !at)
		c = goes_on || !at ? chunk_new(l, r, position, data, n) : NULL;
	if (!c) {		/* r->end stays behind: the rest of this sub-buffer cannot be used either */
		cpu_of(l, r)->dropped += wr_count_records(data, n, position, sub);
		return;
	}
	memcpy(c->data + c->len, data, n);
	c->len += (uint32_t)n;
	r->end = position + n;
}

static void sync_images(struct uft_live *l);

/* ---- Taking ---------------------------------------------------------------------------------- */

static struct lv_ring *ring_add(struct uft_live *l, uint32_t number, uint32_t ring, uint32_t image)
{
	if (l->nring == l->cap_ring) {
		uint32_t cap = l->cap_ring ? 2 * l->cap_ring : 32;
		struct lv_ring *grown = realloc(l->ring, cap * sizeof(*grown));

		if (!grown)
			return NULL;
		l->ring = grown;
		l->cap_ring = cap;
	}
	l->ring[l->nring] = (struct lv_ring){ .number = number, .ring = ring, .image = image };
	return &l->ring[l->nring++];
}

static struct lv_ring *ring_of(struct uft_live *l, struct lv_slice *s, uint32_t ring)
{
	if (!s->index[ring] && ring_add(l, s->number, ring, s->image))
		s->index[ring] = l->nring;
	return s->index[ring] ? &l->ring[s->index[ring] - 1] : NULL;
}

static uint64_t pull_ring(struct uft_live *l, struct lv_slice *s, uint32_t index, uint32_t ring)
{
	struct uft_ring *r = wr_arena_ring(l->geo, index, ring);
	uint64_t commit = __atomic_load_n(&r->commit, __ATOMIC_ACQUIRE), at = s->read[ring], begin = at;
	uint32_t sub = l->geo->head.sub_bytes;
	struct lv_ring *to;

	if (commit == at || s->is_broken[ring])
		return 0;
	if (commit - at > l->geo->head.ring_bytes || commit & 7) {
		s->is_broken[ring] = 1;
		return 0;
	}
	to = ring_of(l, s, ring);
	while (to && at != commit) {
		uint64_t n = sub - (at & (sub - 1));

		n = n < commit - at ? n : commit - at;
		take(l, to, at, (uint8_t *)r + UFT_PAGE + (at & (l->geo->head.ring_bytes - 1)), n);
		at += n;
	}
	s->read[ring] = commit;
	/* The copy is done before the target may write there again. */
	__atomic_store_n(&r->read, commit, __ATOMIC_RELEASE);
	return commit - begin;
}

static uint64_t pull_slice(struct uft_live *l, uint32_t index)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < l->geo->nrings; i++)
		n += pull_ring(l, &l->slice[index], index, i);
	return n;
}

static void sample_clock(struct uft_live *l)
{
	struct uft_clock_pair *grown = l->pair;

	if (l->npair == l->cap_pair) {
		size_t cap = l->cap_pair ? 2 * l->cap_pair : 64;

		grown = realloc(l->pair, cap * sizeof(*grown));
		if (!grown)
			return;
		l->pair = grown;
		l->cap_pair = cap;
	}
	uft_clock_sample(&l->pair[l->npair++]);
	l->next_pair_ns = now_ns() + (l->npair < 3 ? LV_PAIR_NS / 50 : l->npair < 100 ? LV_PAIR_NS : 10 * LV_PAIR_NS);
}

uint64_t uft_live_pull(struct uft_live *l)
{
	uint64_t n = 0, mark;

	pthread_mutex_lock(&l->lock);
	if (now_ns() >= l->next_pair_ns)
		sample_clock(l);
	mark = now_clock() - LV_SLACK;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* the clock was read before any commit is */
	for (uint32_t i = 0; i < l->geo->nslices; i++)
		if (l->slice[i].is_live)
			n += pull_slice(l, i);
	sync_images(l);
	l->watermark = mark;
	pthread_mutex_unlock(&l->lock);
	return n;
}

/* ---- Images, tasks --------------------------------------------------------------------------- */

static uint64_t *copy_array(const uint64_t *from, uint32_t n)
{
	uint64_t *to = from ? malloc((n ? n : 1) * sizeof(*to)) : NULL;

	if (to)
		memcpy(to, from, n * sizeof(*to));
	return to;
}

/* What @img says now into @to, under a new id: whoever resolved with the old one starts anew. */
static int image_copy(struct uft_image *to, const struct uft_image *img, uint32_t id)
{
	struct uft_mapped *obj = calloc(img->nobj ? img->nobj : 1, sizeof(*obj));

	if (!obj)
		return -ENOMEM;
	for (uint32_t i = 0; i < img->nobj; i++) {
		obj[i] = img->obj[i];
		uft_object_get(obj[i].obj);
		obj[i].stub_addr = copy_array(img->obj[i].stub_addr, img->obj[i].nstubs);
		obj[i].site_addr = copy_array(img->obj[i].site_addr, img->obj[i].nstubs);
		if (!obj[i].stub_addr || !obj[i].site_addr)
			obj[i].nstubs = 0;
	}
	for (uint32_t i = 0; i < to->nobj; i++) {
		uft_object_put(to->obj[i].obj);
		free(to->obj[i].stub_addr);
		free(to->obj[i].site_addr);
	}
	free(to->obj);
	to->obj = obj;
	to->nobj = img->nobj;
	to->id = id;
	return 0;
}

static int image_differs(const struct uft_image *a, const struct uft_image *b)
{
	if (a->nobj != b->nobj)
		return 1;
	for (uint32_t i = 0; i < a->nobj; i++) {
		const struct uft_mapped *x = &a->obj[i], *y = &b->obj[i];

		if (x->obj != y->obj || x->nstubs != y->nstubs || x->first_stub_id != y->first_stub_id ||
		    x->first_text_id != y->first_text_id || x->ntext_ids != y->ntext_ids || x->to_clock != y->to_clock)
			return 1;
	}
	return 0;
}

/* Caches of ids and addresses in front of the resolver, for images from @from on. */
static int image_caches(struct uft_stream *st)
{
	size_t n = st->file->nimage;
	struct dec_image *grown = realloc(st->image, n * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	for (uint32_t i = 0; grown != st->image && i < st->ntask; i++)
		st->task[i]->image = grown + (st->task[i]->image - st->image);
	for (uint32_t i = 0; grown != st->image && i < st->nring; i++)
		st->ring[i].image = grown + (st->ring[i].image - st->image);
	st->image = grown;
	for (; st->nimage < n; st->nimage++) {
		struct dec_image *d = &st->image[st->nimage];

		*d = (struct dec_image){ .img = st->file->image[st->nimage], .shift = 64 - 14 };
		d->id = calloc(1u << 14, sizeof(*d->id));
		d->addr = calloc(1u << 14, sizeof(*d->addr));
		if (!d->id || !d->addr)
			return -ENOMEM;
	}
	st->last_task->image = &st->image[0];
	st->last_task->pub.image = st->image[0].img;
	return 0;
}

static void flush_caches(struct dec_image *d)
{
	memset(d->id, 0, sizeof(*d->id) << (64 - d->shift));
	memset(d->addr, 0, sizeof(*d->addr) << (64 - d->shift));
}

/* Index of a new private copy of @img in @st, -errno. */
static int image_add(struct uft_stream *st, const struct uft_image *img, uint32_t id)
{
	struct rd_file *f = st->file;
	struct uft_image **grown = realloc(f->image, (f->nimage + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	f->image = grown;
	f->image[f->nimage] = uft_image_alloc(id, img ? img->exe : "");
	if (!f->image[f->nimage])
		return -ENOMEM;
	if (img && image_copy(f->image[f->nimage], img, id)) {
		uft_image_free(f->image[f->nimage]);
		return -ENOMEM;
	}
	f->nimage++;
	return image_caches(st) ? -ENOMEM : (int)f->nimage - 1;
}

/* What the session added to the images of live slices. Called with the session's images at rest: by its thread. */
static void sync_images(struct uft_live *l)
{
	for (uint32_t i = 0; i < l->geo->nslices; i++) {
		struct lv_slice *s = &l->slice[i];
		struct uft_image *mine = s->is_live ? l->base->file->image[s->image] : NULL;

		if (!mine || !image_differs(mine, s->img) || image_copy(mine, s->img, ++l->image_version))
			continue;
		flush_caches(&l->base->image[s->image]);
	}
}

int uft_live_task(struct uft_live *l, uint32_t pid, uint32_t tid, uint32_t ppid, const char *comm)
{
	struct rd_file *f = l->base->file;
	struct rd_task *t = NULL;
	size_t at = 0;
	char *name = strdup(comm ? comm : "");

	if (!name)
		return -ENOMEM;
	pthread_mutex_lock(&l->lock);
	while (at < f->ntask && (f->task[at].pid < pid || (f->task[at].pid == pid && f->task[at].tid < tid)))
		at++;
	if (at < f->ntask && f->task[at].pid == pid && f->task[at].tid == tid) {
		t = &f->task[at];
		free(t->comm);
	} else if (f->ntask < f->cap_task || (t = realloc(f->task, 2 * (f->ntask + 32) * sizeof(*t)))) {
		if (f->ntask == f->cap_task) {
			f->task = t;
			f->cap_task = 2 * (f->ntask + 32);
		}
		t = &f->task[at];
		memmove(t + 1, t, (f->ntask++ - at) * sizeof(*t));
	}
	if (t)
		*t = (struct rd_task){ .pid = pid, .tid = tid, .ppid = ppid, .comm = name };
	for (uint32_t i = 0; t && i < l->base->ntask; i++)
		if (l->base->task[i]->pub.tid == tid && l->base->task[i]->pub.pid == pid)
			l->base->task[i]->pub.comm = name;
	pthread_mutex_unlock(&l->lock);
	if (!t)
		free(name);
	return t ? 0 : -ENOMEM;
}

/* ---- Slices ---------------------------------------------------------------------------------- */

int uft_live_slice(struct uft_live *l, uint32_t slice, const struct uft_image *img)
{
	struct lv_slice *s = &l->slice[slice];
	uint32_t n = l->geo->nrings;
	int image = -ENOMEM;

	if (slice >= l->geo->nslices || s->is_live)
		return -EINVAL;
	pthread_mutex_lock(&l->lock);
	if (!s->read) {
		s->read = calloc(n, sizeof(*s->read));
		s->is_broken = calloc(n, 1);
		s->index = calloc(n, sizeof(*s->index));
	}
	for (uint32_t i = 0; i < l->geo->nslices && image < 0; i++)
		if (l->slice[i].is_live && l->slice[i].img == img)
			image = (int)l->slice[i].image;
	if (image < 0)
		image = image_add(l->base, img, ++l->image_version);
	if (s->read && s->is_broken && s->index && image >= 0) {
		memset(s->is_broken, 0, n);
		memset(s->index, 0, n * sizeof(*s->index));
		for (uint32_t i = 0; i < n; i++)
			s->read[i] = __atomic_load_n(&wr_arena_ring(l->geo, slice, i)->read, __ATOMIC_RELAXED) & ~7ull;
		s->number = ++l->numbers;
		s->img = img;
		s->image = (uint32_t)image;
		s->is_live = 1;
	}
	pthread_mutex_unlock(&l->lock);
	return s->is_live ? 0 : -ENOMEM;
}

/* Nothing of the dead process may be found by the next one. */
static void slice_reset(struct uft_live *l, uint32_t index)
{
	struct uft_slice *s = wr_arena_slice(l->geo, index);

	s->pid = s->ppid = s->agent_tid = s->flags = 0;
	s->parent_slice = 0;
	s->cmd_result = 0;
	s->clock_start = 0;
	memset(s->counter, 0, sizeof(s->counter));
	if (!(l->geo->ring_offset & (UFT_PAGE - 1)) &&
	    !madvise((uint8_t *)s + l->geo->ring_offset, l->geo->slice_bytes - l->geo->ring_offset, MADV_REMOVE))
		return;
	for (uint32_t i = 0; i < l->geo->nrings; i++)
		memset(wr_arena_ring(l->geo, index, i), 0, sizeof(struct uft_ring));
}

int uft_live_slice_end(struct uft_live *l, uint32_t slice)
{
	struct lv_slice *s = &l->slice[slice];

	if (slice >= l->geo->nslices || !s->is_live)
		return -EINVAL;
	pthread_mutex_lock(&l->lock);
	__atomic_store_n(&wr_arena_slice(l->geo, slice)->state, UFT_SLICE_DEAD, __ATOMIC_RELEASE);
	sync_images(l);
	pull_slice(l, slice);
	for (uint32_t i = 0; i < l->geo->nrings; i++)
		if (s->index[i]) {
			l->ring[s->index[i] - 1].final_lost = wr_arena_ring(l->geo, slice, i)->lost;
			l->ring[s->index[i] - 1].is_dead = 1;
		}
	s->is_live = 0;
	slice_reset(l, slice);
	/* The next claimer finds a clean slice. */
	__atomic_store_n(&wr_arena_slice(l->geo, slice)->state, UFT_SLICE_FREE, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&l->lock);
	return 0;
}

/* ---- Streams: base and its copies ------------------------------------------------------------ */

static int grow_array(void *array, size_t n, size_t size)
{
	void *old, *grown;

	memcpy(&old, array, sizeof(old));
	grown = realloc(old, n * size);
	if (grown)
		memcpy(array, &grown, sizeof(grown));
	return grown ? 0 : -ENOMEM;
}

/* One decoder for each ring of the buffer. */
static int add_rings(struct uft_live *l, struct uft_stream *st)
{
	size_t n = l->nring + 1;

	if (grow_array(&st->ring, n, sizeof(*st->ring)) || grow_array(&st->heap, n, sizeof(*st->heap)) ||
	    grow_array(&st->cursors, n, sizeof(*st->cursors)))
		return -ENOMEM;
	for (; st->nring < l->nring; st->nring++) {
		const struct lv_ring *from = &l->ring[st->nring];

		st->ring[st->nring] = (struct dec_ring){
			.index = st->nring, .slice_number = from->number, .ring = from->ring, .cpu = from->ring,
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

/* Where the stream's bytes in memory end: it has seen all before. */
static uint64_t seen_to(const struct dec_ring *r)
{
	return cur_position(&r->cur) + (uint64_t)(r->cur.end - r->cur.p);
}

/* The unseen bytes of a chunk as a block to load; 0: there are none. */
static int chunk_block(const struct lv_chunk *c, const struct dec_ring *r, struct rd_block *out)
{
	uint64_t from = seen_to(r), skip = from > c->position ? from - c->position : 0;

	if (skip >= c->len)
		return 0;
	*out = (struct rd_block){
		.position = c->position + skip, .clock = c->clock, .raw = c->len - (uint32_t)skip,
		.stored = c->len - (uint32_t)skip, .mem = c->data + skip,
	};
	return 1;
}

/* Hands the chunks to the decoders and orders these. @hold: chunks are referred to. */
static int refill(struct uft_live *l, struct uft_stream *st, struct lv_hold *hold)
{
	struct rd_file *f = st->file;
	size_t n = 0;

	for (uint32_t i = 0; i < l->nring; i++)
		for (struct lv_chunk *c = l->ring[i].first; c; c = c->next)
			n++;
	if (add_rings(l, st) || (n > f->cap_block && grow_array(&f->block, n, sizeof(*f->block))))
		return -ENOMEM;
	f->cap_block = n > f->cap_block ? n : f->cap_block;
	f->nblock = st->nheap = 0;
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

/* The rate may turn out differently by a little with every pair; decode.c is prepared for that. */
static int set_clock(struct uft_live *l, struct uft_stream *st)
{
	struct uft_clock_pair *p = malloc((l->npair + 1) * sizeof(*p));
	int ret = -ENOMEM;

	if (p) {
		memcpy(p, l->pair, l->npair * sizeof(*p));
		uft_clock_free(&st->clock);
		memset(&st->clock, 0, sizeof(st->clock));
		ret = uft_clock_build(&st->clock, p, l->npair);
	}
	free(p);
	return ret;
}

static struct uft_stream *stream_new(struct uft_live *l)
{
	struct uft_stream *st = calloc(1, sizeof(*st));

	if (!st)
		return NULL;
	st->first_ns = UINT64_MAX;
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
	st->pool.file = st->file;
	st->last_task->slice = UINT32_MAX;
	st->last_task->pub.comm = "<...>";
	st->last_task->pub.index = 1u << 19;
	return st;
}

static void stream_release(struct uft_stream *st)
{
	for (size_t i = 0; st->hold && i < st->hold->n; i++)
		chunk_put(st->hold->chunk[i]);
	free(st->hold);
}

/* ---- The copy of base ------------------------------------------------------------------------ */

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
	for (size_t i = 0; i < f->nimage; i++)
		if (image_add(to, i ? f->image[i] : NULL, f->image[i]->id) < 0)
			return -ENOMEM;
	return 0;
}

static struct dec_task *copy_task(struct uft_stream *to, const struct uft_stream *from, const struct dec_task *t)
{
	struct dec_image *image = &to->image[t->image - from->image];
	struct dec_task *copy = dec_task_get(to, t->slice, image, NULL, t->pub.pid, t->pub.tid);

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
			r->task = dec_task_get(to, r->task->slice, r->image, NULL, r->task->pub.pid, r->task->pub.tid);
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

static struct uft_stream *copy_base(struct uft_live *l)
{
	const struct uft_stream *base = l->base;
	struct uft_stream *st = stream_new(l);
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
		return st;
	uft_stream_close(st);
	return NULL;
}

/* Only the rings of one CPU. */
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
			if (ev[i].kind == UFT_EV_LOST || ev[i].kind == UFT_EV_LEFT)
				continue;
			if (!out->entries++)
				out->oldest_ns = ev[i].ts_ns;
		}
}

void uft_live_stats(struct uft_live *l, uint32_t cpu, struct uft_live_stats *out)
{
	struct uft_stream *st;

	*out = (struct uft_live_stats){ .now_ns = now_ns() };
	pthread_mutex_lock(&l->lock);
	st = copy_base(l);
	for (uint32_t i = 0; i <= l->ncpus; i++) {
		if (cpu != UFT_LIVE_ALL && i != cpu)
			continue;
		out->overrun += l->cpu[i].overrun;
		out->dropped += l->cpu[i].dropped;
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

int uft_live_snapshot(struct uft_live *l, uint32_t cpu, struct uft_stream **out)
{
	struct uft_live_stats stats = { 0 };
	struct uft_stream *st, *counted;

	*out = NULL;
	pthread_mutex_lock(&l->lock);
	st = copy_base(l);
	counted = st ? copy_base(l) : NULL;
	for (uint32_t i = 0; i <= l->ncpus; i++)
		stats.overrun += cpu == UFT_LIVE_ALL || i == cpu ? l->cpu[i].overrun : 0;
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
	st->info.lost = stats.overrun;
	st->info.ncpus = l->ncpus;
	*out = st;
	return 0;
}

/* ---- The consumer ---------------------------------------------------------------------------- */

static void forget_marks(struct uft_stream *st)
{
	while (st->nmark)
		free(st->mark[--st->nmark]);
}

static int begin(struct uft_live *l)
{
	forget_marks(l->base);
	return set_clock(l, l->base) || refill(l, l->base, NULL) ? -ENOMEM : 0;
}

struct uft_stream *uft_live_begin(struct uft_live *l, uint32_t cpu)
{
	pthread_mutex_lock(&l->lock);
	l->base->limit = l->watermark;
	if (!begin(l)) {
		if (cpu != UFT_LIVE_ALL)
			keep_cpu(l->base, cpu);
		return l->base;
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

/* Frees what base has loaded. A ring of a slice that ended goes when nothing of it is left. */
static void release_seen(struct uft_live *l)
{
	for (uint32_t i = 0; i < l->nring; i++) {
		struct lv_ring *r = &l->ring[i];
		uint64_t seen = seen_to(&l->base->ring[i]);

		while (r->first && r->first->position + r->first->len <= seen)
			drop_first(l, r);
	}
}

void uft_live_end(struct uft_live *l)
{
	release_seen(l);
	pthread_mutex_unlock(&l->lock);
}

int uft_live_is_empty(struct uft_live *l, uint32_t cpu)
{
	int empty = 1;

	pthread_mutex_lock(&l->lock);
	for (uint32_t i = 0; i < l->nring && empty; i++) {
		const struct dec_ring *r = i < l->base->nring ? &l->base->ring[i] : NULL;
		const struct lv_chunk *c = l->ring[i].first;

		if (cpu != UFT_LIVE_ALL && l->ring[i].ring != cpu)
			continue;
		if (r && r->cur.p != r->cur.end && r->key <= l->watermark)
			empty = 0;
		for (; c && empty; c = c->next)
			empty = (r && seen_to(r) >= c->position + c->len) || c->clock > l->watermark;
	}
	pthread_mutex_unlock(&l->lock);
	return empty;
}

static void clear_cpu(struct uft_live *l, uint32_t cpu)
{
	struct uft_event ev[64];

	keep_cpu(l->base, cpu);
	l->base->limit = 0;
	while (uft_stream_batch(l->base, ev, 64))
		forget_marks(l->base);
}

/* All is decoded and thrown away: the rings go on from there with their contexts and open calls. */
void uft_live_clear(struct uft_live *l, uint32_t cpu)
{
	struct uft_event ev[64];

	pthread_mutex_lock(&l->lock);
	for (uint32_t i = 0; i < l->geo->nslices; i++)
		if (l->slice[i].is_live)
			pull_slice(l, i);
	if (!begin(l)) {
		l->base->limit = 0;
		if (cpu != UFT_LIVE_ALL)
			clear_cpu(l, cpu);
		else
			while (uft_stream_batch(l->base, ev, 64))
				forget_marks(l->base);
		release_seen(l);
	}
	for (uint32_t i = 0; i <= l->ncpus; i++)
		if (cpu == UFT_LIVE_ALL || i == cpu)
			l->cpu[i].overrun = l->cpu[i].dropped = l->cpu[i].read = 0;
	pthread_mutex_unlock(&l->lock);
}

void uft_live_limit(struct uft_live *l, uint64_t cpu_bytes, int overwrite)
{
	pthread_mutex_lock(&l->lock);
	l->opts.cpu_bytes = cpu_bytes;
	l->opts.overwrite = overwrite;
	for (uint32_t i = 0; i <= l->ncpus; i++)
		while (l->cpu[i].bytes > cpu_bytes && drop_oldest(l, &l->cpu[i]))
			;
	pthread_mutex_unlock(&l->lock);
}

/* ---- Markers --------------------------------------------------------------------------------- */

/* Our own ring of @cpu. */
static struct lv_ring *mark_ring(struct uft_live *l, uint32_t cpu)
{
	if (!l->mark_index[cpu]) {
		struct lv_ring *r = ring_add(l, 0, cpu, 0);

		if (!r)
			return NULL;
		r->is_ours = 1;
		l->mark_index[cpu] = l->nring;
	}
	return &l->ring[l->mark_index[cpu] - 1];
}

/* A sub-buffer's header, a context and the record; where it does not fit into the one begun, a new one. */
long uft_live_mark(struct uft_live *l, uint32_t pid, uint32_t tid, uint32_t cpu, const char *text, size_t n)
{
	uint32_t sub = l->geo->head.sub_bytes, body;
	uint64_t w[4 + UFT_LIVE_MARK_MAX / 8 + 1] = { 0 }, clock;
	struct lv_ring *r;
	long ret = -ENOMEM;

	n = n > UFT_LIVE_MARK_MAX ? UFT_LIVE_MARK_MAX : n;
	body = (4 + ((uint32_t)n + 7) / 8) * 8;
	pthread_mutex_lock(&l->lock);
	clock = now_clock();
	r = mark_ring(l, cpu < l->ncpus && cpu < 1024 ? cpu : 0);
	if (r && (!(r->end & (sub - 1)) || (r->end & (sub - 1)) + body > sub)) {
		struct uft_sub_header h = { .position = (r->end + sub - 1) & ~(uint64_t)(sub - 1), .clock = clock, .pid = pid, .tid = tid };

		if (r->end & (sub - 1))		/* the rest is PAD */
			take(l, r, r->end, (const uint8_t *)&(uint64_t){ 0 }, 8);
		r->end = h.position;
		take(l, r, h.position, (const uint8_t *)&h, sizeof(h));
	}
	if (r) {
		w[0] = UFT_REC_WORD(UFT_REC_CONTEXT, 0, clock);
		w[1] = clock;
		w[2] = pid | (uint64_t)tid << 32;
		w[3] = UFT_REC_WORD(UFT_REC_MARK, (uint32_t)n, clock);
		memcpy(&w[4], text, n);
		take(l, r, r->end, (const uint8_t *)w, body);
		ret = (long)n;
	}
	pthread_mutex_unlock(&l->lock);
	return ret;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static int make_geometry(struct uft_live *l, const struct uft_arena *a)
{
	l->geo = calloc(1, sizeof(*l->geo));
	if (!l->geo)
		return -ENOMEM;
	l->geo->arena = (uint8_t *)a;
	l->geo->nslices = a->nslices;
	l->geo->nrings = a->ncpus + a->nexch;
	l->geo->slice_offset = a->slice_offset;
	l->geo->slice_bytes = a->slice_bytes;
	l->geo->ring_offset = a->ring_offset;
	l->geo->ring_stride = a->ring_stride;
	l->geo->head = (struct uft_file_header){
		.abi = a->version, .ncpus = a->ncpus, .nexch = a->nexch, .ring_bytes = a->ring_bytes, .sub_bytes = a->sub_bytes,
	};
	l->ncpus = a->ncpus;
	return a->magic == UFT_ABI_MAGIC && a->version == UFT_ABI_VERSION && a->sub_bytes >= UFT_PAGE ? 0 : -EINVAL;
}

int uft_live_create(const struct uft_arena *arena, const struct uft_live_opts *opts, struct uft_live **out)
{
	struct uft_live *l = calloc(1, sizeof(*l));
	int ret;

	*out = NULL;
	if (!l)
		return -ENOMEM;
	pthread_mutex_init(&l->lock, NULL);
	l->opts = *opts;
	ret = make_geometry(l, arena);
	if (!ret) {
		l->slice = calloc(l->geo->nslices, sizeof(*l->slice));
		l->cpu = calloc(l->ncpus + 1, sizeof(*l->cpu));
		l->base = stream_new(l);
		ret = l->slice && l->cpu && l->base ? 0 : -ENOMEM;
	}
	if (!ret && image_add(l->base, NULL, LV_NO_IMAGE) < 0)
		ret = -ENOMEM;
	if (ret) {
		uft_live_destroy(l);
		return ret;
	}
	sample_clock(l);
	*out = l;
	return 0;
}

void uft_live_destroy(struct uft_live *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; i < l->nring; i++)
		while (l->ring[i].first)
			drop_first(l, &l->ring[i]);
	for (uint32_t i = 0; l->slice && i < l->geo->nslices; i++) {
		free(l->slice[i].read);
		free(l->slice[i].is_broken);
		free(l->slice[i].index);
	}
	uft_stream_close(l->base);
	pthread_mutex_destroy(&l->lock);
	free(l->ring);
	free(l->slice);
	free(l->cpu);
	free(l->pair);
	free(l->geo);
	free(l);
}
