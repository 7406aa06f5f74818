/* SPDX-License-Identifier: MIT */
/*
 * image_index.h - the table behind questions about an image with many objects (image.c)
 *
 * Segments of addresses, each with the one object that counts there; where several had the addresses one after the
 * other, segments of time besides. Which ones are the same object is told by a hash.
 */
#ifndef UFT_SYMBOL_IMAGE_INDEX_H
#define UFT_SYMBOL_IMAGE_INDEX_H

#include "symbol/image.h"
#include "symbol/segments.h"

/* With fewer objects to look at each is as fast. */
#define IMAGE_INDEX_FROM	64u
/* Of the mapped copies of one object, and of the lists of made code, the last ones are asked. */
#define IMAGE_COPIES_MAX	64u
#define IMAGE_MADE_MAX		64u

struct image_index {
	uint32_t nobj;			/* of the image, when it was made */
	struct segments texts;		/* of those still mapped, else of the others, the last one */
	struct segments *past;		/* of each part of texts by clock; n is 0: one object. NULL: of all parts */
	struct image_copy { uint64_t hash; uint32_t object; } *copy;	/* mapped ones; by hash, the last one first */
	uint32_t ncopies;
	uint32_t *made, nmade;		/* objects that are code which the process made */
};

static inline const struct image_index *image_index_of(const struct uft_image *img)
{
	return img->index && img->index->nobj == img->nobj ? img->index : NULL;
}

uint32_t image_index_find(const struct image_index *index, uint64_t addr, uint64_t clock);
/* The first of index->copy that may be @obj. */
uint32_t image_index_copies(const struct image_index *index, const struct uft_object *obj);
void image_index_free(struct image_index *index);

#endif
