/* SPDX-License-Identifier: MIT */
/*
 * image.h - the address space of a target: which object is where, and what its ids mean
 *
 * An image is made at exec; fork children share their parent's. control fills images while it runs, stream writes them
 * to files and reads them back, output resolves ids and addresses with them. All three meet here, below control and
 * stream, so that those two need not know each other.
 *
 * An object of a file on another machine has only what the recording holds: obj is then a struct uft_object made by
 * uft_object_make() without an ELF file behind it.
 */
#ifndef UFT_SYMBOL_IMAGE_H
#define UFT_SYMBOL_IMAGE_H

#include "symbol/object.h"

struct uft_mapped {
	struct uft_object *obj;
	uint64_t bias;			/* runtime address = vaddr + bias */
	uint64_t text_start, text_end;	/* runtime, the whole executable range */
	uint32_t first_text_id, ntext_ids;
	uint32_t first_stub_id, nstubs;
	uint64_t *stub_addr;		/* nstubs: runtime address of the function a stub stands for */
	uint64_t *site_addr;		/* nstubs: runtime address just after the site's instruction */
	uint64_t from_clock, to_clock;	/* mapped from, to; 0: since the start, still mapped */
};

struct uft_image {
	uint32_t id;			/* unique in the session */
	uint32_t nobj;
	struct uft_mapped *obj;		/* in the order of appearance */
	char *exe;			/* path of the program */
	struct image_index *index;	/* NULL: each lookup searches all objects (uft_image_index()) */
};

struct uft_image *uft_image_alloc(uint32_t id, const char *exe);
void uft_image_free(struct uft_image *img);
/* Appends an object, and takes a reference on it. The returned pointer is valid until the next call. */
struct uft_mapped *uft_image_add(struct uft_image *img, struct uft_object *obj, uint64_t bias);
/* Copies @from with arrays of its own, but takes no reference. -ENOMEM: an array of @from is NULL in @to. */
int uft_mapped_copy(struct uft_mapped *to, const struct uft_mapped *from);
void uft_mapped_free_arrays(struct uft_mapped *m);

/*
 * Makes a table, for an image that does not grow any more: the lookups below take log n steps then. A recording can
 * have 60,000 objects in an image, and an address of each in each event. *room: how many pairs of an object and a part
 * of another object's addresses the table may hold; reduced by what it holds. With more, times are ignored. 0 or
 * -ENOMEM.
 */
int uft_image_index(struct uft_image *img, uint64_t *room);
/* Returns the offset of runtime address @addr in its function; 0 if it is in none. */
uint64_t uft_image_offset(const struct uft_image *img, uint64_t addr);
/* Did objects have the same addresses, one after the other? Without a table, 0 for more than 4,096 objects. */
int uft_image_overlaps(const struct uft_image *img);
/*
 * Returns the index of the object that had @addr at @clock; @clock matters only if several had it. UINT32_MAX: none.
 * Code that the process made is not searched.
 */
uint32_t uft_image_at(const struct uft_image *img, uint64_t addr, uint64_t clock);

struct uft_sym;
/*
 * Returns the address of @sym in this image. If the image does not have it: the symbol's own address, from the first
 * image in which it was met.
 */
uint64_t uft_image_sym_addr(const struct uft_image *img, const struct uft_sym *sym);

/* Makes an object without a file, for readers of recordings; names are copied. */
struct uft_object *uft_object_make(const char *path, const uint8_t *build_id, uint32_t build_id_len);
int uft_object_make_func(struct uft_object *obj, uint64_t addr, uint64_t size, const char *name, uint32_t flags);
/* Sorts functions that were made in any order: of two at one address the first holds. */
void uft_object_sort(struct uft_object *obj);

/*
 * A function as shown to users: its name made short, with an object when the name alone is not unique. Resolved once,
 * then found by table. `index` is dense over the resolver's life: use it for arrays.
 */
struct uft_sym {
	uint32_t index;
	const char *name;		/* text to show: uft_name_shown(); object+0xoffset without a name */
	const char *raw;		/* as in the object, if different; else NULL */
	const char *object;		/* base name of the object, "" unknown */
	/* the object; uft_object_is_same() tells which object of another image it is. NULL: unknown */
	const struct uft_object *of;
	uint64_t addr, size;		/* runtime */
	uint64_t vaddr;			/* the same in its object: uft_image_sym_addr() */
};

struct uft_resolver;
struct uft_resolver *uft_resolver_alloc(void);
void uft_resolver_free(struct uft_resolver *r);
/* 1: memory was refused for a symbol, so one that was returned has another name than it should. */
int uft_resolver_is_partial(const struct uft_resolver *r);
/*
 * Resolve ids of records (text or stub) and plain addresses (parents). Never NULL: an unknown id or address gets a
 * symbol named by its number. Amortised O(1).
 */
const struct uft_sym *uft_resolve_id(struct uft_resolver *r, const struct uft_image *img, uint32_t id);
/*
 * Returns the address of an id's function in this image. (A symbol has that of the first image in which it was met.) 0:
 * unknown.
 */
uint64_t uft_resolve_id_addr(struct uft_resolver *r, const struct uft_image *img, uint32_t id);
const struct uft_sym *uft_resolve_addr(struct uft_resolver *r, const struct uft_image *img, uint64_t addr);
/* The same at time @clock, where several objects had the address one after the other (uft_image_overlaps()). */
const struct uft_sym *uft_resolve_addr_at(struct uft_resolver *r, const struct uft_image *img, uint64_t addr,
					  uint64_t clock);

/* Does an object have the id, or code at the address? */
int uft_resolver_has_id(struct uft_resolver *r, const struct uft_image *img, uint32_t id);
int uft_resolver_has_addr(struct uft_resolver *r, const struct uft_image *img, uint64_t addr);

/*
 * Sets *out to @r's symbol for each symbol of @other, by index, in @other's order, as if @r met them now. Both are of
 * one recording. The caller frees *out. Returns how many; 0: no memory.
 */
size_t uft_resolve_others(struct uft_resolver *r, const struct uft_resolver *other, const struct uft_sym ***out);

/* For the @i-th object met: returns how many functions of ids so far have no name. *obj: NULL: no such object. */
uint32_t uft_resolver_nameless(const struct uft_resolver *r, size_t i, struct uft_object **obj);

#endif
