/* SPDX-License-Identifier: MIT */
/*
 * buffer.c - the ring buffer of a running session
 *
 * A session drains the arena's rings soon after targets write, and keeps the records here in chunks of a sub-buffer
 * each. The buffer is the session's, not the arena's: it outlives targets, its size can change, all processes share it
 * CPU by CPU, and readers may read, clear and consume it while targets write.
 *
 * Objects
 *	lv_ring		one ring of one slice that has had data: its chunks in order. Ring i here is ring i of `base`
 *	lv_chunk	a sub-buffer, filled as data comes; bytes once written never change, so a snapshot
 *			refers to it (refs)
 *	lv_block	memory for the chunks of one CPU, mapped as a whole: with memory taken page by page, page
 *			faults took longer than the copies, and a target was faster than the session. A block is
 *			freed with its last chunk; a CPU's chunks are freed in about the order in which they came
 *	base		the consumer's stream: how far each ring is decoded, which task it is in, and which calls are
 *			open. Chunks are freed when base has loaded them
 *	snapshot	a stream of its own: a copy of base, with references to all chunks behind it. So its events
 *			begin exactly where the consumer stopped, with the depths and durations that the consumer
 *			would give
 *
 * Order. Records of one task may lie in several rings, so base may not decode one ring further than all others were
 * drained. `watermark` is a clock read before a round of draining; younger records wait for the next round. The session
 * writes records of the past, too (control/events/observe.c): it has written them up to `until`.
 *
 * Full. First, records that only other buffers show are taken out (reclaim.c). With `overwrite` the oldest chunk of the
 * CPU is freed then, unless it is being filled, and its records are counted. A ring that lost chunks goes on at the
 * next sub-buffer header. Without `overwrite` new records are dropped until there is room, and counted, together with
 * the rest of that sub-buffer.
 *
 * Concurrency: `lock` guards everything. It is held for a round of draining, for a copy, and by a consumer between
 * begin and end. A snapshot belongs to its reader alone.
 *
 * Failure. Without memory records are dropped and counted. A ring whose fields make no sense is not read again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "stream/live/live_internal.h"
#include "symbol/array.h"
#include "symbol/now.h"

/* ---- Chunks ---------------------------------------------------------------------------------- */

#define BLOCK_BYTES	(256u << 10)

struct lv_block {
	int refs;			/* atomic: of its chunks, and of the CPU while it has room */
	uint32_t used;
	_Alignas(16) uint8_t data[];
};

static void block_put(struct lv_block *b)
{
	if (b && !__atomic_sub_fetch(&b->refs, 1, __ATOMIC_ACQ_REL))
		munmap(b, BLOCK_BYTES);
}

/* Returns a chunk of the CPU's block; NULL: no memory. */
static struct lv_chunk *block_take(struct lv_cpu *cpu, size_t bytes)
{
	struct lv_block *b = cpu->block;
	struct lv_chunk *c;

	bytes = (bytes + 15) & ~(size_t)15;
	if (bytes > BLOCK_BYTES - sizeof(*b)) {
		c = malloc(bytes);
		if (c)
			*c = (struct lv_chunk){ .block = NULL };
		return c;
	}
	if (b && b->used + bytes > BLOCK_BYTES - sizeof(*b)) {
		block_put(b);
		b = NULL;
	}
	if (!b) {
		b = mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		cpu->block = b == MAP_FAILED ? NULL : b;
		if (!cpu->block)
			return NULL;
		b->refs = 1;
	}
	c = (struct lv_chunk *)(b->data + b->used);
	*c = (struct lv_chunk){ .block = b };
	b->used += (uint32_t)bytes;
	__atomic_add_fetch(&b->refs, 1, __ATOMIC_RELAXED);
	return c;
}

void lv_chunk_put(struct lv_chunk *c)
{
	if (__atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL))
		return;
	if (c->block)
		block_put(c->block);
	else
		free(c);
}

void lv_replace(struct uft_live *l, const struct lv_ring *r, struct lv_chunk **from, struct lv_chunk *end,
		struct lv_chunk *to)
{
	struct lv_cpu *cpu = &l->cpu[lv_cpu_of(l, r->ring)];
	struct lv_chunk *c = *from, *next;

	for (; c != end; c = next) {
		next = c->next;
		cpu->bytes -= c->cap;
		lv_chunk_put(c);
	}
	*from = to ? to : end;
	if (to) {
		to->next = end;
		cpu->bytes += to->cap;
	}
	l->version++;
}

