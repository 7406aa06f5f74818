/* SPDX-License-Identifier: MIT */
/* datsyms.c - see datsyms.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/datsyms.h"
#include "symbol/keyed_hash.h"

#define SLOT_SHIFT	48
#define SLOT_MAX	0x7fffu
#define NAMELESS	0xffff000000000000ull	/* functions without a usable address, 16 bytes each */

void dat_syms_init(struct dat_syms *syms)
{
	memset(syms, 0, sizeof(*syms));
}

void dat_syms_free(struct dat_syms *syms)
{
	free(syms->addr);
	free(syms->entry);
	free(syms->hash);
	free(syms->image);
	free(syms->slot);
	free(syms->range);
	dat_syms_init(syms);
}

/* ---- Images ---- */

/* The same object at the same place is not a conflict: it has the same names. */
static int overlaps(const struct dat_range *r, const struct uft_mapped *m)
{
	return m->text_start < r->end && r->start < m->text_end &&
	       !(r->obj == m->obj && r->start == m->text_start && r->end == m->text_end);
}

static int fits(const struct dat_syms *syms, const struct uft_image *img, uint32_t slot)
{
	for (size_t i = 0; i < syms->nrange; i++)
		for (uint32_t o = 0; o < img->nobj && syms->range[i].slot == slot; o++)
			if (overlaps(&syms->range[i], &img->obj[o]))
				return 0;
	return 1;
}

static int add_ranges(struct dat_syms *syms, const struct uft_image *img, uint32_t slot)
{
	struct dat_range *list = realloc(syms->range, (syms->nrange + img->nobj + 1) * sizeof(*list));

	if (!list)
		return -1;
	syms->range = list;
	for (uint32_t o = 0; o < img->nobj; o++)
		list[syms->nrange++] = (struct dat_range){ img->obj[o].text_start, img->obj[o].text_end,
							   img->obj[o].obj, slot };
	return 0;
}

/* The slot of @img, found when it is first seen; -1 without memory. */
static int64_t image_slot(struct dat_syms *syms, const struct uft_image *img)
{
	const struct uft_image **images;
	uint32_t *slots, slot = syms->first_slot;

	if (!img)
		return slot;
	for (size_t i = 0; i < syms->nimage; i++)
		if (syms->image[i] == img)
			return syms->slot[i];
	images = realloc(syms->image, (syms->nimage + 1) * sizeof(*images));
	if (images)
		syms->image = images;
	slots = realloc(syms->slot, (syms->nimage + 1) * sizeof(*slots));
	if (slots)
		syms->slot = slots;
	while (slot < SLOT_MAX && !fits(syms, img, slot))
		slot++;
	if (!images || !slots || add_ranges(syms, img, slot) < 0)
		return -1;
	images[syms->nimage] = img;
	slots[syms->nimage++] = slot;
	return slot;
}

/* ---- Addresses ---- */

static size_t hash_of(const struct dat_syms *syms, uint64_t addr)
{
	return (size_t)hash_words(addr, 0) & (syms->nhash - 1);
}

static void hash_insert(struct dat_syms *syms, uint32_t entry)
{
	size_t i = hash_of(syms, syms->entry[entry].addr);

	while (syms->hash[i])
		i = (i + 1) & (syms->nhash - 1);
	syms->hash[i] = entry + 1;
}

static int grow(struct dat_syms *syms)
{
	size_t cap = syms->cap ? syms->cap * 2 : 512;
	struct dat_entry *entry = realloc(syms->entry, cap * sizeof(*entry));
	uint32_t *hash = calloc(cap * 2, sizeof(*hash));

	if (entry)
		syms->entry = entry;
	if (!entry || !hash) {
		free(hash);
		return -1;
	}
	free(syms->hash);
	syms->hash = hash;
	syms->nhash = cap * 2;
	syms->cap = cap;
	for (size_t i = 0; i < syms->nentry; i++)
		hash_insert(syms, (uint32_t)i);
	return 0;
}

/* The symbol that contains @addr; NULL: none. */
static const struct uft_sym *owner(const struct dat_syms *syms, uint64_t addr)
{
	for (size_t i = hash_of(syms, addr); syms->hash[i]; i = (i + 1) & (syms->nhash - 1))
		if (syms->entry[syms->hash[i] - 1].addr == addr)
			return syms->entry[syms->hash[i] - 1].sym;
	return NULL;
}

static int reserve_index(struct dat_syms *syms, uint32_t index)
{
	size_t n = syms->naddr ? syms->naddr : 1024;
	uint64_t *addr;

	if (index < syms->naddr)
		return 0;
	while (n <= index)
		n *= 2;
	addr = realloc(syms->addr, n * sizeof(*addr));
	if (!addr)
		return -1;
	memset(addr + syms->naddr, 0, (n - syms->naddr) * sizeof(*addr));
	syms->addr = addr;
	syms->naddr = n;
	return 0;
}

uint64_t dat_syms_add(struct dat_syms *syms, const struct uft_image *img, const struct uft_sym *sym)
{
	int64_t slot = image_slot(syms, img);
	const struct uft_sym *other;
	uint64_t addr;

	if (slot < 0 || reserve_index(syms, sym->index) < 0 || (syms->nentry == syms->cap && grow(syms) < 0))
		return 0;
	addr = sym->addr ? sym->addr + ((uint64_t)slot << SLOT_SHIFT) : NAMELESS + ((uint64_t)syms->first_slot << 32) +
		((uint64_t)sym->index << 4);
	/* Within an image two names may share an address over time (dlclose, dlopen): the next byte is as good. */
	while ((other = owner(syms, addr)) && strcmp(other->name, sym->name))
		addr++;
	if (!other) {
		syms->entry[syms->nentry] = (struct dat_entry){ addr, sym };
		hash_insert(syms, (uint32_t)syms->nentry++);
	}
	return syms->addr[sym->index] = addr;
}

/* ---- kallsyms ---- */

static int by_addr(const void *a, const void *b)
{
	const struct dat_entry *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

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
	if (syms->nentry)
		qsort(syms->entry, syms->nentry, sizeof(*syms->entry), by_addr);
	if (syms->nhash)
		memset(syms->hash, 0, syms->nhash * sizeof(*syms->hash));
	for (size_t i = 0; i < syms->nentry; i++) {
		const struct uft_sym *sym = syms->entry[i].sym;

		hash_insert(syms, (uint32_t)i);
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
