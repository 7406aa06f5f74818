// SPDX-License-Identifier: MIT
/*
 * recordmcount.c - __mcount_loc for objects whose compiler did not make one
 *
 * What it is: -pg and -pg -mfentry put a call of mcount or __fentry__ into every function, but only some
 * compilers list these places (gcc's -mrecord-mcount; clang 14 and gcc for aarch64 have none). As the kernel's
 * scripts/recordmcount does, this finds the calls by their relocations and adds the list: a section
 * __mcount_loc of addresses, one for each call. With nop it also does what the kernel's objtool does
 * with --mnop: each call becomes one nop of its length and its relocation R_X86_64_NONE, so that the program
 * needs no mcount at all and runs at full speed before anything of ours has run in it. Pads of
 * -fpatchable-function-entry that gcc made of one-byte nops become one instruction then (pad.c).
 *
 * What the list looks like, and why not as one section like gcc's:
 *  - One __mcount_loc per text section, SHF_LINK_ORDER to it: --gc-sections then keeps an entry exactly if it
 *    keeps the function. One section for all either keeps every function alive or is dropped as a whole.
 *  - For a text section in a COMDAT group the list (and its relocations) are members of that group: another
 *    object's copy of the function may win, and an entry for the discarded one would break the link (it does
 *    with gcc 12's own -mrecord-mcount).
 *  - SHF_WRITE: a PIE relocates the entries at load; without the flag that needs DT_TEXTREL or is refused.
 *  - Entries are relocated against the section symbol or another local symbol, never against the function's own
 *    name: that one may be weak or interposed and then be another function. Where the assembler left no
 *    local symbol, a section symbol is added. On riscv64 each call gets a label: the linker makes code shorter.
 *
 * Idempotent by construction: an entry is added for a call that no __mcount_loc of the object covers, and a
 * call that became a nop is no call any more.
 *
 * Failure: everything is planned before anything is changed, and the caller gets new contents or none.
 * Differences from the kernel's: no list of section names (every executable section counts), group
 * members stay in their group, no mtime or hard-link tricks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/array.h"
#include "tools/recordmcount/internal.h"

struct rm_site {
	uint32_t sec;		/* text section */
	uint32_t rela_sec, rela;	/* the call's relocation */
	uint64_t offset;	/* of the call in the section */
	const struct rm_call *call;
	int covered;		/* listed already */
	uint32_t label;		/* symbol at the call; 0: none, its section's does */
	int own;		/* the object defines the target */
};

struct rm_pass {
	struct rm_elf e;
	const struct rm_arch *arch;
	const struct uft_recordmcount_options *opt;
	struct uft_recordmcount_result *res;
	struct rm_site *site;
	size_t nsite, cap;
};

/* ---- Finding -------------------------------------------------------------------------------- */

enum { TARGET_NONE, TARGET_MCOUNT, TARGET_FENTRY };

static int target_of(const struct rm_elf *e, const Elf64_Sym *sym)
{
	const char *name = rm_elf_sym_name(e, sym);

	if (!strcmp(name, "__fentry__"))
		return TARGET_FENTRY;
	return !strcmp(name, "mcount") || !strcmp(name, "_mcount") ? TARGET_MCOUNT : TARGET_NONE;
}

static int add_site(struct rm_pass *p, const struct rm_site *site)
{
	if (array_reserve(p->site, p->cap, p->nsite + 1))
		return -ENOMEM;
	p->site[p->nsite++] = *site;
	return 0;
}

