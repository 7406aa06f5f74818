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
	uint8_t *seen;		/* a function answers for it */
	size_t n, at;		/* at: everything before it is behind the current function */
	size_t raw, zeros;	/* entries in the file; those that are 0: dangling */
};

/* Adds all sections of @name. 0, -ENOMEM or -EFBIG; the caller frees addr and seen (bound_free()), also then. */
int site_read_table(struct elf_view *v, const char *name, struct site_table *t);

/* Sorts addresses; those that are sorted already are only looked at. */
void site_sort_addrs(uint64_t *addr, size_t n);

/* Index of the first entry not below @from, to walk on from there. Calls come with rising @from. */
size_t site_table_from(struct site_table *t, uint64_t from);

/* How many entries no function answered for. */
size_t site_table_unseen(const struct site_table *t);

#endif
