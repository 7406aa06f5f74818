/* SPDX-License-Identifier: MIT */
/*
 * symtab.c - the functions of an object and their names
 *
 * Every table that may name a function gives candidates for one list (.symtab or, when there is none, .dynsym,
 * .gnu_debugdata and the separate debug file), sorted by address. Of several names for one address the name that
 * callers use is kept; a name that the user gave comes before all of them (namefile.h). Unwind entries without a name
 * become functions without a name. Functions of one name (static functions of several files) get their source file, or
 * else their address, as a suffix.
 *
 * Cost: linear. 100,000 functions take some 30 ms.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/object_internal.h"
#include "symbol/unwind.h"

#define SYM_MAX_NAME	4096u	/* compared bytes of a name */
#define SYM_MAX_FILE	256u
#define SYM_COMPARE_STEPS	16u	/* of two names with one hash */

struct sym_cand {
	uint64_t addr, size;
	const char *name;
	const char *file;	/* source file of a local symbol; NULL: unknown */
	uint32_t rank;		/* the lowest at an address is kept */
	uint32_t flags;
};

struct sym_list { struct sym_cand *c; size_t n, room; struct parse_bound *bound; };

/* ---- Gathering -------------------------------------------------------------------------------- */

/*
 * Ranks the name that callers use first: malloc before __libc_malloc, and fork, which is weak, before __fork, which is
 * not.
 */
static uint32_t sym_rank(const Elf64_Sym *s, const char *name)
{
	size_t underscores = strspn(name, "_");

	return (ELF64_ST_TYPE(s->st_info) == STT_NOTYPE ? 100 : 0) + (ELF64_ST_BIND(s->st_info) == STB_LOCAL ? 20 : 0) +
	       2 * (uint32_t)(underscores < 4 ? underscores : 4) + (ELF64_ST_BIND(s->st_info) == STB_WEAK);
}

/* Is it a function? Untyped symbols count if they are global: hand-written entry points. */
static int sym_is_function(const struct uft_object *obj, const Elf64_Sym *s, uint64_t addr)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);

	if (type != STT_FUNC && type != STT_GNU_IFUNC &&
	    !(type == STT_NOTYPE && ELF64_ST_BIND(s->st_info) != STB_LOCAL))
		return 0;
	return object_text(obj, addr) != NULL;
}