static int find_in_rela(struct rm_pass *p, uint32_t rela_sec)
{
	const struct rm_sec *rs = &p->e.sec[rela_sec], *text = &p->e.sec[rs->h.sh_info];

	if (!(text->h.sh_flags & SHF_EXECINSTR) || text->h.sh_type != SHT_PROGBITS || !text->data)
		return 0;
	for (size_t i = 0; i < rm_elf_nrela(rs); i++) {
		Elf64_Rela r = rm_elf_rela(rs, i);
		uint32_t nr = ELF64_R_SYM(r.r_info);
		Elf64_Sym sym = rm_elf_sym(&p->e, nr);
		int target = nr ? target_of(&p->e, &sym) : TARGET_NONE, ret;
		const struct rm_call *call;
		struct rm_site site;

		if (target == TARGET_NONE)
			continue;
		call = rm_arch_call(p->arch, text, &r);
		if (!call) {
			p->res->unknown++;
			continue;
		}
		site = (struct rm_site){ .sec = rs->h.sh_info, .rela_sec = rela_sec, .rela = i,
					 .offset = r.r_offset - call->before, .call = call,
					 .own = rm_elf_sym_section(&p->e, nr, &sym) != 0 };
		ret = add_site(p, &site);
		if (ret)
			return ret;
		p->res->calls++;
		p->res->fentry += target == TARGET_FENTRY;
	}
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct rm_site *x = a, *y = b;

	if (x->sec != y->sec)
		return x->sec < y->sec ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Two relocations at one place are one call; only damaged objects have that. */
static int is_repeated(const struct rm_pass *p, size_t i)
{
	return i && !by_place(&p->site[i - 1], &p->site[i]);
}

/* Marks the sites that an existing __mcount_loc lists. */
static void find_covered(struct rm_pass *p, const struct rm_sec *rs)
{
	for (size_t i = 0; i < rm_elf_nrela(rs); i++) {
		Elf64_Rela r = rm_elf_rela(rs, i);
		uint32_t nr = ELF64_R_SYM(r.r_info);
		Elf64_Sym sym = rm_elf_sym(&p->e, nr);
		struct rm_site key = { .sec = rm_elf_sym_section(&p->e, nr, &sym), .offset = sym.st_value +
			r.r_addend };
		struct rm_site *site;

		if (ELF64_R_TYPE(r.r_info) != p->arch->abs64)
			continue;
		p->res->recorded++;
		site = p->nsite ? bsearch(&key, p->site, p->nsite, sizeof(key), by_place) : NULL;
		while (site && is_repeated(p, site - p->site))
			site--;
		if (site && !site->covered) {
			site->covered = 1;
			p->res->covered++;
		}
	}
}

static int find_sites(struct rm_pass *p)
{
	int ret;

	for (uint32_t i = 1; i < p->e.nsec; i++) {
		if (p->e.sec[i].h.sh_type != SHT_RELA)
			continue;
		ret = find_in_rela(p, i);
		if (ret)
			return ret;
	}
	if (p->nsite)
		qsort(p->site, p->nsite, sizeof(*p->site), by_place);
	for (uint32_t i = 1; i < p->e.nsec; i++) {
		const struct rm_sec *s = &p->e.sec[i];

		if (s->h.sh_type == SHT_RELA && !strcmp(p->e.sec[s->h.sh_info].name, "__mcount_loc"))
			find_covered(p, s);
	}
	return 0;
}

/* First site from @i on that is to be listed, or nsite. */
static size_t next_new(const struct rm_pass *p, size_t i)
{
	while (i < p->nsite && (p->site[i].covered || is_repeated(p, i)))
		i++;
	return i;
}

/* One past the last site in the text section of site @i. */
static size_t section_end(const struct rm_pass *p, size_t i)
{
	uint32_t sec = p->site[i].sec;

	while (i < p->nsite && p->site[i].sec == sec)
		i++;
	return i;
}

/* ---- The list ------------------------------------------------------------------------------- */

/* Gives every new entry what to relocate against: a local symbol of its text section, or a label of its own. */
static int make_base_symbols(struct rm_pass *p)
{
	int labels = p->arch->has_labels, ret = 0;
	uint32_t *need = malloc((p->nsite + 1) * sizeof(*need)), n = 0, first = 0, k = 0;
	uint64_t *at = malloc((p->nsite + 1) * sizeof(*at));
	size_t i;

	if (!need || !at) {
		ret = -ENOMEM;
		goto out;
	}
	for (i = next_new(p, 0); i < p->nsite; i = next_new(p, labels ? i + 1 : section_end(p, i)))
		if (labels || !p->e.sec[p->site[i].sec].base_sym) {
			at[n] = p->site[i].offset;
			need[n++] = p->site[i].sec;
		}
	if (n)
		ret = rm_elf_add_symbols(&p->e, need, labels ? at : NULL, n, &first);
	for (i = next_new(p, 0); labels && i < p->nsite; i = next_new(p, i + 1))
		p->site[i].label = first + k++;
out:
	free(at);
	free(need);
	return ret;
}

/* Adds __mcount_loc and its relocations for the new sites first..end-1, all in one text section. */
static int add_list(struct rm_pass *p, size_t first, size_t end, const long *names)
{
	uint32_t text = p->site[first].sec, group = p->e.sec[text].group, n = 0;
	Elf64_Rela *rela = calloc(end - first, sizeof(*rela));
	uint64_t *zero = calloc(end - first, sizeof(*zero));
	Elf64_Shdr h = { .sh_name = names[0], .sh_type = SHT_PROGBITS, .sh_addralign = 8, .sh_link = text,
			 .sh_flags = SHF_ALLOC | SHF_WRITE | SHF_LINK_ORDER };
	Elf64_Shdr rh = { .sh_name = names[1], .sh_type = SHT_RELA, .sh_addralign = 8, .sh_link = p->e.symtab,
			  .sh_flags = SHF_INFO_LINK, .sh_entsize = sizeof(*rela) };
	long list = -ENOMEM, rels = -ENOMEM;

	if (!rela || !zero)
		goto out;
	for (size_t i = next_new(p, first); i < end; i = next_new(p, i + 1)) {
		const struct rm_sec *s = &p->e.sec[text];
		uint64_t label = p->site[i].label;

		rela[n] = (Elf64_Rela){ .r_offset = 8 * n,
			.r_info = ELF64_R_INFO(label ? label : s->base_sym, p->arch->abs64),
					.r_addend = label ? 0 : p->site[i].offset - s->base_value };
		n++;
	}
	list = rm_elf_add_section(&p->e, &h, zero, 8 * n);
	if (list < 0)
		goto out;
	rh.sh_info = list;
	rels = rm_elf_add_section(&p->e, &rh, rela, n * sizeof(*rela));
	p->res->added += n;
	if (rels >= 0 && group) {
		long ret = rm_elf_group_add(&p->e, group, list);

		if (!ret)
			ret = rm_elf_group_add(&p->e, group, rels);
		if (ret)
			rels = ret;
	}
out:
	free(zero);
	free(rela);
	return list < 0 ? list : rels < 0 ? rels : 0;
}

static int add_lists(struct rm_pass *p)
{
	long names[2];
	int ret;

	if (next_new(p, 0) == p->nsite)
		return 0;
	ret = make_base_symbols(p);
	names[0] = rm_elf_name(&p->e, "__mcount_loc");
	names[1] = rm_elf_name(&p->e, ".rela__mcount_loc");
	if (!ret && (names[0] < 0 || names[1] < 0))
		ret = -ENOMEM;
	for (size_t i = next_new(p, 0); i < p->nsite && !ret; i = next_new(p, section_end(p, i)))
		ret = add_list(p, i, section_end(p, i), names);
	return ret;
}

/* ---- Nops ----------------------------------------------------------------------------------- */

/*
 * The name that was called is needed by nobody once its last relocation is gone. Left strong and
 * undefined it would still pull mcount out of a static libc, so it becomes weak.
 */
static void weaken_target(struct rm_pass *p, uint32_t nr)
{
	Elf64_Sym sym = rm_elf_sym(&p->e, nr);

	for (uint32_t i = 1; i < p->e.nsec; i++) {
		const struct rm_sec *s = &p->e.sec[i];

		if (s->h.sh_type != SHT_RELA)
			continue;
		for (size_t k = 0; k < rm_elf_nrela(s); k++)
			if (ELF64_R_SYM(rm_elf_rela(s, k).r_info) == nr)
				return;
	}
	sym.st_info = ELF64_ST_INFO(STB_WEAK, ELF64_ST_TYPE(sym.st_info));
	rm_elf_set_sym(&p->e, nr, &sym);
}

static void make_nops(struct rm_pass *p)
{
	uint32_t targets[4], n = 0;

	for (size_t i = 0; i < p->nsite; i++) {
		const struct rm_site *site = &p->site[i];
		struct rm_sec *rs = &p->e.sec[site->rela_sec];
		Elf64_Rela r = rm_elf_rela(rs, site->rela);
		uint32_t nr = ELF64_R_SYM(r.r_info), k = 0;

		if (site->own) {
			p->res->own++;
			continue;
		}
		while (k < n && targets[k] != nr)
			k++;
		if (k == n && n < sizeof(targets) / sizeof(targets[0]))
			targets[n++] = nr;
		memcpy(p->e.sec[site->sec].data + site->offset, site->call->nop, site->call->len);
		r.r_info = 0;	/* R_*_NONE is 0 on every architecture */
		r.r_addend = 0;
		rm_elf_set_rela(rs, site->rela, &r);
		p->res->nopped++;
	}
	for (uint32_t k = 0; k < n; k++)
		weaken_target(p, targets[k]);
}

int uft_recordmcount_image(const char *name, const void *in, size_t len, const struct uft_recordmcount_options *opt,
			   struct uft_recordmcount_result *res, void **out, size_t *out_len, struct uft_error *err)
{
	struct rm_pass p = { .opt = opt, .res = res };
	int ret;

	memset(res, 0, sizeof(*res));
	*out = NULL;
	*out_len = 0;
	ret = rm_elf_open(&p.e, name, in, len, err);
	if (ret)
		goto out;
	p.arch = rm_arch_find(p.e.eh.e_machine);
	res->link_time_code = p.e.lto;
	ret = opt->pads_only ? 0 : find_sites(&p);
	if (!ret)
		ret = add_lists(&p);
	if (ret)
		goto close;
	ret = rm_pads(&p.e, p.arch, opt, res);
	if (ret)
		goto close;
	if (opt->nop)
		make_nops(&p);
	res->changed = res->added || res->nopped || res->joined;
	if (res->changed)
		ret = rm_elf_write(&p.e, out, out_len);
close:
	rm_elf_close(&p.e);
	free(p.site);
out:
	if (ret == -ENOMEM)
		uft_fail(err, ret, "%s: not enough memory", name);
	return ret;
}
