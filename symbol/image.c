/* SPDX-License-Identifier: MIT */
/* image.c - see image.h; uft_object_make() is in object.c, the resolver in resolve.c */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/array.h"
#include "symbol/image.h"
#include "symbol/image_index.h"

struct uft_image *uft_image_alloc(uint32_t id, const char *exe)
{
	struct uft_image *img = calloc(1, sizeof(*img));

	if (!img)
		return NULL;
	img->id = id;
	img->exe = strdup(exe ? exe : "");
	if (!img->exe) {
		free(img);
		return NULL;
	}
	return img;
}

void uft_image_free(struct uft_image *img)
{
	uint32_t i;

	if (!img)
		return;
	image_index_free(img->index);
	for (i = 0; i < img->nobj; i++) {
		uft_object_put(img->obj[i].obj);
		uft_mapped_free_arrays(&img->obj[i]);
	}
	free(img->obj);
	free(img->exe);
	free(img);
}

void uft_mapped_free_arrays(struct uft_mapped *m)
{
	free(m->stub_addr);
	free(m->site_addr);
}

static uint64_t *copy_array(const uint64_t *from, uint32_t n)
{
	uint64_t *to = from ? malloc((n ? n : 1) * sizeof(*to)) : NULL;

	if (to)
		memcpy(to, from, n * sizeof(*to));
	return to;
}

int uft_mapped_copy(struct uft_mapped *to, const struct uft_mapped *from)
{
	*to = *from;
	to->stub_addr = copy_array(from->stub_addr, from->nstubs);
	to->site_addr = copy_array(from->site_addr, from->nstubs);
	return (from->stub_addr && !to->stub_addr) || (from->site_addr && !to->site_addr) ? -ENOMEM : 0;
}

struct uft_mapped *uft_image_add(struct uft_image *img, struct uft_object *obj, uint64_t bias)
{
	struct uft_mapped *m;
	size_t i;

	/* the array doubles at powers of two */
	if (!(img->nobj & (img->nobj - 1)) && array_resize(img->obj, img->nobj ? 2 * (size_t)img->nobj : 1))
		return NULL;
	m = &img->obj[img->nobj++];
	memset(m, 0, sizeof(*m));
	m->obj = uft_object_get(obj);
	m->bias = bias;
	for (i = 0; i < obj->ntext; i++) {
		if (!i || obj->text[i].addr + bias < m->text_start)
			m->text_start = obj->text[i].addr + bias;
		if (!i || obj->text[i].end + bias > m->text_end)
			m->text_end = obj->text[i].end + bias;
	}
	return m;
}

/* Returns the address of @vaddr of @obj in @m, if that is mapped there and has it; else 0. */
static uint64_t place_in(const struct uft_mapped *m, const struct uft_object *obj, uint64_t vaddr)
{
	uint64_t addr = vaddr + m->bias;

	return !m->to_clock && addr >= m->text_start && addr < m->text_end && obj && uft_object_is_same(m->obj, obj) ?
	       addr : 0;
}

/* The last mapping holds: the object may have been mapped elsewhere before. */
uint64_t uft_image_sym_addr(const struct uft_image *img, const struct uft_sym *sym)
{
	const struct image_index *index = img ? image_index_of(img) : NULL;
	uint64_t addr = 0;

	if (index && sym->of) {
		uint32_t i = image_index_copies(index, sym->of), end = i + IMAGE_COPIES_MAX;

		for (; !addr && i < end && i < index->ncopies && index->copy[i].hash == uft_object_hash(sym->of); i++)
			addr = place_in(&img->obj[index->copy[i].object], sym->of, sym->vaddr);
		return addr ? addr : sym->addr;
	}
	for (uint32_t i = img && !index ? img->nobj : 0; i-- && !addr;)
		addr = place_in(&img->obj[i], sym->of, sym->vaddr);
	return addr ? addr : sym->addr;
}

static const struct uft_func *func_in(const struct uft_mapped *m, uint64_t addr)
{
	return addr >= m->text_start && addr < m->text_end ? uft_object_func(m->obj, addr - m->bias) : NULL;
}

/* As names are found (resolve.c): in the object mapped there, else in the last code that the process made. */
uint64_t uft_image_offset(const struct uft_image *img, uint64_t addr)
{
	const struct image_index *index = img ? image_index_of(img) : NULL;
	uint32_t at = img ? uft_image_at(img, addr, UINT64_MAX) : UINT32_MAX, n = index ? index->nmade : img ?
		img->nobj : 0;
	const struct uft_mapped *m = at != UINT32_MAX ? &img->obj[at] : NULL;
	const struct uft_func *func = m ? func_in(m, addr) : NULL;

	for (uint32_t left = IMAGE_MADE_MAX; !func && n && left; n--) {
		m = &img->obj[index ? index->made[n - 1] : n - 1];
		if (m->obj->type)
			continue;
		func = func_in(m, addr);
		left--;
	}
	return func ? addr - m->bias - func->addr : 0;
}

/* With overlaps each address is looked up by its time among all objects, so there is a bound. */
#define OVERLAPS_MAX	4096u

int uft_image_overlaps(const struct uft_image *img)
{
	const struct image_index *index = img ? image_index_of(img) : NULL;

	if (index)
		return index->past != NULL;
	for (uint32_t i = 0; img && img->nobj <= OVERLAPS_MAX && i < img->nobj; i++)
		for (uint32_t k = 0; k < i; k++) {
			const struct uft_mapped *a = &img->obj[i], *b = &img->obj[k];

			if (a->obj->type && b->obj->type && a->text_start < b->text_end && b->text_start < a->text_end)
				return 1;
		}
	return 0;
}

/*
 * Is @m a better answer than @than? An object that was mapped again counts as mapped since its first time; the later
 * arrival holds.
 */
static int is_better(const struct uft_mapped *m, const struct uft_mapped *than, uint64_t clock)
{
	int was_there = m->from_clock <= clock && (!m->to_clock || clock <= m->to_clock);
	int was_other = than->from_clock <= clock && (!than->to_clock || clock <= than->to_clock);

	if (was_there != was_other)
		return was_there;
	return was_there ? m->from_clock >= than->from_clock : !m->to_clock || than->to_clock;
}

uint32_t uft_image_at(const struct uft_image *img, uint64_t addr, uint64_t clock)
{
	const struct image_index *index = image_index_of(img);
	uint32_t best = UINT32_MAX;

	if (index)
		return image_index_find(index, addr, clock);
	for (uint32_t i = 0; i < img->nobj; i++) {
		const struct uft_mapped *m = &img->obj[i];

		if (m->obj->type && addr >= m->text_start && addr < m->text_end &&
		    (best == UINT32_MAX || is_better(m, &img->obj[best], clock)))
			best = i;
	}
	return best;
}
