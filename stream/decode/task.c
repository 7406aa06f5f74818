/* SPDX-License-Identifier: MIT */
/*
 * task.c - the tasks and symbols that records refer to
 *
 * A task is (slice, pid, tid): an exec begins a new slice, hence another task with another image. Only a CONTEXT record
 * names its task, so the hash here is off the hot path. Direct mapped tables per image cache symbols in front of the
 * resolver; a table misses at most as often as two hot keys collide.
 *
 * Bounds, for hostile files: DEC_TASKS tasks, DEC_FRAMES open calls over all of them, DEC_UNKNOWN distinct ids or
 * addresses without a name. Tasks beyond share one, calls beyond are counted but not stored, ids and addresses beyond
 * share one symbol. A slice may hold a target's garbage: beyond SHARE_TASKS or SHARE_FRAMES it gets no more than the
 * other slices together have left, and then one task for all the rest.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stream/decode/decode.h"
#include "symbol/array.h"
#include "symbol/hash_index.h"
#include "symbol/keyed_hash.h"
#include "symbol/names.h"
#include "symbol/sorted.h"

#define DEC_TASKS	(1u << 19)
#define DEC_FRAMES	(4u << 20)
#define DEC_UNKNOWN	(1u << 17)
#define DEC_REST	UINT32_MAX	/* pid and tid of a slice's task for the rest */
#define SHARES		(1u << 16)	/* later slices share one */
#define SHARE_TASKS	256u
#define SHARE_FRAMES	(1u << 14)
#define SHARE_FROM	1024u		/* tasks, or as many thousand frames, from which on shares are counted */
#define DEC_CACHE_MIN	(1u << 12)
#define DEC_CACHE_MAX	(1u << 18)
#define DEC_CACHES	(1u << 21)	/* entries of all images together, unless there are more images */

/* ---- Tasks ---------------------------------------------------------------------------------- */

static uint32_t task_hash(uint32_t slice, uint32_t pid, uint32_t tid)
{
	return (uint32_t)hash_words((uint64_t)pid << 32 | tid, slice);
}

static uint32_t key_hash(const struct dec_task *t, enum dec_key key)
{
	return key == DEC_SESSION ? (uint32_t)hash_words(t->pub.pid, t->pub.tid) :
	       (uint32_t)hash_words(t->slice, key == DEC_OWN_PID ? t->pub.own_pid : t->pub.own_tid);
}

static void chain_in(struct uft_stream *st, struct dec_task *t, enum dec_key key)
{
	uint32_t *first = &st->chain[key][key_hash(t, key) & (st->nchain - 1)];

	t->same[key] = *first;
	*first = t->pub.index + 1;
}

static void chain_out(struct uft_stream *st, const struct dec_task *t, enum dec_key key)
{
	uint32_t *at = &st->chain[key][key_hash(t, key) & (st->nchain - 1)];

	while (*at != t->pub.index + 1)
		at = &st->task[*at - 1]->same[key];
	*at = t->same[key];
}

/* Returns the first task of the chain for this hash, which holds tasks of other keys, too; same[] leads to the next. */
static struct dec_task *chain_first(const struct uft_stream *st, enum dec_key key, uint64_t hash)
{
	const uint32_t at = st->nchain ? st->chain[key][(uint32_t)hash & (st->nchain - 1)] : 0;

	return at ? st->task[at - 1] : NULL;
}

static struct dec_task *chain_next(const struct uft_stream *st, enum dec_key key, const struct dec_task *t)
{
	return t->same[key] ? st->task[t->same[key] - 1] : NULL;
}

/* Makes chains for one more task. 0 or -ENOMEM */
static int grow_chains(struct uft_stream *st)
{
	const uint32_t n = st->nchain ? 2 * st->nchain : 128;

	if (st->ntask < st->nchain / 2)
		return 0;
	for (unsigned k = 0; k < DEC_KEYS; k++)
		if (array_resize(st->chain[k], n))
			return -ENOMEM;
	st->nchain = n;
	for (unsigned k = 0; k < DEC_KEYS; k++) {
		memset(st->chain[k], 0, n * sizeof(*st->chain[k]));
		for (uint32_t i = 0; i < st->ntask; i++)
			chain_in(st, st->task[i], (enum dec_key)k);
	}
	return 0;
}

struct dec_share { uint32_t tasks, frames; };