/* Reads the records' clock, and @id at the same moment. 0: an emulator's clock is not known yet. */
int lv_read_clock(const struct uft_live *l, clockid_t id, struct uft_clock_pair *now)
{
	uint64_t clock[2], ns[2];

	uft_clock_sample_of(id, now);
	if (!l->opts.clock)
		return 1;
	l->opts.clock(l->opts.clock_arg, clock, ns);
	now->clock = clock[1];
	return now->clock != 0;
}

uint64_t uft_live_clock(const struct uft_live *l)
{
	struct uft_clock_pair p;

	lv_read_clock(l, CLOCK_MONOTONIC, &p);
	return p.clock;
}

static struct lv_cpu *cpu_of(struct uft_live *l, const struct lv_ring *r)
{
	return &l->cpu[lv_cpu_of(l, r->ring)];
}

void lv_drop_first(struct uft_live *l, struct lv_ring *r)
{
	struct lv_chunk *c = r->first;

	l->version++;
	r->first = c->next;
	if (!r->first)
		r->last = NULL;
	cpu_of(l, r)->bytes -= c->cap;
	lv_chunk_put(c);
}

/*
 * Counts the records of the oldest chunk that the consumer has not read; it may have read part of a chunk being filled.
 */
static uint64_t unseen(const struct uft_live *l, const struct lv_ring *r)
{
	const struct lv_chunk *c = r->first;
	uint32_t index = (uint32_t)(r - l->ring);
	uint64_t seen = index < l->base->nring ? lv_seen_to(&l->base->ring[index]) : 0;
	uint32_t skip = seen <= c->position ? 0 : seen - c->position < c->len ? (uint32_t)(seen - c->position) : c->len;

	return wr_count_records(c->data + skip, c->len - skip, c->position + skip, l->geo->head.sub_bytes);
}

/* Drops the oldest chunk of the CPU. 0: none may be dropped. */
static int drop_oldest(struct uft_live *l, struct lv_cpu *cpu)
{
	struct lv_ring *oldest = NULL;
	uint64_t n;

	for (uint32_t i = 0; i < l->nring; i++) {
		struct lv_ring *r = &l->ring[i];

		if (r->first && (r->first != r->last || r->is_dead) && cpu_of(l, r) == cpu &&
		    (!oldest || r->first->clock < oldest->first->clock))
			oldest = r;
	}
	if (!oldest)
		return 0;
	n = unseen(l, oldest);
	cpu->overrun += n;
	cpu->untold += n;
	lv_drop_first(l, oldest);
	return 1;
}

static uint64_t limit_of(const struct uft_live *l, const struct lv_cpu *cpu)
{
	return cpu->limit ? cpu->limit : l->opts.cpu_bytes;
}

/* Makes room for one more chunk of the ring's CPU; 0: there is none. */
int lv_make_room(struct uft_live *l, struct lv_ring *r)
{
	struct lv_cpu *cpu = cpu_of(l, r);

	if (l->opts.overwrite && (l->tap || l->opts.is_tap /* GUARD(tap_grows, 0) */))
		return 1;
	while (cpu->bytes + l->geo->head.sub_bytes > limit_of(l, cpu))
		if (!lv_reclaim(l, cpu, limit_of(l, cpu)) && (!l->opts.overwrite || !drop_oldest(l, cpu)))
			return l->opts.overwrite;
	return 1;
}

static struct lv_chunk *chunk_new(struct uft_live *l, struct lv_ring *r, uint64_t position, const uint8_t *data,
				  size_t n)
{
	uint32_t sub = l->geo->head.sub_bytes;
	struct lv_chunk *c = lv_make_room(l, r) ? block_take(cpu_of(l, r), sizeof(*c) + sub) : NULL;

	if (!c)
		return NULL;
	c->refs = 1;
	c->cap = sub;
	c->position = position;
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
	cpu_of(l, r)->fresh += sub;
	return c;
}

/* Takes [data, data + n), which lies within one sub-buffer. */
void lv_take(struct uft_live *l, struct lv_ring *r, uint64_t position, const uint8_t *data, size_t n)
{
	uint32_t sub = l->geo->head.sub_bytes, at = (uint32_t)(position & (sub - 1));
	int goes_on = r->end == position;
	struct lv_chunk *c = r->last;

	if (!c || !goes_on || c->position + c->len != position || !at)
		c = goes_on || !at ? chunk_new(l, r, position, data, n) : NULL;
	if (!c) {		/* r->end stays behind: the rest of this sub-buffer is useless, too */
		cpu_of(l, r)->dropped += wr_count_records(data, n, position, sub);
		return;
	}
	l->version++;
	memcpy(c->data + c->len, data, n);
	c->len += (uint32_t)n;
	r->end = position + n;
	r->until = uft_live_clock(l);
}

