// SPDX-License-Identifier: MIT
/*
 * entry_table.c - the table of an object's entries
 */
#include "control/relocate/internal.h"
#include "symbol/sorted.h"

size_t entries_index(const struct entries *e, uint64_t addr)
{
	size_t lo = SORTED_FIRST(i, e->n, e->entry[i].func > addr);

	return lo ? lo - 1 : e->n;
}

struct entry *entries_find(const struct entries *e, uint64_t func)
{
	size_t i = entries_index(e, func);

	return i < e->n && e->entry[i].func == func ? &e->entry[i] : NULL;
}

int entries_is_ours(const struct entries_priv *pr, uint64_t addr, unsigned n)
{
	for (size_t i = 0; i < pr->nours; i++)
		if (addr < pr->ours[i].addr + pr->ours[i].size && pr->ours[i].addr < addr + n)
			return 1;
	return 0;
}

int entry_is_part(const struct scan_text *t, const struct entry *f)
{
	size_t at = f->func - t->addr;

	return !f->before && !scan_bit(t->called, at) && (scan_bit(t->part, at) || f->func & (FUNCTION_ALIGN - 1));
}
