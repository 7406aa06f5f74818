/* SPDX-License-Identifier: MIT */
/*
 * writer_meta.c - everything in a .uft file that is not ring data
 *
 * uft_file.h says what each block holds. Items that may be long are cut into blocks of WR_META_BLOCK bytes, so
 * that damage costs little and a reader needs no large buffer.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "stream/file/writer_internal.h"
#include "symbol/array.h"
#include "symbol/hash_index.h"
#include "symbol/keyed_hash.h"

#define OUTER_KEY		(1ull << 63)	/* in keys of wr_task_known(): slice and task, not process and task */
#define WR_META_BLOCK	(256u << 10)
#define WR_META_PACK	256u		/* smaller payloads are not worth packing */
#define WR_META_LEVEL	3

int wr_meta_put(struct uft_writer *w, enum uft_block_type type, struct wire *p)
{
	struct uft_file_block head = { .type = (uint16_t)type };
	int err = p->err;

	if (!err)
		err = wr_block(w, &head, p->p, p->n, p->n < WR_META_PACK ? 0 : WR_META_LEVEL);
	p->n = 0;
	return err;
}

/* The same, and frees @p. */
static int wr_meta_put_last(struct uft_writer *w, enum uft_block_type type, struct wire *p)
{
	int err = wr_meta_put(w, type, p);

	wire_free(p);
	return err;
}

static void wr_put_pair(const struct uft_writer *w, struct wire *p)
{
	struct uft_clock_pair pair;
	uint64_t clock[2], ns[2];
	int i = 0;

	if (!w->opts.clock) {
		uft_clock_sample(&pair);
		wire_put_u(p, pair.clock);
		wire_put_u(p, pair.ns);
		return;
	}
	w->opts.clock(w->opts.clock_arg, clock, ns);
	for (; clock[1] && i < 2; i++) {	/* a clock of 0: not known yet, because the program has not said
						 * hello */
		wire_put_u(p, clock[i]);
		wire_put_u(p, ns[i]);
	}
}

int wr_meta_clock(struct uft_writer *w)
{
	struct wire p = { 0 };

	wr_put_pair(w, &p);
	return p.n ? wr_meta_put_last(w, UFT_BLOCK_CLOCK, &p) : 0;
}

int wr_meta_begin(struct uft_writer *w)
{
	struct uft_file_block head = { .type = UFT_BLOCK_SETUP };
	struct utsname un;
	struct wire p = { 0 };
	char text[sizeof(un)];
	int err = wr_block(w, &head, &w->head, sizeof(w->head), 0);

	if (err)
		return err;
	memset(&un, 0, sizeof(un));
	uname(&un);
	wire_put_str(&p, w->opts.cmdline);
	wire_put_str(&p, un.nodename);
	snprintf(text, sizeof(text), "%s %s %s", un.sysname, un.release, un.machine);
	wire_put_str(&p, text);
	err = wr_meta_put_last(w, UFT_BLOCK_INFO, &p);
	return err ? err : wr_meta_clock(w);
}

/* This moment by the clock of the rings, never 0. */
static uint64_t wr_clock_now(const struct uft_writer *w)
{
	uint64_t clock[2] = { 0 }, ns[2] = { 0 };
	struct uft_clock_pair pair;

	if (w->opts.clock) {
		w->opts.clock(w->opts.clock_arg, clock, ns);
		return clock[1] ? clock[1] : 1;
	}
	uft_clock_sample(&pair);
	return pair.clock ? pair.clock : 1;
}

int wr_meta_slice(struct uft_writer *w, const struct wr_slice *s, uint32_t index, int has_ended)
{
	const struct uft_slice uft_shared *as = wr_arena_slice(w, index);
	struct wire p = { 0 };

	wire_put_u(&p, s->number);
	wire_put_u(&p, s->pid);
	wire_put_u(&p, s->ppid);
	wire_put_u(&p, s->image_id);
	wire_put_u(&p, SHARED_LOAD(&as->clock_start));
	wire_put_u(&p, has_ended ? wr_clock_now(w) : 0);
	return wr_meta_put_last(w, UFT_BLOCK_SLICE, &p);
}