/* Returns the slice's share so far; NULL: there is plenty for all. */
static struct dec_share *share_of(struct uft_stream *st, uint32_t slice)
{
	if (!st->share && (st->ntask >= SHARE_FROM || st->frames >= SHARE_FROM * 1024ull)) {
		st->share = calloc(SHARES, sizeof(*st->share));
		if (!st->share)
			dec_no_memory(st);
		for (uint32_t i = 0; st->share && i < st->ntask; i++) {
			struct dec_share *s = &st->share[st->task[i]->slice % SHARES];

			s->tasks++;
			s->frames += st->task[i]->cap;
		}
	}
	return st->share ? &st->share[slice % SHARES] : NULL;
}

/*
 * A process has the name by which it was started: `redis-server` may be a link to the file `redis-check-rdb`. The
 * kernel keeps 15 bytes of a name, a recording the bytes before a newline (read as `?`): the name of a file that begins
 * so is the whole name. In a live buffer names come and go; there the file's name holds.
 */
static const char *program_of(const struct uft_stream *st, const struct dec_task *t, uint32_t image)
{
	const struct rd_task *main = rd_find_task(st->file, t->pub.pid, t->pub.pid, image);
	const char *file = uft_base_name(t->image->img && t->image->img->exe ? t->image->img->exe : "?");
	size_t n = main && main->image == image && !st->file->is_live ? strlen(main->comm) : 0;

	return !n || (!strncmp(file, main->comm, n) && (n == 15 || file[n] == '?')) ? file : main->comm;
}

/* ---- Numbers of another pid namespace -------------------------------------------------------- */

/* Returns the place of (@slice, @tid), or where to insert it. */
static uint32_t outer_place(const struct uft_stream *st, uint32_t slice, uint32_t tid)
{
	return (uint32_t)SORTED_FIRST(i, st->nouter, st->outer[i].slice > slice ||
				      (st->outer[i].slice == slice && st->outer[i].tid >= tid));
}

static uint32_t outer_of(const struct uft_stream *st, uint32_t slice, uint32_t tid)
{
	uint32_t i = outer_place(st, slice, tid);

	return i < st->nouter && st->outer[i].slice == slice && st->outer[i].tid == tid ? st->outer[i].outer :
	       rd_find_outer(st->file, slice, tid);
}

/* Sets names, parent and image by the numbers that the session gives the task. */
static void task_describe(struct uft_stream *st, struct dec_task *t, const struct rd_slice *slice)
{
	const struct rd_task *known = rd_find_task(st->file, t->pub.pid, t->pub.tid, slice ? slice->image_id : 0);

	t->pub.comm = known && known->comm[0] ? known->comm : "<...>";
	t->pub.ppid = known ? known->ppid : slice && slice->pid == t->pub.own_pid ? slice->ppid : 0;
	t->pub.image = t->image->img;
	t->pub.program = program_of(st, t, slice ? slice->image_id : 0);
}

/* Gives the number @outer to the tasks of @slice_number whose process or thread (@key) has the number @tid. */
static void tell_outer(struct uft_stream *st, enum dec_key key, uint32_t slice_number, uint32_t tid, uint32_t outer)
{
	const struct rd_slice *slice = rd_find_slice(st->file, slice_number);
	struct dec_task *t = chain_first(st, key, hash_words(slice_number, tid));

	for (; t; t = chain_next(st, key, t)) {
		if (t->slice != slice_number || (key == DEC_OWN_PID ? t->pub.own_pid : t->pub.own_tid) != tid)
			continue;
		chain_out(st, t, DEC_SESSION);
		*(key == DEC_OWN_PID ? &t->pub.pid : &t->pub.tid) = outer;
		chain_in(st, t, DEC_SESSION);
		task_describe(st, t, slice);
	}
}

int dec_outer_add(struct uft_stream *st, uint32_t slice_number, uint32_t tid, uint32_t outer)
{
	uint32_t at = outer_place(st, slice_number, tid);
	struct dec_outer *o;
	int is_known = at < st->nouter && st->outer[at].slice == slice_number && st->outer[at].tid == tid;

	if (array_reserve(st->outer, st->cap_outer, st->nouter + 1))
		return -ENOMEM;
	o = &st->outer[at];
	if (!is_known)
		memmove(o + 1, o, (st->nouter++ - at) * sizeof(*o));
	else if (o->outer == outer)
		return 0;
	*o = (struct dec_outer){ slice_number, tid, outer, ++st->outer_given };
	tell_outer(st, DEC_OWN_PID, slice_number, tid, outer);
	tell_outer(st, DEC_OWN_TID, slice_number, tid, outer);
	return 0;
}