/* ---- Draining -------------------------------------------------------------------------------- */

static struct lv_ring *ring_add(struct uft_live *l, uint32_t number, uint32_t ring, uint32_t image)
{
	if (array_reserve(l->ring, l->cap_ring, l->nring + 1))
		return NULL;
	l->base->image[image].is_used = 1;
	l->ring[l->nring] = (struct lv_ring){ .number = number, .ring = ring, .image = image };
	return &l->ring[l->nring++];
}

static struct lv_ring *lv_ring_of(struct uft_live *l, struct lv_slice *s, uint32_t ring)
{
	if (!s->index[ring] && ring_add(l, s->number, ring, s->image))
		s->index[ring] = l->nring;
	return s->index[ring] ? &l->ring[s->index[ring] - 1] : NULL;
}

void lv_bound_losses(const struct uft_live *l, struct uft_stream *st)
{
	st->lost_max = now_ns() - l->since_ns + 1;
}

/*
 * Counts losses in a full ring of a target, which only LOST records tell. A target says how many it lost in all. Only a
 * number above the highest so far counts, so that a target cannot report a loss twice.
 */
static void count_lost(struct uft_live *l, struct lv_slice *s, uint32_t ring, uint64_t lost)
{
	uint64_t more = lost - s->lost[ring];

	if (lost <= s->lost[ring])
		return;
	lv_bound_losses(l, l->base);
	more = dec_lost_more(l->base, s->lost[ring], more); /* GUARD(lost_in_time) */
	if (!lv_is_muted(l, ring))
		l->cpu[lv_cpu_of(l, ring)].dropped += more;
	s->lost[ring] = lost;
}

static void hand_over(struct uft_live *l, struct lv_slice *s, uint32_t ring, uint64_t position, const uint8_t *data,
		      size_t n)
{
	struct lv_ring *to = s->is_live ? lv_ring_of(l, s, ring) : NULL;

	if (to && lv_is_muted(l, ring))
		lv_take_muted(l, to, position, data, n);
	else if (to)
		lv_take(l, to, position, data, n);
}

static uint64_t pull_ring(struct uft_live *l, struct lv_slice *s, uint32_t index, uint32_t ring)
{
	struct uft_ring uft_shared *r = wr_arena_ring(l->geo, index, ring);
	uint64_t commit = SHARED_LOAD_ACQUIRE(&r->commit), at = s->read[ring], taken = 0;
	uint32_t sub = l->geo->head.sub_bytes;

	for (struct uft_live *f = l; f; f = f->next)
		if (f->slice[index].is_live)
			count_lost(f, &f->slice[index], ring, SHARED_LOAD(&r->lost));
	if (commit == at || s->is_broken[ring])
		return 0;
	if (commit - at > l->geo->most_unread || commit & 7) {
		s->is_broken[ring] = 1;
		return 0;
	}
	if (!l->pulled && !(l->pulled = malloc(sub)))
		return 0;		/* drained the next time */
	while (at != commit) {
		struct uft_ring_run run = wr_ring_run(l->geo, r, at, commit);
		uint64_t n = sub - (at & (sub - 1));

		if (at == run.end) {
			at = run.next;
			continue;
		}
		n = n < run.end - at ? n : run.end - at;
		shared_read(l->pulled, wr_arena_data(l->geo, r, at), n);
		for (struct uft_live *f = l; f; f = f->next)
			hand_over(f, &f->slice[index], ring, at, l->pulled, n);
		at += n;
		taken += n;
	}
	s->read[ring] = commit;
	/* The copy is done before the target may write there again. */
	SHARED_STORE_RELEASE(&r->read, commit);
	return taken;
}

uint64_t lv_pull_slice(struct uft_live *l, uint32_t index)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < l->geo->nrings; i++)
		n += pull_ring(l, &l->slice[index], index, i);
	return n;
}