/* ---- Images ------------------------------------------------------------------------------- */

int wr_meta_image(struct uft_writer *w, const struct uft_image *img, struct wr_image **out)
{
	struct wr_image **bucket = &w->image_by_id[img->id % WR_IMAGE_BUCKETS], *wi;
	struct wire p = { 0 };
	int err;

	for (wi = *bucket; wi && wi->id != img->id; wi = wi->next_alike)
		;
	if (!wi) {
		wi = calloc(1, sizeof(*wi));
		if (!wi)
			return -ENOMEM;
		wi->id = img->id;
		wi->next = w->image;
		w->image = wi;
		wi->next_alike = *bucket;
		*bucket = wi;
		wire_put_u(&p, img->id);
		wire_put_str(&p, img->exe);
		err = wr_meta_put_last(w, UFT_BLOCK_IMAGE, &p);
		if (err)
			return err;
	}
	*out = wi;
	return wr_meta_sync(w, img, wi);
}

/* Returns the file's number of an object, or -ENOMEM; takes a reference the first time. */
static int64_t wr_object(struct uft_writer *w, struct uft_object *obj)
{
	for (uint32_t i = w->nobject; i-- > 0;)
		if (w->object[i] == obj)
			return i;
	if (array_reserve(w->object, w->cap_object, w->nobject + 1))
		return -ENOMEM;
	w->object[w->nobject] = uft_object_get(obj);
	return w->nobject++;
}

static int wr_put_object(struct uft_writer *w, uint32_t image, uint32_t index, const struct uft_mapped *m,
			 uint32_t object)
{
	struct wire p = { 0 };

	wire_put_u(&p, image);
	wire_put_u(&p, index);
	wire_put_u(&p, object);
	wire_put_str(&p, m->obj->path);
	wire_put_bytes(&p, m->obj->build_id, m->obj->build_id_len);
	wire_put_u(&p, m->obj->machine);
	wire_put_u(&p, m->obj->type);
	wire_put_u(&p, m->obj->file_bytes);
	wire_put_u(&p, m->obj->mtime_ns);
	wire_put_s(&p, (int64_t)m->bias);
	wire_put_u(&p, m->text_start);
	wire_put_u(&p, m->text_end);
	wire_put_u(&p, m->first_text_id);
	wire_put_u(&p, m->ntext_ids);
	wire_put_u(&p, m->first_stub_id);
	wire_put_u(&p, m->nstubs);
	wire_put_u(&p, m->from_clock);
	wire_put_u(&p, m->to_clock);
	return wr_meta_put_last(w, UFT_BLOCK_OBJECT, &p);
}

/* Site addresses of the stubs from @first on. */
static int wr_put_sites(struct uft_writer *w, uint32_t image, uint32_t index, const struct uft_mapped *m,
			uint32_t first)
{
	struct wire p = { 0 };
	int err = 0;

	while (first < m->nstubs && !err) {
		uint32_t n = m->nstubs - first < WR_META_BLOCK / 20 ? m->nstubs - first : WR_META_BLOCK / 20;
		uint64_t previous = 0;

		wire_put_u(&p, image);
		wire_put_u(&p, index);
		wire_put_u(&p, first);
		wire_put_u(&p, n);
		for (uint32_t i = first; i < first + n; i++) {
			wire_put_s(&p, (int64_t)(m->stub_addr[i] - previous));
			wire_put_s(&p, (int64_t)(m->site_addr[i] - m->stub_addr[i]));
			previous = m->stub_addr[i];
		}
		err = wr_meta_put(w, UFT_BLOCK_SITES, &p);
		first += n;
	}
	wire_free(&p);
	return err;
}

