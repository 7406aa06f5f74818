/* SPDX-License-Identifier: MIT */
/*
 * resolve.c - from ids and addresses to functions as shown to users
 *
 * Every event that a report reads is resolved, so the answer for a known id is two loads: a directory of pages of
 * pointers, one directory for each image. Addresses (parents) go through a two-way cache. All other work is done once a
 * symbol.
 *
 * Objects and ownership: the resolver owns its symbols and all its tables. It keeps pointers to images, which must
 * outlive their use. A freed image whose memory holds a new one is recognised by the image's id. An image may grow
 * while it is being resolved: ids unknown before are then looked up again.
 *
 * A symbol is one function of one object, whatever image it was met in: a program that runs a hundred times at a
 * hundred addresses has one `main`. `addr` is the address at which it was met first. The same object read twice (a
 * recording has it once for each image) is recognised (uft_object_is_same()), and so is a copy in another folder.
 *
 * Names: those of uft_name_shown(), with control bytes replaced. A name that a function of another object already has
 * gets the suffix @object. Two functions of one name in one object differ by the object's own suffix (object.h).
 *
 * Concurrency: none; one resolver belongs to one thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/array.h"
#include "symbol/hash_index.h"
#include "symbol/image_index.h"
#include "symbol/names.h"
#include "symbol/sorted.h"
#include "symbol/keyed_hash.h"
#include "symbol/segments.h"

#define RES_PAGE_BITS	12
#define RES_PAGE	(1u << RES_PAGE_BITS)
#define RES_ADDR_BITS	14	/* sets of the address cache, RES_WAYS entries each */
#define RES_WAYS	2u
/*
 * Bounds for hostile recordings, in which a few bytes make an image or use a page: images with an address cache of full
 * size, and pages of all images (256 MiB). Beyond them every lookup is a search.
 */
#define RES_FULL_IMAGES	256u
#define RES_FEW_BITS	4u
/* In an image with more objects only the tables are searched; of more lists of made code only the last ones. */
#define RES_SCAN_MAX	4096u
#define RES_MADE_MAX	64u
#define RES_PAGES_MAX	8192u
#define RES_SYM_CHUNK	1024u
#define RES_MAX_UNKNOWN	(1u << 20)	/* symbols that only name a number */

#define RES_NO_OBJECT	0xffffffu	/* object number of keys without an object */
enum { RES_KEY_FUNC, RES_KEY_ID, RES_KEY_ADDR };

struct res_sym {			/* the key of a symbol; the symbol itself comes first */
	struct uft_sym sym;
	uint64_t key_addr;
	uint32_t key_object, key_kind;
	uint32_t is_unknown;
	uint8_t is_nameless, is_called;	/* called: met by an id */
};

struct res_site { uint64_t addr; uint32_t stub; };

struct res_map {			/* one for each uft_mapped: its sites, sorted */
	struct res_site *site;
	uint32_t nsites;
	uint32_t object;		/* number of the object, + 1; 0: unknown */
};

struct res_image {
	const void *key;		/* address of its image, which may be freed */
	const struct uft_image *img;	/* NULL: its tables must be made */
	uint32_t id, nobj;
	const struct uft_sym ***dir;	/* npages pointers to pages */
	uint32_t npages;
	struct res_addr { uint64_t addr; const struct uft_sym *sym; } *addrs;
	unsigned addr_bits;
	struct res_map *map;
	struct segments ids, texts;	/* to objects: the first with an id, and the one that has an address */
	uint32_t *made, nmade;		/* objects that hold code made by the process */
};

struct res_object { struct uft_object *obj; const char *base; uint32_t nnameless; };	/* nnameless: of called
											 * functions */

