/* SPDX-License-Identifier: MIT */
/* image_index.c - see image_index.h */
#include "symbol/image_index.h"

#include <errno.h>
#include <stdlib.h>

#include "symbol/sorted.h"

#define CLOCK_MAX	(UINT64_MAX - 1)	/* segments end before UINT64_MAX */

/* ---- Times ----------------------------------------------------------------------------------- */

/* Objects that had the addresses of one part of index->texts. */
struct part { uint32_t n, first; };
struct member { uint64_t from_clock; uint32_t object; };

/* The later one holds. */
static int by_arrival(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return x->from_clock != y->from_clock ? (x->from_clock < y->from_clock) - (x->from_clock > y->from_clock) :
						(x->object < y->object) - (x->object > y->object);
}

static int has_code(const struct uft_mapped *m)
{
	return m->obj->type && m->text_start < m->text_end;
}

/* Finds the parts that @m has: [*k, *end). */
static void parts_of(const struct segments *texts, const struct uft_mapped *m, size_t *k, size_t *end)
{
	*k = SORTED_FIRST(p, texts->n, texts->from[p] >= m->text_start);
	*end = SORTED_FIRST(p, texts->n, texts->from[p] >= m->text_end);
}

/* Counts the objects of each part. Returns the sum over parts with several; more than *room: there is no room. */
static uint64_t count_parts(const struct uft_image *img, const struct segments *texts, struct part *part)
{
	uint64_t sum = 0;
	size_t k, end;

	/* n is the difference to the part before, until all are known. */
	for (uint32_t i = 0; i < img->nobj; i++)
		if (has_code(&img->obj[i])) {
			parts_of(texts, &img->obj[i], &k, &end);
			part[k].n++;
			part[end].n--;
		}
	for (size_t p = 1; p < texts->n; p++)
		part[p].n += part[p - 1].n;
	for (size_t p = 0; p < texts->n; p++)
		sum += part[p].n > 1 ? part[p].n : 0;
	return sum;
}

static void fill_parts(const struct uft_image *img, const struct segments *texts, struct part *part,
		       struct member *member)
{
	uint32_t at = 0;
	size_t k, end;

	for (size_t p = 0; p < texts->n; p++) {
		part[p].first = at;
		at += part[p].n > 1 ? part[p].n : 0;
		part[p].n = part[p].n > 1 ? 0 : UINT32_MAX;	/* filled below; or has one object at most */
	}
	for (uint32_t i = 0; i < img->nobj; i++)
		if (has_code(&img->obj[i]))
			for (parts_of(texts, &img->obj[i], &k, &end); k < end; k++)
				if (part[k].n != UINT32_MAX)
					member[part[k].first + part[k].n++] = (struct member){ img->obj[i].from_clock,
						i };
}

static int make_past(const struct uft_image *img, struct segments *past, struct member *member, uint32_t n,
		     struct segment_range *range)
{
	qsort(member, n, sizeof(*member), by_arrival);
	for (uint32_t i = 0; i < n; i++) {
		const struct uft_mapped *m = &img->obj[member[i].object];
		uint64_t end = m->to_clock && m->to_clock < CLOCK_MAX ? m->to_clock + 1 : UINT64_MAX;

		range[i] = (struct segment_range){ m->from_clock, end, member[i].object };
	}
	return segments_make(past, range, n);
}

/* @room is at least the result of count_parts(). */
static int make_times(const struct uft_image *img, struct image_index *index, struct part *part, uint64_t sum)
{
	struct member *member = malloc((sum + 1) * sizeof(*member));
	struct segment_range *range = malloc((img->nobj + 1ull) * sizeof(*range));
	int ret = 0;

	index->past = calloc(index->texts.n + 1, sizeof(*index->past));
	if (!member || !range || !index->past)
		ret = -ENOMEM;
	if (!ret)
		fill_parts(img, &index->texts, part, member);
	for (size_t p = 0; p < index->texts.n && !ret; p++)
		if (part[p].n != UINT32_MAX)
			ret = make_past(img, &index->past[p], member + part[p].first, part[p].n, range);
	free(member);
	free(range);
	return ret;
}