void dec_outer_keep(struct uft_stream *st, const struct dec_task *t)
{
	const uint32_t own[] = { t->pub.own_pid, t->pub.own_tid };

	for (unsigned k = 0; k < 2; k++) {
		uint32_t at = outer_place(st, t->slice, own[k]);

		if (at < st->nouter && st->outer[at].slice == t->slice && st->outer[at].tid == own[k])
			st->outer[at].order = st->outer_given;
	}
}

void dec_task_rename(struct uft_stream *st, uint32_t pid, uint32_t tid, const char *comm)
{
	struct dec_task *t = chain_first(st, DEC_SESSION, hash_words(pid, tid));

	for (; t; t = chain_next(st, DEC_SESSION, t))
		if (t->pub.pid == pid && t->pub.tid == tid)
			t->pub.comm = comm;
}

struct dec_task *dec_task_get(struct uft_stream *st, uint32_t slice_number, struct dec_image *image,
			      const struct rd_slice *slice, uint32_t pid, uint32_t tid)
{
	const uint32_t hash = task_hash(slice_number, pid, tid);
	uint32_t found = HASH_FIND(i, &st->by_tid, hash, st->task[i]->pub.own_tid == tid &&
				   st->task[i]->pub.own_pid == pid && st->task[i]->slice == slice_number);
	struct dec_share *share;
	struct dec_task *t;

	if (found != HASH_NONE)
		return st->task[found];
	share = share_of(st, slice_number);
	if (share /* GUARD(task_share, 0) */ && tid != DEC_REST && share->tasks >= SHARE_TASKS &&
	    share->tasks >= DEC_TASKS - st->ntask)
		return dec_task_get(st, slice_number, image, slice, DEC_REST, DEC_REST);
	if (st->ntask >= DEC_TASKS)
		return st->last_task;
	t = array_reserve(st->task, st->cap_task, st->ntask + 1) || hash_index_reserve(&st->by_tid, st->ntask + 1) ||
	    grow_chains(st) ? NULL : calloc(1, sizeof(*t));
	if (!t) {
		dec_no_memory(st);
		return st->last_task;
	}
	t->pub.own_tid = tid;
	t->pub.own_pid = pid;
	t->slice = slice_number;
	t->image = image;
	if (st->has_ends)
		end_add_task(st, t);
	t->pub.pid = outer_of(st, slice_number, pid);
	t->pub.tid = outer_of(st, slice_number, tid);
	task_describe(st, t, slice);
	t->pub.index = st->ntask;
	if (share)
		share->tasks++;
	hash_index_add(&st->by_tid, hash, st->ntask);
	st->task[st->ntask++] = t;
	for (unsigned k = 0; k < DEC_KEYS; k++)
		chain_in(st, t, (enum dec_key)k);
	return t;
}

int dec_task_grow(struct uft_stream *st, struct dec_task *t)
{
	uint32_t cap = t->cap ? t->cap * 2 : 64;
	struct dec_share *share = share_of(st, t->slice);
	uint32_t more = cap - t->cap;

	if (st->frames + more > DEC_FRAMES ||
	    (share && share->frames + more > SHARE_FRAMES && share->frames + more > DEC_FRAMES - st->frames))
		return -EDQUOT;
	if (array_resize(t->stack, cap))
		return dec_no_memory(st);
	st->frames += more;
	if (share)
		share->frames += more;
	t->cap = cap;
	return 0;
}

const struct uft_image *dec_task_image(const struct uft_task *t)
{
	const struct dec_task *task = (const struct dec_task *)t;

	return task->image ? task->image->img : NULL;
}

void dec_tasks_free(struct uft_stream *st)
{
	for (uint32_t i = 0; i < st->nmark; i++)
		free(st->mark[i]);
	free(st->mark);
	dec_stacks_free(st);
	for (uint32_t i = 0; i < st->ntask; i++) {
		free(st->task[i]->stack);
		free(st->task[i]->done);
		free(st->task[i]);
	}
	if (st->last_task) {
		free(st->last_task->stack);
		free(st->last_task->done);
	}
	free(st->last_task);
	free(st->outer);
	free(st->task);
	hash_index_free(&st->by_tid);
	for (unsigned k = 0; k < DEC_KEYS; k++)
		free(st->chain[k]);
	free(st->task_copy);
	free(st->share);
	free(st->aside);
}

/* ---- Symbols -------------------------------------------------------------------------------- */