struct uft_resolver {
	struct res_image *last;		/* image of the last answer */
	struct res_image **images;
	uint32_t nimages, cap_images;
	struct hash_index by_image;
	struct res_object *object;	/* distinct objects, a reference to each */
	uint32_t nobjects, cap_objects;
	struct hash_index by_object;
	struct res_sym **chunk;
	uint32_t nsyms, nunknown, npages;
	struct hash_index by_key, by_name;	/* indices of symbols */
	struct uft_sym nothing;		/* for lack of memory, or too many unknown symbols */
	int is_partial;			/* memory was refused: a name is not what it should be */
};

int uft_resolver_is_partial(const struct uft_resolver *r)
{
	return r->is_partial;
}

/* ---- Symbols ---------------------------------------------------------------------------------- */

static uint64_t res_hash_key(uint64_t addr, uint32_t object, uint32_t kind)
{
	return hash_words(addr, (uint64_t)kind << 32 | object);
}

static struct res_sym *res_sym_at(const struct uft_resolver *r, uint32_t index)
{
	return &r->chunk[index / RES_SYM_CHUNK][index % RES_SYM_CHUNK];
}

static struct res_sym *res_find_key(const struct uft_resolver *r, uint64_t addr, uint32_t object, uint32_t kind)
{
	uint32_t at = HASH_FIND(i, &r->by_key, res_hash_key(addr, object, kind), res_sym_at(r, i)->key_addr == addr &&
				res_sym_at(r, i)->key_object == object && res_sym_at(r, i)->key_kind == kind);

	return at != HASH_NONE ? res_sym_at(r, at) : NULL;
}

static struct res_sym *res_find_name(const struct uft_resolver *r, const char *name)
{
	uint32_t at = HASH_FIND(i, &r->by_name, hash_text(name), !strcmp(res_sym_at(r, i)->sym.name, name));

	return at != HASH_NONE ? res_sym_at(r, at) : NULL;
}

/*
 * Adds a symbol under a new key; takes over @name (malloc'd; NULL: no memory for it). NULL: no memory, which is noted.
 */
static struct res_sym *res_add(struct uft_resolver *r, uint64_t addr, uint32_t object, uint32_t kind, char *name)
{
	uint32_t i = r->nsyms;
	struct res_sym *s;

	if (!name)
		goto fail;
	if (hash_index_reserve(&r->by_key, i + 1) || hash_index_reserve(&r->by_name, i + 1))
		goto fail;
	if (i % RES_SYM_CHUNK == 0) {
		if (array_resize(r->chunk, i / RES_SYM_CHUNK + 1))
			goto fail;
		r->chunk[i / RES_SYM_CHUNK] = calloc(RES_SYM_CHUNK, sizeof(*s));
		if (!r->chunk[i / RES_SYM_CHUNK])
			goto fail;
	}
	s = res_sym_at(r, i);
	r->nsyms++;
	*s = (struct res_sym){ .sym = { .index = i, .name = name, .object = "" }, .key_addr = addr,
		.key_object = object,
			       .key_kind = kind };
	hash_index_add(&r->by_key, res_hash_key(addr, object, kind), i);
	hash_index_add(&r->by_name, hash_text(name), i);
	return s;
fail:
	r->is_partial = 1;
	free(name);
	return NULL;
}

static const struct uft_sym *res_unknown(struct uft_resolver *r, uint64_t number, uint32_t kind)
{
	struct res_sym *s = res_find_key(r, number, RES_NO_OBJECT, kind);
	char *name;

	if (s)
		return &s->sym;
	if (r->nunknown >= RES_MAX_UNKNOWN)
		return &r->nothing;
	if (asprintf(&name, kind == RES_KEY_ID ? "id#%llu" : "0x%llx", (unsigned long long)number) < 0)
		name = NULL;
	s = res_add(r, number, RES_NO_OBJECT, kind, name);
	if (!s)
		return &r->nothing;
	r->nunknown++;
	s->is_unknown = 1;
	s->sym.addr = kind == RES_KEY_ADDR ? number : 0;
	return &s->sym;
}