static int wr_sync_object(struct uft_writer *w, const struct uft_image *img, struct wr_image *wi, uint32_t index)
{
	const struct uft_mapped *m = &img->obj[index];
	struct wr_mapped *known = &wi->mapped[index];
	uint32_t nstubs = m->stub_addr && m->site_addr ? m->nstubs : 0;
	int64_t object = known->object;
	int err;

	if (object == UINT32_MAX)
		object = wr_object(w, m->obj);
	else if (known->nstubs == nstubs && known->ntext_ids == m->ntext_ids && known->text_end == m->text_end &&
		 known->to_clock == m->to_clock)
		return 0;
	if (object < 0)
		return (int)object;
	err = wr_put_object(w, img->id, index, m, (uint32_t)object);
	if (!err && nstubs > known->nstubs)
		err = wr_put_sites(w, img->id, index, m, known->nstubs);
	if (err)
		return err;
	*known = (struct wr_mapped){
		.object = (uint32_t)object, .nstubs = nstubs, .ntext_ids = m->ntext_ids,
		.text_end = m->text_end, .to_clock = m->to_clock,
	};
	if ((uint64_t)m->first_stub_id + m->nstubs > wi->max_stub)
		wi->max_stub = (uint64_t)m->first_stub_id + m->nstubs;
	return 0;
}

int wr_meta_sync(struct uft_writer *w, const struct uft_image *img, struct wr_image *wi)
{
	int err = 0;

	if (img->nobj > wi->nmapped) {
		if (array_resize(wi->mapped, img->nobj))
			return -ENOMEM;
		for (; wi->nmapped < img->nobj; wi->nmapped++)
			wi->mapped[wi->nmapped] = (struct wr_mapped){ .object = UINT32_MAX };
	}
	for (uint32_t i = 0; i < img->nobj && !err; i++)
		err = wr_sync_object(w, img, wi, i);
	return err;
}

int wr_meta_funcs(struct uft_writer *w, uint32_t object, const struct uft_object *obj)
{
	struct wire p = { 0 };
	uint64_t previous = 0;
	int err = 0;

	for (size_t i = 0; i < obj->nfunc && !err; i++) {
		const struct uft_func *f = &obj->func[i];

		if (!p.n) {
			wire_put_u(&p, object);
			previous = 0;
		}
		wire_put_s(&p, (int64_t)(f->addr - previous));
		wire_put_u(&p, f->size);
		wire_put_u(&p, f->flags);
		wire_put_bytes(&p, f->name, f->name ? strnlen(f->name, WR_META_BLOCK) : 0);
		previous = f->addr;
		if (p.n >= WR_META_BLOCK || i + 1 == obj->nfunc)
			err = wr_meta_put(w, UFT_BLOCK_FUNCS, &p);
	}
	wire_free(&p);
	return err;
}

/* Function events name any function as a parent; other tracers name functions of traced objects only. */
static int wr_names_wanted(const struct uft_writer *w, uint32_t object)
{
	if (w->opts.tracer == UFT_TRACER_FUNCTION)
		return 1;
	for (const struct wr_image *wi = w->image; wi; wi = wi->next)
		for (uint32_t i = 0; i < wi->nmapped; i++)
			if (wi->mapped[i].object == object && (wi->mapped[i].nstubs || wi->mapped[i].ntext_ids))
				return 1;
	return 0;
}

int wr_meta_names(struct uft_writer *w)
{
	int err = 0;

	for (uint32_t i = 0; i < w->nobject && !err; i++) {
		struct uft_object *obj = w->object[i];

		if (!wr_names_wanted(w, i))
			continue;
		/* An object whose names cannot be read (deleted, say) keeps what it has: its ids still resolve. */
		if (!obj->nfunc)
			uft_object_names(obj, NULL);
		err = wr_meta_funcs(w, i, obj);
	}
	return err;
}

