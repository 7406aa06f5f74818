// SPDX-License-Identifier: MIT
/*
 * pad.c - gcc's pads of one-byte nops become one nop, before the program exists
 *
 * -fpatchable-function-entry=5 leaves a single 5-byte nop in clang's code and five one-byte nops in gcc's,
 * which cost about a cycle a call. In an object the pads are known exactly: __patchable_function_entries has
 * a relocation for each. A pad is joined only where a symbol (or its endbr64) says that the function begins
 * there, so that the part of an =N,M pad that lies before the function keeps its form, and only if nothing
 * else is named inside: compilers make no jump into a pad, but hand-written code may name what it likes. What
 * follows the first 5 bytes of a longer pad stays.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/recordmcount/internal.h"

struct place {
	uint32_t sec;
	uint64_t offset;
};

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->sec != y->sec)
		return x->sec < y->sec ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Where symbols of code are, sorted. Section symbols say nothing: any address may be relative to them. */
static struct place *symbol_places(const struct rm_elf *e, size_t *n)
{
	struct place *all = calloc((size_t)e->nsym + 1, sizeof(*all));

	*n = 0;
	for (uint32_t i = 1; all && i < e->nsym; i++) {
		Elf64_Sym sym = rm_elf_sym(e, i);
		uint32_t sec = rm_elf_sym_section(e, i, &sym);

		if (sec && ELF64_ST_TYPE(sym.st_info) != STT_SECTION)
			all[(*n)++] = (struct place){ .sec = sec, .offset = sym.st_value };
	}
	if (all)
		qsort(all, *n, sizeof(*all), by_place);
	return all;
}

/* First of the sorted places that is not before @sec, @offset. */
static size_t first_from(const struct place *all, size_t n, uint32_t sec, uint64_t offset)
{
	const struct place key = { .sec = sec, .offset = offset };
	size_t low = 0;

	while (low < n) {
		size_t mid = low + (n - low) / 2;

		if (by_place(&all[mid], &key) < 0)
			low = mid + 1;
		else
			n = mid;
	}
	return low;
}

static int has_symbol(const struct place *all, size_t n, uint32_t sec, uint64_t from, uint64_t end)
{
	size_t i = first_from(all, n, sec, from);

	return i < n && all[i].sec == sec && all[i].offset < end;
}

/* The bytes of a pad of several nops at a function's entry; NULL: not one. */
static uint8_t *pad_at(const struct rm_elf *e, const struct rm_pad *pad, const struct place *sym, size_t nsym,
		       uint32_t sec, uint64_t at)
{
	const struct rm_sec *s = &e->sec[sec];
	uint64_t entry = at;

	if (!pad->len || s->h.sh_type != SHT_PROGBITS || !(s->h.sh_flags & SHF_EXECINSTR) || !s->data ||
	    s->h.sh_size < pad->len || at > s->h.sh_size - pad->len || memcmp(s->data + at, pad->bytes, pad->len))
		return NULL;
	if (at >= pad->landing_len && !memcmp(s->data + at - pad->landing_len, pad->landing, pad->landing_len))
		entry = at - pad->landing_len;
	if (!has_symbol(sym, nsym, sec, entry, entry + 1) || has_symbol(sym, nsym, sec, entry + 1, at) ||
	    has_symbol(sym, nsym, sec, at + 1, at + pad->len))
		return NULL;
	return s->data + at;
}

static void pads_of_list(struct rm_elf *e, const struct rm_arch *arch, const struct rm_sec *list,
			 const struct place *sym,
			 size_t nsym, const struct uft_recordmcount_options *opt, struct uft_recordmcount_result *res)
{
	for (size_t i = 0; i < rm_elf_nrela(list); i++) {
		Elf64_Rela r = rm_elf_rela(list, i);
		uint32_t nr = ELF64_R_SYM(r.r_info);
		Elf64_Sym base = rm_elf_sym(e, nr);
		uint32_t sec = rm_elf_sym_section(e, nr, &base);
		uint8_t *pad;

		if (ELF64_R_TYPE(r.r_info) != arch->abs64 || !sec)
			continue;
		res->pads++;
		pad = pad_at(e, &arch->pad, sym, nsym, sec, base.st_value + r.r_addend);
		if (!pad)
			continue;
		res->many++;
		if (!opt->nop && !opt->pads_only)
			continue;
		memcpy(pad, arch->pad.nop, arch->pad.len);
		res->joined++;
	}
}

int rm_pads(struct rm_elf *e, const struct rm_arch *arch, const struct uft_recordmcount_options *opt,
	    struct uft_recordmcount_result *res)
{
	struct place *sym;
	size_t nsym;

	sym = symbol_places(e, &nsym);
	if (!sym)
		return -ENOMEM;
	for (uint32_t i = 1; i < e->nsec; i++) {
		const struct rm_sec *s = &e->sec[i];

		if (s->h.sh_type == SHT_RELA && !strcmp(e->sec[s->h.sh_info].name, "__patchable_function_entries"))
			pads_of_list(e, arch, s, sym, nsym, opt, res);
	}
	free(sym);
	return 0;
}