/* ---- Objects ---------------------------------------------------------------------------------- */

/* Returns the number of an object; RES_NO_OBJECT: no memory. */
static uint32_t res_object_number(struct uft_resolver *r, struct uft_object *obj)
{
	const uint64_t hash = uft_object_hash(obj);
	uint32_t found = HASH_FIND(i, &r->by_object, hash, uft_object_is_same(r->object[i].obj, obj));

	if (found != HASH_NONE)
		return found;
	if (r->nobjects >= RES_NO_OBJECT || array_reserve(r->object, r->cap_objects, r->nobjects + 1) ||
	    hash_index_add(&r->by_object, hash, r->nobjects)) {
		r->is_partial = 1;
		return RES_NO_OBJECT;
	}
	r->object[r->nobjects] = (struct res_object){ .obj = uft_object_get(obj), .base = uft_base_name(obj->path) };
	return r->nobjects++;
}

/* Returns the text to show for a function, or for a place in no function (@func NULL); malloc'd. */
static char *res_name(struct uft_resolver *r, uint32_t object, const struct uft_func *func, uint64_t vaddr)
{
	const char *base = r->object[object].base;
	char *name = NULL, *longer;
	struct res_sym *other;

	if (!func || !func->name) {
		if (asprintf(&name, "%s+0x%llx", base, (unsigned long long)vaddr) < 0)
			return NULL;
		uft_name_clean(name);
		return name;
	}
	name = uft_name_shown(func->name);
	if (!name)
		name = strdup(func->name);
	if (!name)
		return NULL;
	uft_name_clean(name);
	other = res_find_name(r, name);
	if (!other || other->key_object == object)
		return name;
	if (asprintf(&longer, "%s@%s", name, base) < 0)
		longer = NULL;
	free(name);
	return longer;
}

/* Returns the symbol for runtime address @addr inside mapping @m, whose object has the number @object. */
static const struct uft_sym *res_in_object(struct uft_resolver *r, const struct uft_mapped *m, uint32_t object,
					   uint64_t addr)
{
	uint64_t vaddr = addr - m->bias;
	const struct uft_func *func = uft_object_func(m->obj, vaddr);
	struct res_sym *s;

	if (func)
		vaddr = func->addr;
	s = res_find_key(r, vaddr, object, RES_KEY_FUNC);
	if (s)
		return &s->sym;
	if (!func && r->nunknown++ >= RES_MAX_UNKNOWN)
		return &r->nothing;
	s = res_add(r, vaddr, object, RES_KEY_FUNC, res_name(r, object, func, vaddr));
	if (!s)
		return &r->nothing;
	s->is_nameless = !func || !func->name;
	s->sym.object = r->object[object].base;
	s->sym.of = r->object[object].obj;
	s->sym.raw = func && func->name && strcmp(func->name, s->sym.name) ? strdup(func->name) : NULL;
	r->is_partial |= func && func->name && !s->sym.raw && strcmp(func->name, s->sym.name);
	s->sym.addr = vaddr + m->bias;
	s->sym.vaddr = vaddr;
	s->sym.size = func ? func->size : 0;
	return &s->sym;
}

/* Notes that @sym's function was called, and returns @sym. */
static const struct uft_sym *res_called(struct uft_resolver *r, const struct uft_sym *sym)
{
	struct res_sym *s = (struct res_sym *)sym;

	if (sym == &r->nothing || s->is_called)
		return sym;
	s->is_called = 1;
	r->object[s->key_object].nnameless += s->is_nameless;
	return sym;
}

static const struct uft_sym *res_same(struct uft_resolver *r, const struct res_sym *s)
{
	const struct uft_sym *other = &s->sym, *same;
	struct uft_mapped m = { .obj = (struct uft_object *)other->of, .bias = other->addr - other->vaddr };
	uint32_t object;

	if (!other->index)		/* the first symbol of each resolver stands for all that got none */
		return &r->nothing;
	if (!other->of)
		return res_unknown(r, s->key_addr, s->key_kind);
	object = res_object_number(r, m.obj);
	same = object == RES_NO_OBJECT ? &r->nothing : res_in_object(r, &m, object, other->addr);
	return s->is_called ? res_called(r, same) : same;
}

