/* SPDX-License-Identifier: MIT */
/* images.c - private copies of images, and the names of tasks; the theory is in buffer.c */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "stream/live/live_internal.h"
#include "symbol/array.h"
#include "symbol/sorted.h"

/* Copies the present state of @img to @to under a new id, so that names resolved by the old id are dropped. */
static int image_copy(struct uft_image *to, const struct uft_image *img, uint32_t id)
{
	struct uft_mapped *obj = calloc(img->nobj ? img->nobj : 1, sizeof(*obj));

	if (!obj)
		return -ENOMEM;
	for (uint32_t i = 0; i < img->nobj; i++) {
		uft_mapped_copy(&obj[i], &img->obj[i]);
		uft_object_get(obj[i].obj);
		uft_object_names(obj[i].obj, NULL);	/* in the session's thread, before another thread resolves */
		if (!obj[i].stub_addr || !obj[i].site_addr)
			obj[i].nstubs = 0;
	}
	for (uint32_t i = 0; i < to->nobj; i++) {
		uft_object_put(to->obj[i].obj);
		uft_mapped_free_arrays(&to->obj[i]);
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

/* Makes caches of ids and addresses in front of the resolver, for the images that have none yet. */
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

		*d = (struct dec_image){ .img = st->file->image[st->nimage] };
		dec_image_empty(d);
		d->has_overlaps = uft_image_overlaps(d->img);
	}
	st->last_task->image = &st->image[0];
	st->last_task->pub.image = st->image[0].img;
	return 0;
}

static void flush_caches(struct dec_image *d)
{
	dec_image_empty(d);
	d->has_overlaps = uft_image_overlaps(d->img);
}

