/* SPDX-License-Identifier: MIT */
/* datsyms.c - see datsyms.h */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/datsyms.h"
#include "symbol/array.h"
#include "symbol/hash_index.h"
#include "symbol/keyed_hash.h"
#include "symbol/sorted.h"

#define SLOT_SHIFT	48
#define SLOT_MAX	0x7fffu
#define SLOTS_TRIED	8u	/* of the latest ones, for an image */
#define BYTES_TRIED	64u	/* behind an address that another name has */
#define NAMELESS	0xffff000000000000ull	/* functions without a usable address, 16 bytes each */
#define KERNEL		0xffff800000000000ull	/* the kernel's own; theirs end below it */

void dat_syms_init(struct dat_syms *syms)
{
	memset(syms, 0, sizeof(*syms));
}

void dat_syms_free(struct dat_syms *syms)
{
	free(syms->addr);
	free(syms->entry);
	hash_index_free(&syms->by_addr);
	tdestroy(syms->images, free);
	tdestroy(syms->ranges, free);
	dat_syms_init(syms);
}

/* ---- Images: see datsyms.h ---- */

/* A range of a slot. Ranges in the tree do not overlap, so ranges that overlap compare as equal. */
struct dat_range {
	uint32_t slot;
	uint64_t start, end;
	const struct uft_object *obj;	/* NULL: what several objects cover */
};

struct dat_image {
	const struct uft_image *img;
	uint32_t slot;
};

static int compare_ranges(const void *a, const void *b)
{
	const struct dat_range *x = a, *y = b;

	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	return x->end <= y->start ? -1 : y->end <= x->start;
}

static int compare_images(const void *a, const void *b)
{
	const struct dat_image *x = a, *y = b;

	return ((uintptr_t)x->img > (uintptr_t)y->img) - ((uintptr_t)x->img < (uintptr_t)y->img);
}

/* The same object at the same place is not a conflict: it has the same names. */
static int is_same(const struct dat_range *a, const struct dat_range *b)
{
	return a->obj && a->obj == b->obj && a->start == b->start && a->end == b->end;
}

/* One of the ranges that @r overlaps; NULL: there is none. */
static struct dat_range *overlapped(const struct dat_syms *syms, const struct dat_range *r)
{
	void *node = r->start < r->end ? tfind(r, &syms->ranges, compare_ranges) : NULL;

	return node ? *(struct dat_range **)node : NULL;
}

static struct dat_range range_of(const struct uft_mapped *m, uint32_t slot)
{
	return (struct dat_range){ slot, m->text_start, m->text_end, m->obj };
}

static int fits(const struct dat_syms *syms, const struct uft_image *img, uint32_t slot)
{
	for (uint32_t o = 0; o < img->nobj; o++) {
		const struct dat_range r = range_of(&img->obj[o], slot), *other = overlapped(syms, &r);

		if (other && !is_same(other, &r))
			return 0;
	}
	return 1;
}

static int add_range(struct dat_syms *syms, struct dat_range r)
{
	struct dat_range *other, *mine;

	if (r.start >= r.end)
		return 0;
	while ((other = overlapped(syms, &r))) {
		if (is_same(other, &r))
			return 0;
		r.start = other->start < r.start ? other->start : r.start;
		r.end = other->end > r.end ? other->end : r.end;
		r.obj = NULL;
		tdelete(other, &syms->ranges, compare_ranges);
		free(other);
	}
	mine = malloc(sizeof(*mine));
	if (!mine)
		return -1;
	*mine = r;
	if (tsearch(mine, &syms->ranges, compare_ranges))
		return 0;
	free(mine);
	return -1;
}

/*
 * Chooses the first slot, one of the latest, or a new one. Besides the first only the latest SLOTS_TRIED are tried,
 * also with a million programs at one address.
 */
static uint32_t choose_slot(struct dat_syms *syms, const struct uft_image *img)
{
	const uint32_t end = syms->first_slot + syms->nslots;
	uint32_t slot = syms->nslots > SLOTS_TRIED ? end - SLOTS_TRIED : syms->first_slot;

	if (fits(syms, img, syms->first_slot))
		slot = syms->first_slot;
	while (slot < end && !fits(syms, img, slot))
		slot++;
	slot = slot < SLOT_MAX ? slot : SLOT_MAX;
	if (slot >= end)
		syms->nslots = slot - syms->first_slot + 1;
	return slot;
}