size_t uft_resolve_others(struct uft_resolver *r, const struct uft_resolver *other, const struct uft_sym ***out)
{
	*out = malloc(other->nsyms * sizeof(**out));
	for (uint32_t i = 0; *out && i < other->nsyms; i++)
		(*out)[i] = res_same(r, res_sym_at(other, i));
	return *out ? other->nsyms : 0;
}

/* ---- Images ----------------------------------------------------------------------------------- */

static void res_image_reset(struct res_image *ri)
{
	uint32_t i;

	for (i = 0; i < ri->npages; i++)
		free(ri->dir[i]);
	for (i = 0; i < ri->nobj; i++)
		free(ri->map[i].site);
	free(ri->dir);
	free(ri->map);
	free(ri->addrs);
	free(ri->made);
	segments_free(&ri->ids);
	segments_free(&ri->texts);
	*ri = (struct res_image){ .key = ri->key };
}

static size_t res_id_ranges(const struct uft_image *img, struct segment_range *to)
{
	size_t n = 0;

	for (uint32_t i = 0; i < img->nobj; i++) {
		const struct uft_mapped *m = &img->obj[i];

		to[n++] = (struct segment_range){ m->first_text_id, (uint64_t)m->first_text_id + m->ntext_ids, i };
		if (m->stub_addr)
			to[n++] = (struct segment_range){ m->first_stub_id, (uint64_t)m->first_stub_id + m->nstubs, i };
	}
	return n;
}

static int res_image_index(struct res_image *ri, const struct uft_image *img)
{
	struct segment_range *range = malloc((2ull * img->nobj + 1) * sizeof(*range));
	int ret;

	ri->made = malloc((img->nobj + 1ull) * sizeof(*ri->made));
	ret = !range || !ri->made || segments_make(&ri->texts, range, image_text_ranges(img, range)) ||
	      segments_make(&ri->ids, range, res_id_ranges(img, range)) ? -1 : 0;
	for (uint32_t i = 0; !ret && i < img->nobj; i++)
		if (!img->obj[i].obj->type)
			ri->made[ri->nmade++] = i;
	free(range);
	return ret;
}

/* Makes the tables for the image as it is now. Cached symbols are looked up again. */
static int res_image_set(struct uft_resolver *r, struct res_image *ri, const struct uft_image *img)
{
	uint32_t i, max = 0;

	for (i = 0; i < ri->npages; i++)
		r->npages -= ri->dir[i] != NULL;
	res_image_reset(ri);
	for (i = 0; i < img->nobj; i++) {
		const struct uft_mapped *m = &img->obj[i];
		uint64_t text = (uint64_t)m->first_text_id + m->ntext_ids,
			 stub = (uint64_t)m->first_stub_id + m->nstubs;

		text = text > stub ? text : stub;
		if (text > max)
			max = text < UFT_REC_VALUE_MAX ? text : UFT_REC_VALUE_MAX;
	}
	ri->npages = (max >> RES_PAGE_BITS) + 1;
	ri->dir = calloc(ri->npages, sizeof(*ri->dir));
	ri->addr_bits = r->nimages > RES_FULL_IMAGES ? RES_FEW_BITS : RES_ADDR_BITS;
	ri->addrs = calloc((1u << ri->addr_bits) * RES_WAYS, sizeof(*ri->addrs));
	ri->map = calloc(img->nobj + 1, sizeof(*ri->map));
	if (!ri->dir || !ri->addrs || !ri->map || res_image_index(ri, img)) {
		ri->npages = ri->nobj = 0;
		res_image_reset(ri);
		r->is_partial = 1;
		return 0;
	}
	ri->img = img;
	ri->id = img->id;
	ri->nobj = img->nobj;
	return 1;
}