/* Adds a new private copy of @img to @st. Returns its index, or -errno. */
int lv_image_add(struct uft_stream *st, const struct uft_image *img, uint32_t id)
{
	struct rd_file *f = st->file;

	if (array_resize(f->image, f->nimage + 1))
		return -ENOMEM;
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

/*
 * Returns the index of an image that no slice has any more and that has no records: its program came and went. -1:
 * none.
 */
static int find_unused(const struct uft_live *l)
{
	for (size_t i = 1; i < l->base->nimage; i++) {
		int is_free = !l->base->image[i].is_used;

		for (uint32_t k = 0; k < l->geo->nslices && is_free; k++)
			is_free = !l->slice[k].is_live || l->slice[k].image != i;
		if (is_free)
			return (int)i;
	}
	return -1;
}

int lv_image_of(struct uft_live *l, const struct uft_image *img)
{
	int i = find_unused(l);
	struct uft_image *mine = i < 0 ? NULL : l->base->file->image[i];
	char *exe = mine ? strdup(img->exe) : NULL;

	if (!mine)
		return lv_image_add(l->base, img, ++l->image_version);
	if (!exe || image_copy(mine, img, ++l->image_version)) {
		free(exe);
		return -ENOMEM;
	}
	free(mine->exe);
	mine->exe = exe;
	flush_caches(&l->base->image[i]);
	return i;
}

/* Copies changed images of live slices anew. Called by the session's thread, which changes them. */
void lv_sync_images(struct uft_live *l)
{
	for (uint32_t i = 0; i < l->geo->nslices; i++) {
		struct lv_slice *s = &l->slice[i];
		struct uft_image *mine = s->is_live ? l->base->file->image[s->image] : NULL;

		if (!mine || !image_differs(mine, s->img) || image_copy(mine, s->img, ++l->image_version))
			continue;
		flush_caches(&l->base->image[s->image]);
	}
}

/* Returns the place of a task's name, or where to insert it. */
static size_t find_name(const struct rd_file *f, uint32_t pid, uint32_t tid)
{
	return SORTED_FIRST(i, f->ntask, f->task[i].pid > pid || (f->task[i].pid == pid && f->task[i].tid >= tid));
}

static int has_name(const struct rd_file *f, size_t at, uint32_t pid, uint32_t tid)
{
	return at < f->ntask && f->task[at].pid == pid && f->task[at].tid == tid;
}

/* @tid is the session's number; the answer may be wrong for a task in another pid namespace. */
static int is_running(uint32_t tid)
{
	return !kill((pid_t)tid, 0) || errno != ESRCH;
}

/*
 * Records may refer to ended tasks, so names stay, yet a session may see millions of tasks. When there are twice as
 * many names as should stay, names are freed that are neither among the latest, nor of a running task, nor of a task
 * that base has decoded. Records left of such a task show `<...>`, as in the kernel.
 */
static void drop_names(struct uft_live *l)
{
	struct rd_file *f = l->base->file;
	size_t n = 0;

	if (f->ntask < 2 * (size_t)l->names || f->ntask < l->next_drop)
		return;
	for (uint32_t i = 0; i < l->base->ntask; i++) {
		const struct uft_task *task = &l->base->task[i]->pub;
		size_t at = find_name(f, task->pid, task->tid);

		if (has_name(f, at, task->pid, task->tid))
			f->task[at].order = l->named; /* GUARD(decoded_names) */
	}
	for (size_t i = 0; i < f->ntask; i++) {
		struct rd_task *t = &f->task[i];

		if (l->named - t->order < l->names /* GUARD(latest_names, 0) */ ||
		    is_running(t->tid) /* GUARD(running_names, 0) */)
			f->task[n++] = *t;
		else
			free(t->comm);
	}
	f->ntask = n;
	l->next_drop = 2 * n;
}

static int name_task(struct uft_live *l, uint32_t pid, uint32_t tid, uint32_t ppid, const char *comm)
{
	struct rd_file *f = l->base->file;
	struct rd_task *t = NULL;
	size_t at;
	char *name = strdup(comm ? comm : "");

	if (!name)
		return -ENOMEM;
	pthread_mutex_lock(&l->lock);
	drop_names(l);
	at = find_name(f, pid, tid);
	if (has_name(f, at, pid, tid)) {
		t = &f->task[at];
		free(t->comm);
	} else if (!array_reserve(f->task, f->cap_task, f->ntask + 1)) {
		t = &f->task[at];
		memmove(t + 1, t, (f->ntask++ - at) * sizeof(*t));
	}
	if (t) {
		*t = (struct rd_task){ .pid = pid, .tid = tid, .ppid = ppid, .order = ++l->named, .comm = name };
		dec_task_rename(l->base, pid, tid, name);
	}
	pthread_mutex_unlock(&l->lock);
	if (!t)
		free(name);
	return t ? 0 : -ENOMEM;
}

int uft_live_task(struct uft_live *l, uint32_t pid, uint32_t tid, uint32_t ppid, const char *comm)
{
	int ret = 0;

	for (l = l->leader ? l->leader : l; l && !ret; l = l->next)
		ret = name_task(l, pid, tid, ppid, comm);
	return ret;
}

void uft_live_keep_names(struct uft_live *l, uint32_t n)
{
	for (l = l->leader ? l->leader : l; l; l = l->next) {
		pthread_mutex_lock(&l->lock);
		l->names = n > UFT_LIVE_NAMES ? n : UFT_LIVE_NAMES;
		pthread_mutex_unlock(&l->lock);
	}
}

/* Numbers of other pid namespaces are kept and freed as names are. */
static void drop_outers(struct uft_live *l)
{
	struct uft_stream *st = l->base;
	uint32_t n = 0;

	if (st->nouter < 2 * (size_t)l->names || st->nouter < l->next_drop_outer)
		return;
	for (uint32_t i = 0; i < st->ntask; i++)
		dec_outer_keep(st, st->task[i]); /* GUARD(decoded_outers) */
	for (uint32_t i = 0; i < st->nouter; i++)
		if (st->outer_given - st->outer[i].order < l->names ||
		    is_running(st->outer[i].outer) /* GUARD(running_outers, 0) */)
			st->outer[n++] = st->outer[i];
	st->nouter = n;
	l->next_drop_outer = 2 * (size_t)n;
}

int uft_live_outer(struct uft_live *l, uint32_t slice, uint32_t tid, uint32_t outer)
{
	int ret = 0;

	if (slice >= l->geo->nslices)
		return 0;
	for (l = l->leader ? l->leader : l; l && !ret; l = l->next) {
		pthread_mutex_lock(&l->lock);
		drop_outers(l);
		if (l->slice[slice].is_live)
			ret = dec_outer_add(l->base, l->slice[slice].number, tid, outer);
		pthread_mutex_unlock(&l->lock);
	}
	return ret;
}

/* Finds how long ago the @n-th latest name was given, counted in names. @n: at least 1. 0 or -ENOMEM. */
static int age_of_latest(const struct uft_live *l, size_t n, uint32_t *age)
{
	const struct rd_file *f = l->base->file;
	uint32_t *ages;

	*age = UINT32_MAX;
	if (n >= f->ntask)
		return 0;
	ages = malloc(f->ntask * sizeof(*ages));
	if (!ages)
		return -ENOMEM;
	for (size_t i = 0; i < f->ntask; i++)
		ages[i] = l->named - f->task[i].order;
	SORT_NUMBERS(ages, f->ntask);
	*age = ages[n - 1];
	free(ages);
	return 0;
}

int uft_live_tasks(struct uft_live *l, size_t most, void (*fn)(void *arg, uint32_t pid, uint32_t tid, const char *comm),
		   void *arg)
{
	const struct rd_file *f = l->base->file;
	uint32_t age;
	int ret;

	pthread_mutex_lock(&l->lock);
	ret = age_of_latest(l, most, &age);
	for (size_t i = 0; i < f->ntask && !ret; i++)
		if (l->named - f->task[i].order <= age)
			fn(arg, f->task[i].pid, f->task[i].tid, f->task[i].comm);
	pthread_mutex_unlock(&l->lock);
	return ret;
}
