/* SPDX-License-Identifier: MIT */
/*
 * site_table.c - the compiler's tables of sites, as addresses in order
 *
 * A table may be in several sections, unsorted, with entries of 0 where a function was dropped at link, and in a PIE
 * its entries are in relocations. sites.c searches by functions; entries that no function asked for are found by their
 * `seen` byte.
 */
#include <errno.h>

#include "symbol/elf_view.h"
#include "symbol/site_table.h"
#include "symbol/sorted.h"
#include "symbol/table.h"

void site_sort_addrs(uint64_t *addr, size_t n)
{
	size_t i;

	for (i = 1; i < n && addr[i - 1] <= addr[i]; i++)
		;
	if (i < n)
		SORT_NUMBERS(addr, n);
}

/* Linkers sort relocations by address. Returns the first one from @addr on, if they are sorted. */
static size_t site_first_relocation(const struct elf_view *v, uint64_t addr)
{
	Elf64_Rela r;

	return SORTED_FIRST(i, v->rela.n, (elf_rela(&v->rela, i, &r), r.r_offset >= addr));
}

/* Applies relocations that follow one another, one for each entry, without a search. 0: they do not. */
static int site_apply_run(const struct elf_view *v, const Elf64_Shdr *sh, uint64_t *addr, size_t n)
{
	size_t i, first = site_first_relocation(v, sh->sh_addr);
	Elf64_Rela r;

	if (n > v->rela.n - first)
		return 0;
	for (i = 0; i < n; i++) {
		elf_rela(&v->rela, first + i, &r);
		if (r.r_offset != sh->sh_addr + 8 * i || ELF64_R_TYPE(r.r_info) != elf_relative(v))
			return 0;
		addr[i] = r.r_addend;
	}
	return 1;
}

/* In a PIE the entries are 0 in the file and the addresses in the RELATIVE relocations. 0 or -EFBIG. */
static int site_read_entries(const struct elf_view *v, const Elf64_Shdr *sh, const uint8_t *p, uint64_t *addr,
			      size_t n)
{
	Elf64_Rela r;
	size_t i;

	if (site_apply_run(v, sh, addr, n))
		return 0;
	if (bound_steps(v->bound, "relocations of sites", v->rela.n))
		return -EFBIG;
	for (i = 0; i < n; i++)
		addr[i] = elf_get64(p + 8 * i);
	for (i = 0; i < v->rela.n; i++) {
		elf_rela(&v->rela, i, &r);
		if (r.r_offset - sh->sh_addr < n * 8 && ELF64_R_TYPE(r.r_info) == elf_relative(v))
			addr[(r.r_offset - sh->sh_addr) / 8] = r.r_addend;
	}
	return 0;
}

int site_read_table(struct elf_view *v, const char *name, struct site_table *t)
{
	size_t s, len, i, n;
	const uint8_t *p;
	uint64_t *grown;

	for (s = elf_section(v, name, 0); s; s = elf_section(v, name, s + 1)) {
		p = elf_section_data(v, s, &len);
		n = len / 8;
		if (!p || !n)
			continue;
		if (t->n + n > v->size / 8)	/* sections of a hostile file may overlap */
			break;
		grown = bound_grow(v->bound, "sites", t->addr, t->n + n, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		t->addr = grown;
		table_populate(grown + t->n, n * sizeof(*grown));
		if (site_read_entries(v, &v->sh[s], p, t->addr + t->n, n))
			return -EFBIG;
		t->n += n;
	}
	site_sort_addrs(t->addr, t->n);
	t->raw = t->n;
	for (i = n = 0; i < t->raw; i++) {
		if (!t->addr[i])
			t->zeros++;
		else if (!n || t->addr[n - 1] != t->addr[i])
			t->addr[n++] = t->addr[i];
	}
	t->n = n;
	t->seen = bound_zalloc(v->bound, "sites", n + 1, 1);
	return t->seen ? 0 : -ENOMEM;
}

size_t site_table_from(struct site_table *t, uint64_t from)
{
	while (t->at < t->n && t->addr[t->at] < from)
		t->at++;
	return t->at;
}

size_t site_table_unseen(const struct site_table *t)
{
	size_t i, n = 0;

	for (i = 0; i < t->n; i++)
		n += !t->seen[i];
	return n;
}