static struct res_image *res_image(struct uft_resolver *r, const struct uft_image *img)
{
	const uint64_t hash = hash_words((uintptr_t)img, 0);
	uint32_t found = HASH_FIND(i, &r->by_image, hash, r->images[i]->key == img);
	struct res_image *ri = found != HASH_NONE ? r->images[found] : NULL;

	if (!ri) {
		ri = array_reserve(r->images, r->cap_images, r->nimages + 1) ||
		     hash_index_reserve(&r->by_image, r->nimages + 1) ? NULL : calloc(1, sizeof(*ri));
		r->is_partial |= !ri;
		if (!ri)
			return NULL;
		ri->key = img;
		hash_index_add(&r->by_image, hash, r->nimages);
		r->images[r->nimages++] = ri;
	}
	if ((ri->img != img || ri->id != img->id || ri->nobj != img->nobj) && !res_image_set(r, ri, img))
		return NULL;
	r->last = ri;
	return ri;
}

static inline struct res_image *res_current(struct uft_resolver *r, const struct uft_image *img)
{
	struct res_image *ri = r->last;

	if (ri && ri->img == img && ri->id == img->id && ri->nobj == img->nobj)
		return ri;
	return res_image(r, img);
}

/* ---- Ids -------------------------------------------------------------------------------------- */

static void res_index_sites(struct uft_resolver *r, struct res_map *map, const struct uft_mapped *m)
{
	uint32_t i;

	free(map->site);
	map->nsites = 0;
	map->site = m->site_addr && m->nstubs ? malloc(m->nstubs * sizeof(*map->site)) : NULL;
	r->is_partial |= !map->site && m->site_addr && m->nstubs;
	if (!map->site)
		return;
	for (i = 0; i < m->nstubs; i++)
		map->site[i] = (struct res_site){ m->site_addr[i], i };
	SORT_BY(map->site, m->nstubs, addr);
	map->nsites = m->nstubs;
}

/*
 * Returns the address of a text id's function. The id names a 4-byte granule that holds the address behind the site's
 * instruction; the table of sites has that exact address. Without it the granule's first byte decides, which lies in
 * the function because a site is at least 5 bytes long.
 */
static uint64_t res_text_addr(struct uft_resolver *r, struct res_map *map, const struct uft_mapped *m, uint32_t id)
{
	uint64_t granule = (m->text_start & ~3ull) + ((uint64_t)(id - m->first_text_id) << 2);
	uint32_t lo;

	if (map->nsites != m->nstubs)
		res_index_sites(r, map, m);
	lo = SORTED_FIRST(i, map->nsites, map->site[i].addr >= granule);
	if (lo < map->nsites && map->site[lo].addr < granule + 4 && m->stub_addr)
		return m->stub_addr[map->site[lo].stub];
	return granule;
}

static int res_has_id(const struct uft_mapped *m, uint32_t id)
{
	return id - m->first_text_id < m->ntext_ids || (id - m->first_stub_id < m->nstubs && m->stub_addr);
}

/*
 * Returns the object that has the id; SEGMENT_NONE. An object of a running process may have got stubs since the table
 * was made.
 */
static uint32_t res_object_of(const struct res_image *ri, uint32_t id)
{
	uint32_t i = segments_find(&ri->ids, id);

	if (i != SEGMENT_NONE && res_has_id(&ri->img->obj[i], id))
		return i;
	for (i = 0; i < ri->nobj && ri->nobj <= RES_SCAN_MAX; i++)
		if (res_has_id(&ri->img->obj[i], id))
			return i;
	return SEGMENT_NONE;
}

