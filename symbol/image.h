/* SPDX-License-Identifier: MIT */
/*
 * image.h - the address space of a target: which object is where, and what its ids mean
 *
 * An image is made at exec; fork children share their parent's. control fills images while it runs,
 * stream writes them to files and reads them back, output resolves ids and addresses with them. All
 * three meet here, below control and stream, so that those two need not know each other.
 *
 * An object that came from a file on another machine has only what the recording carried: obj is then a
 * struct uft_object made by uft_object_make() without an ELF behind it.
 */
#ifndef UFT_SYMBOL_IMAGE_H
#define UFT_SYMBOL_IMAGE_H

#include "symbol/object.h"

struct uft_mapped {
	struct uft_object *obj;
	uint64_t bias;			/* runtime address = vaddr + bias */
	uint64_t text_start, text_end;	/* runtime, whole executable extent */
	uint32_t first_text_id, ntext_ids;
	uint32_t first_stub_id, nstubs;
	uint64_t *stub_addr;		/* nstubs: runtime address of the function a stub stands for */
	uint64_t *site_addr;		/* nstubs: runtime address just after the site's instruction */
	uint64_t from_clock, to_clock;	/* mapped during; 0 = since the start / still */
};

struct uft_image {
	uint32_t id;			/* unique in the session */
	uint32_t nobj;
	struct uft_mapped *obj;		/* in the order they appeared */
	char *exe;			/* path of the program */
	struct image_index *index;	/* NULL: each question looks at all objects (uft_image_index()) */
};

struct uft_image *uft_image_alloc(uint32_t id, const char *exe);
void uft_image_free(struct uft_image *img);
/* Appends; takes a reference on @obj. The returned pointer is valid until the next add. */
struct uft_mapped *uft_image_add(struct uft_image *img, struct uft_object *obj, uint64_t bias);
/* @to becomes @from with arrays of its own, and no reference of its own. -ENOMEM: an array of @from is NULL in @to. */
int uft_mapped_copy(struct uft_mapped *to, const struct uft_mapped *from);
void uft_mapped_free_arrays(struct uft_mapped *m);

/*
 * Makes a table, for an image that does not grow any more: the questions below take log n steps then. A recording can
 * have 60,000 objects in an image, and an address of each in each event. *room: how many pairs of an object and a part
 * of another one's addresses it may still have, less what this one has; with more, times do not count. 0 or -ENOMEM.
 */
int uft_image_index(struct uft_image *img, uint64_t *room);
/* How far runtime address @addr is into its function; 0 if it is in none. */
uint64_t uft_image_offset(const struct uft_image *img, uint64_t addr);
/* Are there objects that had the same addresses, one after the other? Not said of more than 4,096 without a table. */
int uft_image_overlaps(const struct uft_image *img);
/*
 * The index of the one that had @addr at @clock; by the clock only if several had it. UINT32_MAX: none. Code
 * that the process made does not count.
 */
uint32_t uft_image_at(const struct uft_image *img, uint64_t addr, uint64_t clock);

struct uft_sym;
/*
 * Where @sym is in this image; its own address, which is that of the first image in which it was met, if the
 * image does not tell.
 */
uint64_t uft_image_sym_addr(const struct uft_image *img, const struct uft_sym *sym);

/* Builds an object without a file, for readers of recordings; names are copied. */
struct uft_object *uft_object_make(const char *path, const uint8_t *build_id, uint32_t build_id_len);
int uft_object_make_func(struct uft_object *obj, uint64_t addr, uint64_t size, const char *name, uint32_t flags);
/*
 * They may be made in any order, and who hands the object on puts them in theirs: of two at one address the
 * first counts.
 */
void uft_object_sort(struct uft_object *obj);

/* A function as shown to people: its name made short, with an object when the name alone is not unique. Resolved
 * once, then by table. `index` is dense over the resolver's life: use it for arrays. */
struct uft_sym {
	uint32_t index;
	const char *name;		/* text to show: uft_name_shown(); object+0xoffset without a name */
	const char *raw;		/* as in the object, if that differs; else NULL */
	const char *object;		/* base name of the object, "" unknown */
	/* the object; of each image uft_object_is_same() tells which of its it is. NULL unknown */
	const struct uft_object *of;
	uint64_t addr, size;		/* runtime */
	uint64_t vaddr;			/* the same in its object: uft_image_sym_addr() */
};

struct uft_resolver;
struct uft_resolver *uft_resolver_alloc(void);
void uft_resolver_free(struct uft_resolver *r);
/* Ids of records (text or stub) and plain addresses (parents). Never NULL: an unknown id or address gets
 * a symbol named by its number. Amortised O(1). */
const struct uft_sym *uft_resolve_id(struct uft_resolver *r, const struct uft_image *img, uint32_t id);
/*
 * Of an id: its function's address in this image. (A symbol's is that of the first image in which it was
 * met.) 0: unknown.
 */
uint64_t uft_resolve_id_addr(struct uft_resolver *r, const struct uft_image *img, uint32_t id);
const struct uft_sym *uft_resolve_addr(struct uft_resolver *r, const struct uft_image *img, uint64_t addr);
/* The same as it was at @clock, where several objects had the address one after the other (uft_image_overlaps()). */
const struct uft_sym *uft_resolve_addr_at(struct uft_resolver *r, const struct uft_image *img, uint64_t addr,
					  uint64_t clock);

/* Is there an object that has the id, or code at the address? */
int uft_resolver_has_id(struct uft_resolver *r, const struct uft_image *img, uint32_t id);
int uft_resolver_has_addr(struct uft_resolver *r, const struct uft_image *img, uint64_t addr);

/*
 * Of each symbol of @other, by index, in the order in which that one met them, what @r calls it, as if @r met them now.
 * Both are of one recording. *out is the caller's to free; returns how many; 0: no memory.
 */
size_t uft_resolve_others(struct uft_resolver *r, const struct uft_resolver *other, const struct uft_sym ***out);

/* Of the object number @i, of those met: how many functions of ids so far have no name. *obj: NULL, no such one. */
uint32_t uft_resolver_nameless(const struct uft_resolver *r, size_t i, struct uft_object **obj);

#endif
