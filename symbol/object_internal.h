/* SPDX-License-Identifier: MIT */
/* object_internal.h - an object's data that the files of symbol/ share */
#ifndef UFT_SYMBOL_OBJECT_INTERNAL_H
#define UFT_SYMBOL_OBJECT_INTERNAL_H

#include <pthread.h>
#include <sys/types.h>

#include "symbol/elf_view.h"
#include "symbol/namefile.h"
#include "symbol/object.h"

/* Strings that live as long as their object. */
struct str_pool {
	struct str_chunk *chunks;
	size_t left, total, limit;	/* bytes; limit 0: none */
	struct parse_bound *bound;	/* bound of the file; NULL: none */
};
char *str_pool_copy(struct str_pool *p, const char *s, size_t len);	/* NULL: no memory, or over the limit */
void str_pool_free(struct str_pool *p);

struct object_priv {
	struct elf_view view;		/* nph = nsh = 0 for an object without a file */
	struct elf_view extra[2];	/* .gnu_debugdata and the separate debug file, once names are loaded */
	unsigned nextra;
	const char *debug_path;		/* of the separate debug file, in the pool */
	const char *info_path;		/* path of the file with debug information, once it was searched */
	uint64_t *rel_addr;		/* ET_REL: address given to each section; ~0: none */
	struct str_pool pool;
	pthread_mutex_t sites_lock;	/* held while sites are searched */
	int has_sites, has_names, is_sorted, has_file, is_extended;
	int sites_refused, names_refused;	/* they would cost too much: not tried again */
	/* identity in the cache */
	struct uft_object *next;
	dev_t dev;
	ino_t ino;
};

static inline struct object_priv *object_priv(const struct uft_object *obj)
{
	return obj->priv;
}

static inline const struct uft_text *object_text(const struct uft_object *obj, uint64_t addr)
{
	size_t i;

	for (i = 0; i < obj->ntext; i++)
		if (addr >= obj->text[i].addr && addr < obj->text[i].end)
			return &obj->text[i];
	return NULL;
}

/* Address of a symbol of the main file: st_value, or where an ET_REL's section was laid. ~0: undefined. */
uint64_t object_sym_addr(const struct uft_object *obj, const Elf64_Sym *s);

/* File bytes at @addr of executable text; *avail bytes follow. NULL: none. */
const uint8_t *object_code(struct uft_object *obj, uint64_t addr, size_t *avail);

/* 1 if @addr lies in a .plt section. */
int object_in_plt(const struct uft_object *obj, uint64_t addr);
int object_in_text(const struct uft_object *obj, uint64_t addr);	/* ordinary code, as far as the section tells */

/*
 * sites.c: the kind of pad at @p: UFT_SITE_NOP or NOPS and its length (at most 15), or UFT_SITE_NONE and the number of
 * bytes of nops.
 */
unsigned object_pad(const uint8_t *p, size_t avail, unsigned *len);

/* relobj.c */
int object_rel_layout(struct uft_object *obj, struct uft_error *err);
int object_rel_sites(struct uft_object *obj, struct uft_error *err);

/* object.c */
int object_from_view(struct elf_view *v, const char *path, struct uft_object **out, struct uft_error *err);

/* Appends a site, growing the list. NULL: no memory. */
struct uft_site *object_add_site(struct uft_object *obj, size_t *room, uint64_t addr, uint64_t func, unsigned kind,
				 unsigned len, unsigned source, unsigned skip);
void object_sort_sites(struct uft_object *obj);

/* namefile.c: the next rule that --symbols gave for @obj; NULL: no more. */
struct symbol_rule {
	struct symbol_rule *next;
	char *object;			/* path or glob; NULL: the program of a recording */
	char *file;
	struct uft_names names;
	int used;			/* atomic: some object has a name from it */
};
struct symbol_rule *symbols_for(const struct uft_object *obj, int is_program, struct symbol_rule *after);

/*
 * debuginfod.c: returns the path of the debug file of @obj's build-id, fetched from the servers in $DEBUGINFOD_URLS;
 * malloc'd.
 */
char *debuginfod_fetch(const struct uft_object *obj);

/* debugfile.c: opens .gnu_debugdata and the separate debug file, if any, into priv->extra. */
void object_load_extra(struct uft_object *obj);
/* Returns the path of the file that has @obj's debug information, or of its own; malloc'd. NULL: none. */
char *object_debug_info(struct uft_object *obj);

#endif