/* Returns the map of the id's object, and its function's address; NULL: no function has the id. */
static struct res_map *res_where(struct uft_resolver *r, struct res_image *ri, uint32_t id,
				 const struct uft_mapped **out, uint64_t *addr)
{
	uint32_t i = res_object_of(ri, id);
	const struct uft_mapped *m;

	if (i == SEGMENT_NONE)
		return NULL;
	m = *out = &ri->img->obj[i];
	*addr = id - m->first_text_id < m->ntext_ids ? res_text_addr(r, &ri->map[i], m, id) :
		m->stub_addr[id - m->first_stub_id];
	return &ri->map[i];
}

int uft_resolver_has_id(struct uft_resolver *r, const struct uft_image *img, uint32_t id)
{
	struct res_image *ri = res_current(r, img);

	return ri && res_object_of(ri, id) != SEGMENT_NONE;
}

static const struct uft_sym *res_id(struct uft_resolver *r, struct res_image *ri, uint32_t id)
{
	const struct uft_mapped *m;
	uint64_t addr;
	struct res_map *map = res_where(r, ri, id, &m, &addr);

	if (!map)
		return res_unknown(r, id, RES_KEY_ID);
	if (!map->object)
		map->object = res_object_number(r, m->obj) + 1;
	if (map->object == RES_NO_OBJECT + 1)
		return &r->nothing;
	return res_called(r, res_in_object(r, m, map->object - 1, addr));
}

uint32_t uft_resolver_nameless(const struct uft_resolver *r, size_t i, struct uft_object **obj)
{
	*obj = i < r->nobjects ? r->object[i].obj : NULL;
	return *obj ? r->object[i].nnameless : 0;
}

uint64_t uft_resolve_id_addr(struct uft_resolver *r, const struct uft_image *img, uint32_t id)
{
	struct res_image *ri = res_current(r, img);
	const struct uft_mapped *m;
	const struct uft_func *fn;
	uint64_t addr;

	if (!ri || !res_where(r, ri, id, &m, &addr))
		return 0;
	fn = uft_object_func(m->obj, addr - m->bias);
	return fn ? fn->addr + m->bias : addr;
}

static const struct uft_sym *res_id_slow(struct uft_resolver *r, struct res_image *ri, uint32_t id)
{
	const struct uft_sym *s = res_id(r, ri, id), **page;
	uint32_t n = id >> RES_PAGE_BITS;

	/* Does not cache ids of an object whose stubs may still grow, nor symbols for lack of memory. */
	if (n >= ri->npages || s == &r->nothing || ((const struct res_sym *)s)->is_unknown)
		return s;
	if (!ri->dir[n] && r->npages < RES_PAGES_MAX) {
		ri->dir[n] = calloc(RES_PAGE, sizeof(*page));
		r->npages += ri->dir[n] != NULL;
	}
	page = ri->dir[n];
	if (page)
		page[id % RES_PAGE] = s;
	return s;
}

const struct uft_sym *uft_resolve_id(struct uft_resolver *r, const struct uft_image *img, uint32_t id)
{
	struct res_image *ri = res_current(r, img);
	const struct uft_sym **page, *s;

	if (!ri)
		return &r->nothing;
	if (id >> RES_PAGE_BITS < ri->npages) {
		page = ri->dir[id >> RES_PAGE_BITS];
		s = page ? page[id % RES_PAGE] : NULL;
		if (s)
			return s;
	}
	return res_id_slow(r, ri, id);
}

/* ---- Addresses -------------------------------------------------------------------------------- */

/*
 * Returns code that the process made itself (type ET_NONE): its list has gaps and may span text of other objects. The
 * last name holds.
 */
static const struct uft_mapped *res_made(const struct res_image *ri, uint64_t addr, uint32_t *index)
{
	for (uint32_t k = ri->nmade; k-- > 0 && k + RES_MADE_MAX >= ri->nmade;) {
		const struct uft_mapped *o = &ri->img->obj[ri->made[k]];

		if (addr < o->text_start || addr >= o->text_end || !uft_object_func(o->obj, addr - o->bias))
			continue;
		*index = ri->made[k];
		return o;
	}
	return NULL;
}