void lv_sample_clock(struct uft_live *l)
{
	struct uft_clock_pair now;

	if (lv_read_clock(l, l->clock_id, &now))
		uft_clock_line_read(&l->line, &now, l->told);
	l->next_pair_ns = now_ns() +
		(!l->line.is_settled ? LV_PAIR_NS / 50 : l->line.nseg < 200 ? LV_PAIR_NS : 10 * LV_PAIR_NS);
}

void uft_live_until(struct uft_live *l, uint64_t clock)
{
	pthread_mutex_lock(&l->lock);
	l->until = clock;
	pthread_mutex_unlock(&l->lock);
}

uint64_t uft_live_certain(struct uft_live *l)
{
	uint64_t clock;

	pthread_mutex_lock(&l->lock);
	clock = l->watermark;
	pthread_mutex_unlock(&l->lock);
	return clock;
}

uint64_t uft_live_pull(struct uft_live *l)
{
	struct uft_clock_pair now;
	uint64_t n = 0, mark, slack;

	lv_lock_all(l);
	lv_read_clock(l, CLOCK_MONOTONIC, &now);
	for (struct uft_live *f = l; f; f = f->next)
		if (now.ns >= f->next_pair_ns ||
		    (f->clock_id == CLOCK_MONOTONIC && uft_clock_line_is_off(&f->line, &now)))
			lv_sample_clock(f);
	/* the rate of an emulator's clock is known from its first word on, to a thousandth */
	slack = LV_SLACK + (l->opts.clock ? (now.clock - l->line.from.clock) / 1000 : 0);
	mark = now.clock > slack ? now.clock - slack : 0;
	mark = mark < l->until ? mark : l->until;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* the clock was read before any commit */
	/* reclaim.c judges drained records by name; the ids of names are known before sites are armed */
	for (struct uft_live *f = l; f; f = f->next)
		lv_sync_images(f);
	for (uint32_t i = 0; i < l->geo->nslices; i++)
		if (l->slice[i].is_live)
			n += lv_pull_slice(l, i);
	for (struct uft_live *f = l; f; f = f->next)
		f->watermark = mark;
	lv_unlock_all(l);
	return n;
}

/* ---- Slices ---------------------------------------------------------------------------------- */

static int slice_begin(struct uft_live *l, uint32_t slice, const struct uft_image *img)
{
	struct lv_slice *s = &l->slice[slice];
	uint32_t n = l->geo->nrings;
	int image = -ENOMEM;

	s->read = s->read ? s->read : calloc(n, sizeof(*s->read));
	s->lost = s->lost ? s->lost : calloc(n, sizeof(*s->lost));
	s->is_broken = s->is_broken ? s->is_broken : calloc(n, 1);
	s->index = s->index ? s->index : calloc(n, sizeof(*s->index));
	for (uint32_t i = 0; i < l->geo->nslices && image < 0; i++)
		if (l->slice[i].is_live && l->slice[i].img == img)
			image = (int)l->slice[i].image;
	if (image < 0)
		image = lv_image_of(l, img);
	if (s->read && s->lost && s->is_broken && s->index && image >= 0) {
		memset(s->is_broken, 0, n);
		memset(s->index, 0, n * sizeof(*s->index));
		memset(s->lost, 0, n * sizeof(*s->lost));
		for (uint32_t i = 0; i < n; i++)
			s->read[i] = SHARED_LOAD(&wr_arena_ring(l->geo, slice, i)->read) & ~7ull;
		s->number = ++l->numbers;
		s->img = img;
		s->image = (uint32_t)image;
		s->is_live = 1;
	}
	return s->is_live ? 0 : -ENOMEM;
}

/* A follower without memory for the slice misses it. */
int uft_live_slice(struct uft_live *l, uint32_t slice, const struct uft_image *img)
{
	int ret = 0;

	if (slice >= l->geo->nslices || l->slice[slice].is_live)
		return -EINVAL;
	lv_lock_all(l);
	for (struct uft_live *f = l; f; f = f->next)
		ret |= slice_begin(f, slice, img);
	lv_unlock_all(l);
	return ret ? -ENOMEM : 0;
}

static void slice_end(struct uft_live *l, uint32_t slice)
{
	struct lv_slice *s = &l->slice[slice];

	for (uint32_t i = 0; s->is_live && i < l->geo->nrings; i++)
		if (s->index[i]) {
			l->ring[s->index[i] - 1].final_lost = SHARED_LOAD(&wr_arena_ring(l->geo, slice, i)->lost);
			l->ring[s->index[i] - 1].is_dead = 1;
		}
	s->is_live = 0;
	l->version++;
}

