/* SPDX-License-Identifier: MIT */
/*
 * imageview.h - the writer's own copies of the session's images
 *
 * The session's thread adds objects to an image whenever the target loads one, while the writer's thread reads images.
 * So the writer gets a copy, which only the writer's thread uses from then on. The session's thread compares, makes the
 * new object list, and sends it through the recorder's queue. Only views of images that a slice has are compared: a
 * build has thousands of images, and few processes at a time.
 *
 * Objects (struct uft_object) are immutable and shared; the view holds references, taken and dropped by the
 * session's thread. Context: control.
 */
#ifndef UFT_CMD_IMAGEVIEW_H
#define UFT_CMD_IMAGEVIEW_H

#include "symbol/image.h"

#define IMAGEVIEW_BUCKETS	256u

struct imageview {
	struct imageview *next;		/* in its bucket */
	struct imageview *next_live;	/* while nslices */
	uint32_t nslices;
	const struct uft_image *live;	/* the session's; read by its thread only */
	struct uft_image copy;		/* the writer's */
	struct uft_mapped *seen;	/* live->obj as it was copied last */
	uint32_t nseen;
};

/* All zero: there is none. */
struct imageviews {
	struct imageview *bucket[IMAGEVIEW_BUCKETS];	/* by id */
	struct imageview *live;		/* those that slices have */
};

/* An object list on its way to the writer, which calls imageview_install(). */
struct imageview_update {
	struct imageview *view;
	struct uft_mapped *obj;
	uint32_t nobj;
};

/* The view of @live in @views, made if need be with its objects of now. NULL: no memory. */
struct imageview *imageview_get(struct imageviews *views, const struct uft_image *live);
/* A slice that has the image begins, and ends. */
void imageview_begin_slice(struct imageviews *views, struct imageview *view);
void imageview_end_slice(struct imageviews *views, struct imageview *view);
/* 1: the live image changed and *update describes it; 0: it did not; -ENOMEM. */
int imageview_compare(struct imageview *view, struct imageview_update *update);
void imageview_install(const struct imageview_update *update);
void imageview_free(struct imageviews *views);

#endif