static const struct uft_sym *res_addr_in(struct uft_resolver *r, struct res_image *ri, uint32_t index, uint64_t addr)
{
	const struct uft_mapped *m = &ri->img->obj[index];

	if (!ri->map[index].object)
		ri->map[index].object = res_object_number(r, m->obj) + 1;
	if (ri->map[index].object == RES_NO_OBJECT + 1)
		return &r->nothing;
	return res_in_object(r, m, ri->map[index].object - 1, addr);
}

static const struct uft_sym *res_addr(struct uft_resolver *r, struct res_image *ri, uint64_t addr)
{
	uint32_t i = segments_find(&ri->texts, addr);

	return i != SEGMENT_NONE || res_made(ri, addr, &i) ? res_addr_in(r, ri, i, addr) :
	       res_unknown(r, addr, RES_KEY_ADDR);
}

int uft_resolver_has_addr(struct uft_resolver *r, const struct uft_image *img, uint64_t addr)
{
	struct res_image *ri = res_current(r, img);
	uint32_t made;

	return ri && (segments_find(&ri->texts, addr) != SEGMENT_NONE || res_made(ri, addr, &made));
}

const struct uft_sym *uft_resolve_addr_at(struct uft_resolver *r, const struct uft_image *img, uint64_t addr,
					  uint64_t clock)
{
	struct res_image *ri = res_current(r, img);
	uint32_t at = ri ? uft_image_at(img, addr, clock) : UINT32_MAX;

	return at < UINT32_MAX && at < ri->nobj ? res_addr_in(r, ri, at, addr) : uft_resolve_addr(r, img, addr);
}

const struct uft_sym *uft_resolve_addr(struct uft_resolver *r, const struct uft_image *img, uint64_t addr)
{
	struct res_image *ri = res_current(r, img);
	struct res_addr *set;

	if (!ri)
		return &r->nothing;
	set = &ri->addrs[(size_t)(addr * 0x9e3779b97f4a7c15ull >> (64 - ri->addr_bits)) * RES_WAYS];
	if (set[0].addr == addr && set[0].sym)
		return set[0].sym;
	if (set[1].addr == addr && set[1].sym)
		return set[1].sym;
	set[1] = set[0];
	set[0] = (struct res_addr){ addr, res_addr(r, ri, addr) };
	return set[0].sym;
}

/* ---- Life ------------------------------------------------------------------------------------- */

struct uft_resolver *uft_resolver_alloc(void)
{
	struct uft_resolver *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	/* Index 0 is reserved: indices are dense, and callers use them for arrays. */
	if (!res_add(r, 0, RES_NO_OBJECT, RES_KEY_FUNC, strdup("[unknown]"))) {
		uft_resolver_free(r);
		return NULL;
	}
	r->nothing = res_sym_at(r, 0)->sym;
	return r;
}

void uft_resolver_free(struct uft_resolver *r)
{
	size_t i;

	if (!r)
		return;
	for (i = 0; i < r->nsyms; i++) {
		free((char *)res_sym_at(r, i)->sym.name);
		free((char *)res_sym_at(r, i)->sym.raw);
	}
	for (i = 0; i < (r->nsyms + RES_SYM_CHUNK - 1) / RES_SYM_CHUNK; i++)
		free(r->chunk[i]);
	for (i = 0; i < r->nimages; i++) {
		res_image_reset(r->images[i]);
		free(r->images[i]);
	}
	for (i = 0; i < r->nobjects; i++)
		uft_object_put(r->object[i].obj);
	free(r->images);
	hash_index_free(&r->by_image);
	free(r->object);
	free(r->chunk);
	hash_index_free(&r->by_object);
	hash_index_free(&r->by_key);
	hash_index_free(&r->by_name);
	free(r);
}