/* ---- Tasks, counters, profile ------------------------------------------------------------- */

/* Notes a description of a task. Returns 1 if it is the same as the last one, 0 if not, or -ENOMEM. */
static int wr_task_known(struct uft_writer *w, uint64_t key, uint64_t value)
{
	const uint64_t hash = hash_words(key, 0);
	uint32_t at = HASH_FIND(i, &w->by_key, hash, w->task[i].key == key);
	int is_known = at != HASH_NONE && w->task[at].value == value;

	if (at == HASH_NONE) {
		at = w->by_key.n;
		if (array_reserve(w->task, w->cap_task, at + 1) || hash_index_add(&w->by_key, hash, at))
			return -ENOMEM;
	}
	w->task[at] = (struct wr_task){ key, value };
	return is_known;
}

int uft_writer_task(struct uft_writer *w, uint32_t pid, uint32_t tid, uint32_t ppid, uint32_t image, const char *comm)
{
	size_t from = w->tasks.n;
	int known;

	wire_put_u(&w->tasks, pid);
	wire_put_u(&w->tasks, tid);
	wire_put_u(&w->tasks, ppid);
	wire_put_u(&w->tasks, image);
	wire_put_str(&w->tasks, comm);
	if (w->tasks.err)
		return w->tasks.err;
	known = wr_task_known(w, pid | (uint64_t)tid << 32, wire_sum(w->tasks.p + from, w->tasks.n - from));
	if (known)
		w->tasks.n = from;
	if (w->tasks.n >= WR_META_BLOCK)
		return wr_meta_tasks(w);
	return known < 0 ? known : 0;
}

int uft_writer_outer(struct uft_writer *w, uint32_t slice, uint32_t tid, uint32_t outer)
{
	size_t from = w->outers.n;
	int known;

	if (slice >= w->nslices || !w->slice[slice].is_live)
		return 0;
	wire_put_u(&w->outers, w->slice[slice].number);
	wire_put_u(&w->outers, tid);
	wire_put_u(&w->outers, outer);
	if (w->outers.err)
		return w->outers.err;
	known = wr_task_known(w, OUTER_KEY | (uint64_t)w->slice[slice].number << 32 | tid, outer);
	if (known)
		w->outers.n = from;
	if (w->outers.n >= WR_META_BLOCK)
		return wr_meta_tasks(w);
	return known < 0 ? known : 0;
}

int uft_writer_drop(struct uft_writer *w, const struct uft_writer_drop *drop)
{
	struct wire p = { 0 };

	wire_put_u(&p, drop->image);
	wire_put_u(&p, drop->stub_id);
	wire_put_u(&p, drop->clock);
	wire_put_u(&p, drop->calls_per_s);
	wire_put_u(&p, drop->cost_ppm);
	wire_put_u(&p, drop->pid);
	wire_put_u(&p, drop->why);
	return wr_meta_put_last(w, UFT_BLOCK_DROPS, &p);
}

int uft_writer_format(struct uft_writer *w, const struct uft_event_type *type)
{
	struct wire p = { 0 };
	int err;

	if (uft_event_set_has(&w->formats, type->index))
		return 0;
	wire_put_u(&p, type->id);
	wire_put_str(&p, type->system);
	wire_put_str(&p, type->format);
	err = wr_meta_put_last(w, UFT_BLOCK_FORMAT, &p);
	return err ? err : uft_event_set_change(&w->formats, type->index, 1);
}

int wr_meta_tasks(struct uft_writer *w)
{
	int err = w->tasks.n ? wr_meta_put(w, UFT_BLOCK_TASKS, &w->tasks) : 0;

	return err || !w->outers.n ? err : wr_meta_put(w, UFT_BLOCK_OUTER, &w->outers);
}

