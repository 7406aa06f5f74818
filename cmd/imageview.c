/* SPDX-License-Identifier: MIT */
/* imageview.c - see imageview.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/imageview.h"

static void free_list(struct uft_mapped *obj, uint32_t nobj)
{
	for (uint32_t i = 0; obj && i < nobj; i++)
		uft_mapped_free_arrays(&obj[i]);
	free(obj);
}

/* Copies a list without references: they are taken once it is certain that the list is used. */
static struct uft_mapped *copy_list(const struct uft_mapped *from, uint32_t n)
{
	struct uft_mapped *to = calloc(n ? n : 1, sizeof(*to));

	for (uint32_t i = 0; to && i < n; i++) {
		if (uft_mapped_copy(&to[i], &from[i])) {
			free_list(to, i + 1);
			return NULL;
		}
	}
	return to;
}

/* Remembers what the list was copied from and holds the objects that are new in it: images only grow. */
static int note_seen(struct imageview *view)
{
	size_t bytes = view->live->nobj * sizeof(*view->seen);
	struct uft_mapped *seen = malloc(bytes ? bytes : 1);

	if (!seen)
		return -ENOMEM;
	if (bytes)
		memcpy(seen, view->live->obj, bytes);
	for (uint32_t i = view->nseen; i < view->live->nobj; i++)
		uft_object_get(seen[i].obj);
	free(view->seen);
	view->seen = seen;
	view->nseen = view->live->nobj;
	return 0;
}

static void free_view(struct imageview *view)
{
	for (uint32_t i = 0; i < view->nseen; i++)
		uft_object_put(view->seen[i].obj);
	free_list(view->copy.obj, view->copy.nobj);
	free(view->copy.exe);
	free(view->seen);
	free(view);
}

struct imageview *imageview_get(struct imageviews *views, const struct uft_image *live)
{
	struct imageview **bucket = &views->bucket[live->id % IMAGEVIEW_BUCKETS], *view;

	for (view = *bucket; view; view = view->next)
		if (view->copy.id == live->id)
			return view;
	view = calloc(1, sizeof(*view));
	if (!view)
		return NULL;
	view->live = live;
	view->copy.id = live->id;
	view->copy.exe = live->exe ? strdup(live->exe) : NULL;
	view->copy.obj = copy_list(live->obj, live->nobj);
	view->copy.nobj = live->nobj;
	if ((live->exe && !view->copy.exe) || !view->copy.obj || note_seen(view) < 0) {
		free_view(view);
		return NULL;
	}
	view->next = *bucket;
	*bucket = view;
	return view;
}

void imageview_begin_slice(struct imageviews *views, struct imageview *view)
{
	if (view->nslices++)
		return;
	view->next_live = views->live;
	views->live = view;
}

void imageview_end_slice(struct imageviews *views, struct imageview *view)
{
	struct imageview **at = &views->live;

	if (--view->nslices)
		return;
	while (*at != view)
		at = &(*at)->next_live;
	*at = view->next_live;
}

int imageview_compare(struct imageview *view, struct imageview_update *update)
{
	const struct uft_image *live = view->live;

	if (live->nobj == view->nseen &&
	    (!live->nobj || memcmp(live->obj, view->seen, live->nobj * sizeof(*view->seen)) == 0))
		return 0;
	update->view = view;
	update->obj = copy_list(live->obj, live->nobj);
	update->nobj = live->nobj;
	if (!update->obj || note_seen(view) < 0) {
		free_list(update->obj, update->nobj);
		return -ENOMEM;
	}
	return 1;
}

void imageview_install(const struct imageview_update *update)
{
	struct uft_image *copy = &update->view->copy;

	free_list(copy->obj, copy->nobj);
	copy->obj = update->obj;
	copy->nobj = update->nobj;
}

void imageview_free(struct imageviews *views)
{
	for (unsigned i = 0; i < IMAGEVIEW_BUCKETS; i++)
		for (struct imageview *view = views->bucket[i], *next; view; view = next) {
			next = view->next;
			free_view(view);
		}
	*views = (struct imageviews){ .live = NULL };
}
