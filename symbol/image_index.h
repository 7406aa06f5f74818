/* SPDX-License-Identifier: MIT */
/*
 * image_index.h - the table for lookups in an image with many objects (image.c)
 *
 * Segments of addresses, each with the one object that holds there; where several objects had the addresses one after
 * the other, also segments of time. A hash finds the mapped copies of one object.
 */
#ifndef UFT_SYMBOL_IMAGE_INDEX_H
#define UFT_SYMBOL_IMAGE_INDEX_H

#include "symbol/image.h"
#include "symbol/segments.h"

/* With fewer objects a plain search is as fast. */
#define IMAGE_INDEX_FROM	64u
/* Only the last ones of the mapped copies of an object, and of the lists of made code, are searched. */
#define IMAGE_COPIES_MAX	64u
#define IMAGE_MADE_MAX		64u

struct image_index {
	uint32_t nobj;			/* of the image, when the table was made */
	struct segments texts;		/* the last object of those still mapped, else of the others */
	struct segments *past;		/* by clock, for each part of texts; n 0: one object. Or NULL */
	struct image_copy { uint64_t hash; uint32_t object; } *copy;	/* mapped; by hash, the last first */
	uint32_t ncopies;
	uint32_t *made, nmade;		/* objects that hold code made by the process */
};

static inline const struct image_index *image_index_of(const struct uft_image *img)
{
	return img->index && img->index->nobj == img->nobj ? img->index : NULL;
}

/*
 * The texts of the objects, into @to, which has room for all: those still mapped first. An address may have had several
 * owners: the one still mapped holds, else the last one. Returns how many.
 */
size_t image_text_ranges(const struct uft_image *img, struct segment_range *to);
uint32_t image_index_find(const struct image_index *index, uint64_t addr, uint64_t clock);
/* Returns the index of the first of index->copy that may be @obj. */
uint32_t image_index_copies(const struct image_index *index, const struct uft_object *obj);
void image_index_free(struct image_index *index);

#endif