int wr_meta_counters(struct uft_writer *w, struct wr_slice *s, uint32_t index, int is_final)
{
	const struct uft_slice uft_shared *as = wr_arena_slice(w, index);
	struct wire p = { 0 };
	uint64_t sum;
	int err = 0;

	wire_put_u(&p, s->number);
	wire_put_u(&p, (uint64_t)is_final);
	wire_put_u(&p, UFT_NCOUNTERS);
	for (int i = 0; i < UFT_NCOUNTERS; i++)
		wire_put_u(&p, SHARED_LOAD(&as->counter[i]));
	for (uint32_t i = 0; i < w->nrings; i++) {
		uint64_t lost = SHARED_LOAD(&wr_arena_ring(w, index, i)->lost) +
				s->ring[i].unsaved;

		if (lost) {
			wire_put_u(&p, i);
			wire_put_u(&p, lost);
		}
	}
	sum = p.err ? 0 : wire_sum(p.p, p.n);
	if (sum != s->counter_sum || is_final)
		err = wr_meta_put(w, UFT_BLOCK_COUNTERS, &p);
	if (!err)
		s->counter_sum = sum;
	wire_free(&p);
	return err;
}

/* Sums one id over the blocks. Other threads may be adding: each field is exact, but the row is not of one moment. */
static struct uft_profile wr_profile_row(const struct uft_writer *w, uint32_t index, uint64_t id)
{
	const struct uft_profile uft_shared *e =
		(const struct uft_profile uft_shared *)((uint8_t uft_shared *)wr_arena_slice(w, index) +
							w->profile_offset);
	struct uft_profile row = { 0 };

	for (uint32_t block = 0; block < UFT_PROFILE_BLOCKS(w->head.ncpus); block++) {
		const struct uft_profile uft_shared *at = e + block * w->profile_ids + id;
		struct uft_profile q;

		/* A call counts in the block where it began, its time in the block where it ended. */
		if (!SHARED_LOAD(&at->hits) && !SHARED_LOAD(&at->total))
			continue;
		shared_read(&q, at, sizeof(q));
		row.hits += q.hits;
		row.total += q.total;
		row.self += q.self;
		row.squares += q.squares;
		row.min = q.min > row.min ? q.min : row.min;	/* stored inverted */
		row.max = q.max > row.max ? q.max : row.max;
	}
	row.min = ~row.min;
	return row;
}

int wr_meta_profile(struct uft_writer *w, const struct wr_slice *s, uint32_t index)
{
	uint64_t ids = s->image ? s->image->max_stub : 0;
	struct wire p = { 0 };
	int err = 0;

	if (ids > w->profile_ids)
		ids = w->profile_ids;
	for (uint64_t id = 0; id < ids && !err; id++) {
		struct uft_profile row = wr_profile_row(w, index, id);

		if (!row.hits)
			continue;
		if (!p.n)
			wire_put_u(&p, s->number);
		wire_put_u(&p, id);
		wire_put_u(&p, row.hits);
		wire_put_u(&p, row.total);
		wire_put_u(&p, row.self);
		wire_put_u(&p, row.squares);
		wire_put_u(&p, row.min);
		wire_put_u(&p, row.max);
		if (p.n >= WR_META_BLOCK)
			err = wr_meta_put(w, UFT_BLOCK_PROFILE, &p);
	}
	if (p.n && !err)
		err = wr_meta_put(w, UFT_BLOCK_PROFILE, &p);
	wire_free(&p);
	return err;
}

int wr_meta_end(struct uft_writer *w)
{
	struct uft_file_block setup = { .type = UFT_BLOCK_SETUP }, end = { .type = UFT_BLOCK_END };
	struct wire why = { 0 };
	int err = wr_block(w, &setup, &w->head, sizeof(w->head), 0);

	if (w->stats.stop) {
		wire_put_u(&why, w->stats.stop);
		wire_put_u(&why, w->stats.stop_bytes);
	}
	if (!err)
		err = wr_block(w, &end, why.p, why.err ? 0 : why.n, 0);
	wire_free(&why);
	return err;
}
