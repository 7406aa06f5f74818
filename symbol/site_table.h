/* SPDX-License-Identifier: MIT */
/* site_table.h - __patchable_function_entries and __mcount_loc of an object */
#ifndef UFT_SYMBOL_SITE_TABLE_H
#define UFT_SYMBOL_SITE_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct elf_view;

/* A table of site addresses: __patchable_function_entries or __mcount_loc. */
struct site_table {
	uint64_t *addr;		/* sorted, each once, none 0 */
	uint8_t *seen;		/* 1: the entry belongs to a known function */
	size_t n, at;		/* at: entries before it lie before the current function */
	size_t raw, zeros;	/* entries in the file; dangling ones, which are 0 */
};

/* Adds all sections of @name. 0, -ENOMEM or -EFBIG. The caller frees addr and seen (bound_free()), also on error. */
int site_read_table(struct elf_view *v, const char *name, struct site_table *t);

/* Sorts addresses; sorted ones are only read. */
void site_sort_addrs(uint64_t *addr, size_t n);

/* Returns the index of the first entry not below @from, to go on from there. @from must rise from call to call. */
size_t site_table_from(struct site_table *t, uint64_t from);

/* Counts the entries that belong to no known function. */
size_t site_table_unseen(const struct site_table *t);

#endif