static struct dat_image *place_image(struct dat_syms *syms, const struct uft_image *img)
{
	struct dat_image *at = malloc(sizeof(*at));

	if (!at)
		return NULL;
	*at = (struct dat_image){ img, choose_slot(syms, img) };
	for (uint32_t o = 0; o < img->nobj; o++)
		if (add_range(syms, range_of(&img->obj[o], at->slot)) < 0) {
			free(at);
			return NULL;
		}
	if (tsearch(at, &syms->images, compare_images))
		return at;
	free(at);
	return NULL;
}

/* The slot of @img, chosen at its first use; -1: no memory. */
static int64_t image_slot(struct dat_syms *syms, const struct uft_image *img)
{
	const struct dat_image key = { img, 0 }, *at;
	void *node;

	if (!img)
		return syms->first_slot;
	node = tfind(&key, &syms->images, compare_images);
	at = node ? *(struct dat_image **)node : place_image(syms, img);
	return at ? (int64_t)at->slot : -1;
}

/* ---- Addresses ---- */

/* The symbol that contains @addr; NULL: none. */
static const struct uft_sym *owner(const struct dat_syms *syms, uint64_t addr)
{
	uint32_t at = HASH_FIND(i, &syms->by_addr, hash_words(addr, 0), syms->entry[i].addr == addr);

	return at != HASH_NONE ? syms->entry[at].sym : NULL;
}

uint64_t dat_syms_add(struct dat_syms *syms, const struct uft_image *img, const struct uft_sym *sym)
{
	int64_t slot = image_slot(syms, img);
	const struct uft_sym *other;
	uint64_t addr, nameless = NAMELESS + ((uint64_t)syms->first_slot << 32) + ((uint64_t)sym->index << 4);

	if (slot < 0 || array_reach(syms->addr, syms->naddr, sym->index) ||
	    array_reserve(syms->entry, syms->cap, syms->nentry + 1) ||
	    hash_index_reserve(&syms->by_addr, syms->nentry + 1))
		return 0;
	addr = sym->addr + ((uint64_t)slot << SLOT_SHIFT);
	if (!sym->addr || addr < sym->addr || (addr >= NAMELESS && (slot || addr < KERNEL)))
		addr = nameless;
	/*
	 * Two names of an image may share an address over time (dlclose, dlopen): the next byte serves as well. A
	 * hostile recording may have many such names; then the search ends, and the function has no address.
	 */
	for (uint32_t i = 0; (other = owner(syms, addr)) && strcmp(other->name, sym->name); i++)
		addr = i == BYTES_TRIED ? nameless : addr + 1;
	if (!other) {
		syms->entry[syms->nentry] = (struct dat_entry){ addr, sym };
		hash_index_add(&syms->by_addr, hash_words(addr, 0), syms->nentry++);
	}
	return syms->addr[sym->index] = addr;
}

/* ---- kallsyms ---- */

/* The readers end a name at the first blank: `f(int, char const*)` becomes `f(int,char_const*)`. */
static char *put_name(char *p, const char *name)
{
	for (; *name; name++) {
		if ((unsigned char)*name > ' ' && *name != 0x7f)
			*p++ = *name;
		else if (p[-1] != ',')
			*p++ = '_';
	}
	return p;
}

char *dat_syms_text(struct dat_syms *syms, size_t *len)
{
	size_t room = 1;
	char *text, *p;

	for (size_t i = 0; i < syms->nentry; i++)
		room += 32 + strlen(syms->entry[i].sym->name) + strlen(syms->entry[i].sym->object);
	text = malloc(room);
	if (!text)
		return NULL;
	p = text;
	SORT_BY(syms->entry, syms->nentry, addr);
	hash_index_clear(&syms->by_addr);
	for (uint32_t i = 0; i < syms->nentry; i++) {
		const struct uft_sym *sym = syms->entry[i].sym;

		hash_index_add(&syms->by_addr, hash_words(syms->entry[i].addr, 0), i);
		p += sprintf(p, "%016llx T ", (unsigned long long)syms->entry[i].addr);
		p = put_name(p, *sym->name ? sym->name : "?");
		if (*sym->object) {
			*p++ = '\t';
			*p++ = '[';
			p = put_name(p, sym->object);
			*p++ = ']';
		}
		*p++ = '\n';
	}
	*len = (size_t)(p - text);
	return text;
}