int uft_live_slice_end(struct uft_live *l, uint32_t slice)
{
	if (slice >= l->geo->nslices || !l->slice[slice].is_live)
		return -EINVAL;
	lv_lock_all(l);
	SHARED_STORE_RELEASE(&wr_arena_slice(l->geo, slice)->state, UFT_SLICE_DEAD);
	for (struct uft_live *f = l; f; f = f->next)
		lv_sync_images(f);
	lv_pull_slice(l, slice);
	for (struct uft_live *f = l; f; f = f->next)
		slice_end(f, slice);
	wr_slice_free(l->geo, slice);
	lv_unlock_all(l);
	return 0;
}

void lv_fit(struct uft_live *l)
{
	for (uint32_t i = 0; i < l->ncpus; i++)
		while (l->cpu[i].bytes > limit_of(l, &l->cpu[i]) &&
		       (lv_reclaim(l, &l->cpu[i], limit_of(l, &l->cpu[i])) || drop_oldest(l, &l->cpu[i])))
			;
}

void uft_live_limit(struct uft_live *l, uint64_t cpu_bytes, int overwrite)
{
	pthread_mutex_lock(&l->lock);
	l->opts.cpu_bytes = cpu_bytes;
	l->opts.overwrite = overwrite;
	lv_fit(l);
	pthread_mutex_unlock(&l->lock);
}

void uft_live_limit_cpu(struct uft_live *l, uint32_t cpu, uint64_t bytes)
{
	pthread_mutex_lock(&l->lock);
	if (cpu < l->ncpus)
		l->cpu[cpu].limit = bytes;
	lv_fit(l);
	pthread_mutex_unlock(&l->lock);
}

/* ---- Markers --------------------------------------------------------------------------------- */

/* Returns the session's own ring of @cpu. */
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

#define CONTEXT_WORDS	3u	/* of UFT_REC_CONTEXT */

/*
 * Appends one record of @body bytes, behind its context, to the CPU's marker ring: in a new sub-buffer if it does not
 * fit into the current one; then the header is its context. 0, -ENOMEM, -EBADF.
 */
static int append_own(struct uft_live *l, uint32_t cpu, uint64_t *w, uint32_t body)
{
	uint32_t sub = l->geo->head.sub_bytes;
	struct lv_ring *r;
	int has_room = 1, is_told = 0;	/* is_told: the header before the record has its context */

	if (lv_is_cpu_off(l, cpu))
		return -EBADF;
	pthread_mutex_lock(&l->lock);
	if (!w[1]) {		/* the tap's has the same clock */
		w[1] = uft_live_clock(l);
		w[0] = UFT_REC_WORD(UFT_REC_CONTEXT, 0, w[1]);
		w[3] |= (uint32_t)w[1];
	}
	r = mark_ring(l, cpu < l->ncpus && cpu < 1024 ? cpu : 0);
	if (r && (!(r->end & (sub - 1)) || (r->end & (sub - 1)) + body > sub)) {
		struct uft_sub_header h = {
			.position = (r->end + sub - 1) & ~(uint64_t)(sub - 1), .clock = w[1], .pid = (uint32_t)w[2],
			.tid = (uint32_t)(w[2] >> 32)
		};

		if (r->end & (sub - 1))		/* the rest is PAD */
			lv_take(l, r, r->end, (const uint8_t *)&(uint64_t){ 0 }, 8);
		r->end = h.position;
		lv_take(l, r, h.position, (const uint8_t *)&h, sizeof(h));
		has_room = r->end != h.position;
		is_told = 1;
	}
	if (r && !has_room)		/* as in the kernel */
		cpu_of(l, r)->dropped++;
	else if (r)
		lv_take(l, r, r->end, (const uint8_t *)(w + (is_told ? CONTEXT_WORDS : 0)),
			body - (is_told ? 8 * CONTEXT_WORDS : 0));
	pthread_mutex_unlock(&l->lock);
	return !r ? -ENOMEM : has_room ? 0 : -EBADF;
}

/* Appends the record to the buffer and to the tap that watches it. */
static int put_own(struct uft_live *l, uint32_t pid, uint32_t tid, uint32_t cpu, uint64_t *w, uint32_t body)
{
	int ret;

	w[2] = pid | (uint64_t)tid << 32;
	ret = append_own(l, cpu, w, body);
	if (!ret && l->tap) /* GUARD(own_records_tap) */
		append_own(l->tap, cpu, w, body);
	return ret;
}