static int index_times(const struct uft_image *img, struct image_index *index, uint64_t *room)
{
	struct part *part = calloc(index->texts.n + 1, sizeof(*part));
	uint64_t sum;
	int ret = 0;

	if (!part)
		return -ENOMEM;
	sum = count_parts(img, &index->texts, part);
	if (sum && sum <= *room) {
		*room -= sum;
		ret = make_times(img, index, part, sum);
	}
	free(part);
	return ret;
}

/* ---- Addresses and objects ------------------------------------------------------------------- */

size_t image_text_ranges(const struct uft_image *img, struct segment_range *to)
{
	size_t n = 0;

	for (int was_unmapped = 0; was_unmapped < 2; was_unmapped++)
		for (uint32_t i = img->nobj; i-- > 0;) {
			const struct uft_mapped *m = &img->obj[i];

			if (m->obj->type && !m->to_clock == !was_unmapped)
				to[n++] = (struct segment_range){ m->text_start, m->text_end, i };
		}
	return n;
}

static int index_texts(const struct uft_image *img, struct image_index *index)
{
	struct segment_range *range = malloc((img->nobj + 1ull) * sizeof(*range));
	int ret = range ? segments_make(&index->texts, range, image_text_ranges(img, range)) : -ENOMEM;

	free(range);
	return ret;
}

static int by_hash(const void *a, const void *b)
{
	const struct image_copy *x = a, *y = b;

	return x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash) :
				    (x->object < y->object) - (x->object > y->object);
}

static int index_objects(const struct uft_image *img, struct image_index *index)
{
	index->copy = malloc((img->nobj + 1ull) * sizeof(*index->copy));
	index->made = malloc((img->nobj + 1ull) * sizeof(*index->made));
	if (!index->copy || !index->made)
		return -ENOMEM;
	for (uint32_t i = 0; i < img->nobj; i++) {
		const struct uft_mapped *m = &img->obj[i];

		if (!m->to_clock)
			index->copy[index->ncopies++] = (struct image_copy){ uft_object_hash(m->obj), i };
		if (!m->obj->type)
			index->made[index->nmade++] = i;
	}
	qsort(index->copy, index->ncopies, sizeof(*index->copy), by_hash);
	return 0;
}

int uft_image_index(struct uft_image *img, uint64_t *room)
{
	struct image_index *index;
	int ret;

	if (img->nobj < IMAGE_INDEX_FROM)
		return 0;
	index = calloc(1, sizeof(*index));
	if (!index)
		return -ENOMEM;
	index->nobj = img->nobj;
	ret = index_texts(img, index);
	ret = ret ? ret : index_objects(img, index);
	ret = ret ? ret : index_times(img, index, room);
	image_index_free(ret ? index : img->index);
	if (!ret)
		img->index = index;
	return ret;
}

void image_index_free(struct image_index *index)
{
	if (!index)
		return;
	for (size_t i = 0; index->past && i < index->texts.n; i++)
		segments_free(&index->past[i]);
	free(index->past);
	segments_free(&index->texts);
	free(index->copy);
	free(index->made);
	free(index);
}

/* ---- Questions ------------------------------------------------------------------------------- */

uint32_t image_index_find(const struct image_index *index, uint64_t addr, uint64_t clock)
{
	size_t k = SORTED_FIRST(p, index->texts.n, index->texts.from[p] > addr);
	uint32_t then = SEGMENT_NONE;

	if (!k)
		return UINT32_MAX;
	if (index->past)
		then = segments_find(&index->past[k - 1], clock < CLOCK_MAX ? clock : CLOCK_MAX);
	return then != SEGMENT_NONE ? then : index->texts.owner[k - 1];
}

uint32_t image_index_copies(const struct image_index *index, const struct uft_object *obj)
{
	const uint64_t hash = uft_object_hash(obj);

	return (uint32_t)SORTED_FIRST(i, index->ncopies, index->copy[i].hash >= hash);
}