static int sym_add(struct sym_list *l, struct sym_cand c)
{
	if (l->n == l->room) {
		size_t room = l->room ? 2 * l->room : 1024;
		struct sym_cand *grown = bound_grow(l->bound, "symbols", l->c, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		l->c = grown;
		l->room = room;
	}
	l->c[l->n++] = c;
	return 0;
}

static int sym_gather(struct uft_object *obj, const struct elf_symtab *t, struct sym_list *l)
{
	const char *file = NULL, *name;
	uint64_t addr;
	Elf64_Sym s;
	size_t i;

	for (i = 1; i < t->n; i++) {
		elf_sym(t, i, &s);
		if (ELF64_ST_TYPE(s.st_info) == STT_FILE) {
			file = elf_sym_name(t, &s);
			continue;
		}
		if (s.st_shndx == SHN_UNDEF || s.st_shndx == SHN_ABS)
			continue;
		addr = object_sym_addr(obj, &s);
		if (addr == ~0ull || !sym_is_function(obj, &s, addr))
			continue;
		name = elf_sym_name(t, &s);
		if (!*name)
			continue;
		if (sym_add(l, (struct sym_cand){ addr, s.st_size, name,
						  ELF64_ST_BIND(s.st_info) == STB_LOCAL && file && *file ? file : NULL,
						  1 + sym_rank(&s, name),
						  (ELF64_ST_BIND(s.st_info) == STB_LOCAL ? UFT_FUNC_LOCAL : 0) |
						  (ELF64_ST_TYPE(s.st_info) == STT_GNU_IFUNC ? UFT_FUNC_CHOOSER : 0) }))
			return -ENOMEM;
	}
	return 0;
}

/* Names that the user gave come before all others. An object without a file has no text segments: [lo, hi). */
static int sym_gather_given(struct uft_object *obj, int is_program, uint64_t lo, uint64_t hi, struct sym_list *l)
{
	struct symbol_rule *r = NULL;

	while ((r = symbols_for(obj, is_program, r)))
		for (size_t i = 0; i < r->names.n; i++) {
			const struct uft_name *n = &r->names.item[i];

			if (obj->ntext ? !object_text(obj, n->addr) : n->addr < lo || n->addr >= hi)
				continue;
			if (sym_add(l, (struct sym_cand){ .addr = n->addr, .size = n->size, .name = n->name }))
				return -ENOMEM;
			__atomic_store_n(&r->used, 1, __ATOMIC_RELAXED);
		}
	return 0;
}

static int sym_gather_all(struct uft_object *obj, struct sym_list *l)
{
	struct object_priv *priv = object_priv(obj);
	struct elf_symtab t;
	unsigned i;
	int ret;

	elf_symtab_find(&priv->view, SHT_SYMTAB, &t);
	ret = sym_gather(obj, t.n ? &t : &priv->view.dyn, l);
	for (i = 0; !ret && i < priv->nextra; i++) {
		/* The sections of a debug file have the numbers and addresses of the object's. */
		elf_symtab_find(&priv->extra[i], SHT_SYMTAB, &t);
		ret = sym_gather(obj, &t, l);
	}
	return ret ? ret : sym_gather_given(obj, 0, 0, 0, l);
}

/* ---- Sorting ---------------------------------------------------------------------------------- */

#define SYM_DIGIT	11
#define SYM_BUCKETS	(1u << SYM_DIGIT)

/* Stable radix sort by address, least digit first, over the digits in which addresses differ. */
static int sym_sort(struct sym_list *l)
{
	uint64_t lo = ~0ull, hi = 0;
	struct sym_cand *from = l->c, *to, *spare;
	size_t count[SYM_BUCKETS], i, sum, n;
	unsigned shift;

	for (i = 0; i < l->n; i++) {
		lo = from[i].addr < lo ? from[i].addr : lo;
		hi = from[i].addr > hi ? from[i].addr : hi;
	}
	if (l->n < 2 || lo == hi)
		return 0;
	to = spare = bound_alloc(l->bound, "symbols", l->n, sizeof(*to));
	if (!spare)
		return -ENOMEM;
	for (shift = 0; shift < 64 && (hi - lo) >> shift; shift += SYM_DIGIT) {
		struct sym_cand *swap = from;

		memset(count, 0, sizeof(count));
		for (i = 0; i < l->n; i++)
			count[((from[i].addr - lo) >> shift) % SYM_BUCKETS]++;
		for (i = 0, sum = 0; i < SYM_BUCKETS; i++) {
			n = count[i];
			count[i] = sum;
			sum += n;
		}
		for (i = 0; i < l->n; i++)
			to[count[((from[i].addr - lo) >> shift) % SYM_BUCKETS]++] = from[i];
		from = to;
		to = swap;
	}
	if (from != l->c)
		memcpy(l->c, from, l->n * sizeof(*from));
	bound_free(spare);
	return 0;
}

/* Keeps one candidate an address, and no untyped label inside a function. */
static void sym_unique(struct sym_list *l)
{
	size_t i, n = 0;
	uint64_t covered = 0;

	for (i = 0; i < l->n; i++) {
		struct sym_cand *c = &l->c[i], *last = n ? &l->c[n - 1] : NULL;

		if (last && last->addr == c->addr) {
			uint64_t size = last->size ? last->size : c->size;

			if (c->rank < last->rank) {
				size = c->size ? c->size : size;
				*last = *c;
			}
			last->size = size;
		} else if (c->rank >= 100 && c->addr < covered) {
			continue;
		} else {
			l->c[n++] = *c;
		}
		if (l->c[n - 1].addr + l->c[n - 1].size > covered)
			covered = l->c[n - 1].addr + l->c[n - 1].size;
	}
	l->n = n;
}

/* ---- Unwind entries without a name -------------------------------------------------------------- */

static int sym_add_unwind(struct uft_object *obj, struct sym_list *l)
{
	struct elf_view *v = &object_priv(obj)->view;
	size_t named = l->n, i, k = 0;
	uint64_t covered = 0;
	struct uw_list uw;
	int ret;

	ret = uw_functions(v, 1, &uw);
	for (i = 0; !ret && i < uw.n; i++) {
		const struct uw_range *r = &uw.range[i];

		for (; k < named && l->c[k].addr <= r->addr; k++) {
			if (l->c[k].addr == r->addr && !l->c[k].size)
				l->c[k].size = r->size;
			if (l->c[k].addr + l->c[k].size > covered)
				covered = l->c[k].addr + l->c[k].size;
		}
		if ((k && l->c[k - 1].addr == r->addr) || r->addr < covered || !object_text(obj, r->addr))
			continue;
		ret = sym_add(l, (struct sym_cand){ .addr = r->addr, .size = r->size });
	}
	bound_free(uw.range);
	if (!ret && l->n != named)
		ret = sym_sort(l);
	return ret;
}

/* ---- Names that several functions have ----------------------------------------------------------- */

static uint32_t sym_hash(const char *s)
{
	uint32_t h = 2166136261u;
	unsigned n;

	for (n = 0; *s && n < SYM_MAX_NAME; n++)
		h = (h ^ (unsigned char)*s++) * 16777619u;
	return h ^ h >> 15;
}

/* Marks functions that share a name; returns how many, -ENOMEM or -EFBIG. */
static long sym_mark_duplicates(struct sym_list *l)
{
	size_t size = 64, i, at;
	struct sym_slot { uint32_t hash, index; } *slot;
	long found = 0;

	while (size < 2 * l->n)
		size *= 2;
	slot = bound_zalloc(l->bound, "symbols", size, sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	for (i = 0; i < l->n; i++) {
		struct sym_cand *c = &l->c[i], *first;
		uint32_t h;

		if (!c->name)
			continue;
		h = sym_hash(c->name);
		for (at = h & (size - 1); slot[at].index; at = (at + 1) & (size - 1)) {
			first = &l->c[slot[at].index - 1];
			if (bound_steps(l->bound, "names", slot[at].hash == h ? SYM_COMPARE_STEPS : 1))
				goto out;
			if (slot[at].hash != h ||
			    (first->name != c->name && strncmp(first->name, c->name, SYM_MAX_NAME)))
				continue;
			found += 1 + !(first->flags & UFT_FUNC_DUPLICATE);
			first->flags |= UFT_FUNC_DUPLICATE;
			c->flags |= UFT_FUNC_DUPLICATE;
			break;
		}
		if (!slot[at].index)
			slot[at] = (struct sym_slot){ h, i + 1 };
	}
out:
	bound_free(slot);
	return i < l->n ? -EFBIG : found;
}

static int sym_compare_name(const void *a, const void *b)
{
	const struct sym_cand *x = *(struct sym_cand *const *)a, *y = *(struct sym_cand *const *)b;
	int ret = x->name == y->name ? 0 : strncmp(x->name, y->name, SYM_MAX_NAME);

	if (ret || x->file == y->file)
		return ret;
	return strncmp(x->file ? x->file : "", y->file ? y->file : "", SYM_MAX_FILE);
}

static int sym_same(struct sym_cand *const *a, struct sym_cand *const *b)
{
	return !sym_compare_name(a, b);
}

/* Makes helper@a.c, or helper@0x1140 where the file is unknown or has two of them. */
static int sym_name_duplicates(struct uft_object *obj, struct sym_list *l, size_t found)
{
	struct str_pool *pool = &object_priv(obj)->pool;
	struct sym_cand **dup = bound_alloc(l->bound, "names", found, sizeof(*dup));
	const char **text = bound_zalloc(l->bound, "names", found, sizeof(*text));
	char *buf = malloc(SYM_MAX_NAME + SYM_MAX_FILE + 32);
	int ret = dup && text && buf ? 0 : -ENOMEM;
	size_t i, n = 0, bytes = 0;

	for (i = 0; !ret && i < l->n; i++)
		if (l->c[i].flags & UFT_FUNC_DUPLICATE) {
			bytes += strnlen(l->c[i].name, SYM_MAX_NAME);
			dup[n++] = &l->c[i];
		}
	/* Sorting compares each of them once per bit of their number. */
	if (!ret && bound_steps(l->bound, "names", (n + bytes / 16) * (64 - (unsigned)__builtin_clzll(n | 1))))
		ret = -EFBIG;
	if (!ret)
		qsort(dup, n, sizeof(*dup), sym_compare_name);
	for (i = 0; !ret && i < n; i++) {
		int same = (i && sym_same(&dup[i - 1], &dup[i])) || (i + 1 < n && sym_same(&dup[i], &dup[i + 1]));
		int len;

		if (dup[i]->file && !same)
			len = snprintf(buf, SYM_MAX_NAME + SYM_MAX_FILE + 32, "%.*s@%.*s",
				       (int)SYM_MAX_NAME, dup[i]->name, (int)SYM_MAX_FILE, dup[i]->file);
		else
			len = snprintf(buf, SYM_MAX_NAME + SYM_MAX_FILE + 32, "%.*s@0x%llx",
				       (int)SYM_MAX_NAME, dup[i]->name, (unsigned long long)dup[i]->addr);
		/* Over the pool's limit (a hostile file) the plain name remains. */
		text[i] = str_pool_copy(pool, buf, len);
	}
	for (i = 0; !ret && i < n; i++)		/* only now, because the order above is by the plain names */
		if (text[i])
			dup[i]->name = text[i];
	bound_free(dup);
	bound_free(text);
	free(buf);
	return ret;
}

/* ---- All together --------------------------------------------------------------------------------- */

static int sym_publish(struct uft_object *obj, const struct sym_list *l)
{
	size_t i;

	obj->func = bound_alloc(l->bound, "symbols", l->n + 1, sizeof(*obj->func));
	if (!obj->func)
		return -ENOMEM;
	for (i = 0; i < l->n; i++)
		obj->func[i] = (struct uft_func){ l->c[i].addr, l->c[i].size, l->c[i].name, l->c[i].flags };
	obj->nfunc = l->n;
	object_priv(obj)->is_sorted = object_priv(obj)->has_names = 1;
	return 0;
}

/* Makes functions of one name different, and gives the list to the object. */
static int sym_finish(struct uft_object *obj, struct sym_list *l)
{
	long found = sym_mark_duplicates(l);
	int ret = found < 0 ? (int)found : 0;

	if (found > 0)
		ret = sym_name_duplicates(obj, l, (size_t)found);
	return ret ? ret : sym_publish(obj, l);
}

int uft_object_names(struct uft_object *obj, struct uft_error *err)
{
	struct sym_list l = { .bound = object_priv(obj)->view.bound };
	int ret;

	if (object_priv(obj)->has_names)
		return 0;
	if (object_priv(obj)->names_refused)
		return bound_error(l.bound, obj->path, "symbols", err);
	object_load_extra(obj);
	ret = sym_gather_all(obj, &l);
	if (!ret)
		ret = sym_sort(&l);
	if (!ret) {
		sym_unique(&l);
		ret = sym_add_unwind(obj, &l);
	}
	if (!ret)
		ret = sym_finish(obj, &l);
	bound_free(l.c);
	if (!ret)
		return 0;
	ret = bound_error(l.bound, obj->path, "symbols", err);
	object_priv(obj)->names_refused = ret == -EFBIG;
	return ret;
}

/* The object's earlier names rank as labels without a type: a name that covers one replaces it. */
int uft_symbols_extend(struct uft_object *obj, int is_program, uint64_t lo, uint64_t hi)
{
	struct sym_list l = { .bound = object_priv(obj)->view.bound };
	struct uft_func *old = obj->func;
	int ret;

	if (object_priv(obj)->is_extended || !symbols_for(obj, is_program, NULL))
		return 0;
	object_priv(obj)->is_extended = 1;
	ret = sym_gather_given(obj, is_program, lo, hi, &l);
	for (size_t i = 0; !ret && i < obj->nfunc; i++)
		ret = sym_add(&l, (struct sym_cand){ .addr = old[i].addr, .size = old[i].size, .name = old[i].name,
						     .flags = old[i].flags & (UFT_FUNC_LOCAL | UFT_FUNC_CHOOSER),
						     .rank = 100 });
	if (!ret)
		ret = sym_sort(&l);
	if (!ret) {
		sym_unique(&l);
		ret = sym_finish(obj, &l);
	}
	if (!ret)
		bound_free(old);
	bound_free(l.c);
	return ret;
}