long uft_live_mark(struct uft_live *l, uint32_t pid, uint32_t tid, uint32_t cpu, const char *text, size_t n, int is_raw)
{
	uint64_t w[CONTEXT_WORDS + 1 + UFT_LIVE_RAW_MAX / 8] = { 0 };
	size_t most = is_raw ? UFT_LIVE_RAW_MAX : UFT_LIVE_MARK_MAX,
	       room = l->geo->head.sub_bytes - sizeof(struct uft_sub_header) - 8;
	int ret;

	most = most < room ? most : room;
	if (n > most && is_raw)
		return -EINVAL;
	n = n > most ? most : n;
	w[3] = UFT_REC_WORD(UFT_REC_MARK, (uint32_t)n | (is_raw ? UFT_MARK_RAW : 0), 0);
	memcpy(&w[4], text, n);
	ret = put_own(l, pid, tid, cpu, w, (4 + ((uint32_t)n + 7) / 8) * 8);
	return ret ? ret : (long)n;
}

int uft_live_event(struct uft_live *l, uint32_t pid, uint32_t tid, uint32_t cpu, uint32_t id, const void *payload,
		   size_t n)
{
	uint64_t w[4 + UFT_EVENT_PAYLOAD_MAX / 8] = { 0 };
	uint32_t words = n ? ((uint32_t)n + 7) / 8 : 1;

	if (n > UFT_EVENT_PAYLOAD_MAX)
		return -E2BIG;
	w[3] = UFT_REC_WORD(UFT_REC_EVENT, UFT_EVENT_VALUE(id, words), 0);
	memcpy(&w[4], payload, n);
	return put_own(l, pid, tid, cpu, w, (4 + words) * 8);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static int make_geometry(struct uft_live *l, const struct uft_arena *a)
{
	l->geo = calloc(1, sizeof(*l->geo));
	if (!l->geo)
		return -ENOMEM;
	l->geo->arena = (uint8_t uft_shared *)a;
	l->geo->nslices = a->nslices + a->nown;
	l->geo->nrings = a->ncpus + a->nexch;
	l->geo->slice_offset = a->slice_offset;
	l->geo->slice_bytes = a->slice_bytes;
	l->geo->ring_offset = a->ring_offset;
	l->geo->ring_stride = a->ring_stride;
	l->geo->most_unread = wr_most_unread(a);
	l->geo->head = (struct uft_file_header){
		.abi = a->version, .ncpus = a->ncpus, .nexch = a->nexch, .ring_bytes = a->ring_bytes,
		.sub_bytes = a->sub_bytes,
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
	l->clock_id = CLOCK_MONOTONIC;
	l->since_ns = now_ns();
	l->until = UINT64_MAX;
	l->names = UFT_LIVE_NAMES;
	ret = make_geometry(l, arena);
	if (!ret) {
		l->slice = calloc(l->geo->nslices, sizeof(*l->slice));
		l->cpu = calloc(l->ncpus, sizeof(*l->cpu));
		l->base = lv_stream_new(l);
		ret = l->slice && l->cpu && l->base ? 0 : -ENOMEM;
	}
	if (!ret && lv_image_add(l->base, NULL, LV_NO_IMAGE) < 0)
		ret = -ENOMEM;
	if (ret) {
		uft_live_destroy(l);
		return ret;
	}
	lv_sample_clock(l);
	*out = l;
	return 0;
}

void uft_live_destroy(struct uft_live *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; i < l->nring; i++) {
		while (l->ring[i].first)
			lv_drop_first(l, &l->ring[i]);
		free(l->ring[i].aside);
	}
	for (uint32_t i = 0; l->slice && i < l->geo->nslices; i++) {
		free(l->slice[i].read);
		free(l->slice[i].lost);
		free(l->slice[i].is_broken);
		free(l->slice[i].index);
	}
	uft_stream_close(l->base);
	pthread_mutex_destroy(&l->lock);
	free(l->span);
	lv_choices_free(l->choice, l->nchoice);
	free(l->single_at);
	free(l->ring);
	free(l->slice);
	for (uint32_t cpu = 0; l->cpu && cpu < l->ncpus; cpu++)
		block_put(l->cpu[cpu].block);
	free(l->cpu);
	uft_clock_line_free(&l->line);
	free(l->pulled);
	free(l->geo);
	free(l);
}