#define LATE_SHIFT	(64 - 14)	/* of caches that are made on demand */

/* Caches in which nothing is found: keys begin at 1, and an address counts only with its symbol. */
static struct sym_entry no_syms[2];

static void free_caches(struct dec_image *image)
{
	if (image->id != no_syms)
		free(image->id);
	if (image->addr != no_syms)
		free(image->addr);
}

void dec_image_empty(struct dec_image *image)
{
	free_caches(image);
	image->id = image->addr = no_syms;
	image->shift = 63;
}

/* Makes the caches. 0: no memory, and no_syms must not be written. */
static int has_caches(struct dec_image *image)
{
	struct sym_entry *id, *addr;

	if (image->id != no_syms)
		return 1;
	id = calloc(1ull << (64 - LATE_SHIFT), sizeof(*id));
	addr = calloc(1ull << (64 - LATE_SHIFT), sizeof(*addr));
	if (!id || !addr) {
		free(id);
		free(addr);
		return 0;
	}
	*image = (struct dec_image){ .img = image->img, .id = id, .addr = addr, .shift = LATE_SHIFT,
		.is_used = image->is_used, .has_overlaps = image->has_overlaps };
	return 1;
}

int dec_images_alloc(struct uft_stream *st)
{
	st->image = calloc(st->file->nimage, sizeof(*st->image));
	st->resolver = uft_resolver_alloc();
	st->last_task = calloc(1, sizeof(*st->last_task));
	if (!st->image || !st->resolver || !st->last_task)
		return -ENOMEM;
	for (; st->nimage < st->file->nimage; st->nimage++) {
		struct dec_image *d = &st->image[st->nimage];
		uint64_t want = 0, most = DEC_CACHES / st->file->nimage, n = 16;

		d->img = st->file->image[st->nimage];
		for (uint32_t i = 0; i < d->img->nobj; i++)
			want += 2ull * d->img->obj[i].nstubs;
		want = want < DEC_CACHE_MIN ? DEC_CACHE_MIN : want > DEC_CACHE_MAX ? DEC_CACHE_MAX : want;
		while (n < want && 2 * n <= most)
			n *= 2;
		d->id = calloc(n, sizeof(*d->id));
		d->addr = calloc(n, sizeof(*d->addr));
		if (!d->id || !d->addr)
			return -ENOMEM;
		d->shift = 64 - (unsigned)__builtin_ctzll(n);
		d->has_overlaps = uft_image_overlaps(d->img);
	}
	st->last_task->image = &st->image[st->nimage - 1];
	st->last_task->slice = UINT32_MAX;
	st->last_task->pub.comm = "<...>";
	st->last_task->pub.program = "?";
	st->last_task->pub.image = st->last_task->image->img;
	st->last_task->pub.index = DEC_TASKS;
	return 0;
}

void dec_images_free(struct uft_stream *st)
{
	for (size_t i = 0; i < st->nimage && st->image; i++)
		free_caches(&st->image[i]);
	free(st->image);
	uft_resolver_free(st->resolver);
}

int dec_has_unknown(const struct uft_stream *st)
{
	return st->unknown_ids > DEC_UNKNOWN / 16 || st->unknown_addrs > DEC_UNKNOWN / 16;
}

const struct uft_sym *dec_sym_miss(struct uft_stream *st, struct dec_image *image, uint32_t id)
{
	struct sym_entry none, *e = has_caches(image) ? sym_slot(image->id, image->shift, id) : &none;

	e->key = (uint64_t)id + 1;
	if (!uft_resolver_has_id(st->resolver, image->img, id) && st->unknown_ids++ > DEC_UNKNOWN)
		e->sym = uft_resolve_id(st->resolver, image->img, UFT_REC_VALUE_MAX);
	else
		e->sym = uft_resolve_id(st->resolver, image->img, id);
	return e->sym;
}

const struct uft_sym *dec_addr_miss(struct uft_stream *st, struct dec_image *image, uint64_t addr)
{
	struct sym_entry none, *e = has_caches(image) ? sym_slot(image->addr, image->shift, addr) : &none;

	e->key = addr + 1;
	if (!uft_resolver_has_addr(st->resolver, image->img, addr) && st->unknown_addrs++ > DEC_UNKNOWN)
		e->sym = uft_resolve_addr(st->resolver, image->img, 0);
	else
		e->sym = uft_resolve_addr(st->resolver, image->img, addr);
	return e->sym;
}
