// SPDX-License-Identifier: MIT
/*
 * elf.c - a relocatable object in memory: checked reading, and growing without moving anything
 *
 * Objects and ownership: struct rm_elf owns a copy of the file (image) and an array of sections. Bytes
 * that keep their length are changed in the image. What is new or has grown lives in a block of its own and
 * is appended after the old contents when writing, followed by a new section header table. Nothing that
 * is in the file moves, so that parts nobody here understands (debug information, link-time code, vendor
 * sections) stay right. The price is the few dead bytes of the old header table and of grown sections.
 *
 * Input is hostile: rm_elf_open() checks every offset, size, index and link that anybody uses later, once;
 * accessors after it need no checks. Structures are copied in and out because the file may be misaligned.
 *
 * Symbols can be added only before sh_info (ELF wants local ones first), which renumbers all global ones;
 * rm_elf_add_symbols() changes every user: relocations, group signatures, the extended index table.
 * SHT_LLVM_ADDRSIG holds symbol numbers too; its sh_link is cleared, which tells linkers to ignore it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/array.h"
#include "tools/recordmcount/internal.h"

#ifndef SHT_LLVM_ADDRSIG
#define SHT_LLVM_ADDRSIG 0x6fff4c03
#endif

#define DAMAGED(e, fmt, ...) uft_fail((e)->err, -ENOEXEC, "%s: damaged ELF file: " fmt, (e)->name, ##__VA_ARGS__)

/* ---- Accessors: valid after rm_elf_open() --------------------------------------------------- */

Elf64_Sym rm_elf_sym(const struct rm_elf *e, uint32_t i)
{
	Elf64_Sym sym = { 0 };

	if (i >= e->nsym)
		return sym;
	memcpy(&sym, e->sec[e->symtab].data + (size_t)i * sizeof(sym), sizeof(sym));
	return sym;
}

void rm_elf_set_sym(struct rm_elf *e, uint32_t i, const Elf64_Sym *sym)
{
	memcpy(e->sec[e->symtab].data + (size_t)i * sizeof(*sym), sym, sizeof(*sym));
}

const char *rm_elf_sym_name(const struct rm_elf *e, const Elf64_Sym *sym)
{
	const struct rm_sec *str = &e->sec[e->sec[e->symtab].h.sh_link];

	return sym->st_name < str->h.sh_size ? (const char *)str->data + sym->st_name : "";
}

static uint32_t word_at(const uint8_t *data, size_t i)
{
	uint32_t w;

	memcpy(&w, data + 4 * i, 4);
	return w;
}

uint32_t rm_elf_sym_section(const struct rm_elf *e, uint32_t i, const Elf64_Sym *sym)
{
	uint32_t shndx = sym->st_shndx;

	if (shndx == SHN_XINDEX)
		shndx = e->symxndx ? word_at(e->sec[e->symxndx].data, i) : 0;
	else if (shndx >= SHN_LORESERVE)
		return 0;
	return shndx < e->nsec ? shndx : 0;
}

size_t rm_elf_nrela(const struct rm_sec *s)
{
	return s->h.sh_size / sizeof(Elf64_Rela);
}

Elf64_Rela rm_elf_rela(const struct rm_sec *s, size_t i)
{
	Elf64_Rela r;

	memcpy(&r, s->data + i * sizeof(r), sizeof(r));
	return r;
}

void rm_elf_set_rela(struct rm_sec *s, size_t i, const Elf64_Rela *r)
{
	memcpy(s->data + i * sizeof(*r), r, sizeof(*r));
}

/* ---- Reading -------------------------------------------------------------------------------- */

static int check_header(struct rm_elf *e)
{
	const uint8_t *id = e->image;
	char arches[64];

	if (e->image_len >= 8 && (!memcmp(id, "!<arch>\n", 8) || !memcmp(id, "!<thin>\n", 8)))
		return uft_fail(e->err, -ENOEXEC,
				"%s: is an archive: run recordmcount on the objects before they are put into it",
				e->name);
	if (e->image_len >= 4 && (!memcmp(id, "BC\xc0\xde", 4) || !memcmp(id, "\xde\xc0\x17\x0b", 4)))
		return uft_fail(e->err, -ENOEXEC, "%s: is LLVM bitcode (-flto): its calls are made when it is linked; "
				"build with -fpatchable-function-entry or without -flto", e->name);
	if (e->image_len < 4 || memcmp(id, ELFMAG, SELFMAG))
		return uft_fail(e->err, -ENOEXEC, "%s: not an ELF file", e->name);
	if (e->image_len < EI_NIDENT)
		return DAMAGED(e, "it ends within the header");
	if (id[EI_CLASS] != ELFCLASS64 || id[EI_DATA] != ELFDATA2LSB)
		return uft_fail(e->err, -EPFNOSUPPORT, "%s: is for a 32-bit or big-endian machine", e->name);
	if (e->image_len < sizeof(e->eh))
		return DAMAGED(e, "it ends within the header");
	memcpy(&e->eh, id, sizeof(e->eh));
	if (e->eh.e_type != ET_REL)
		return uft_fail(e->err, -EINVAL,
				"%s: is not a relocatable object (.o): recordmcount works before linking",
				e->name);
	if (!rm_arch_find(e->eh.e_machine)) {
		rm_arch_names(arches, sizeof(arches));
		return uft_fail(e->err, -EPFNOSUPPORT, "%s: is for ELF machine %u: recordmcount knows %s", e->name,
				e->eh.e_machine, arches);
	}
	return 0;
}

static int in_file(const struct rm_elf *e, uint64_t offset, uint64_t size)
{
	return offset <= e->image_len && size <= e->image_len - offset;
}

static int read_sections(struct rm_elf *e)
{
	Elf64_Shdr first;
	uint64_t n = e->eh.e_shnum;

	e->shstrndx = e->eh.e_shstrndx;
	if (!e->eh.e_shoff || e->eh.e_shentsize != sizeof(Elf64_Shdr) || !in_file(e, e->eh.e_shoff, sizeof(first)))
		return DAMAGED(e, "it ends before its section table, or has none");
	memcpy(&first, e->image + e->eh.e_shoff, sizeof(first));
	if (!n)
		n = first.sh_size;
	if (e->shstrndx == SHN_XINDEX)
		e->shstrndx = first.sh_link;
	if (!n || n > e->image_len / sizeof(first) || !in_file(e, e->eh.e_shoff, n * sizeof(first)))
		return DAMAGED(e, "its section table of %llu entries reaches beyond the end of the file",
			       (unsigned long long)n);
	e->sec = calloc(n, sizeof(*e->sec));
	if (!e->sec)
		return -ENOMEM;
	e->nsec = e->cap = n;
	for (uint32_t i = 0; i < n; i++) {
		struct rm_sec *s = &e->sec[i];

		memcpy(&s->h, e->image + e->eh.e_shoff + i * sizeof(s->h), sizeof(s->h));
		s->name = "";
		if (!i || s->h.sh_type == SHT_NULL || s->h.sh_type == SHT_NOBITS)
			continue;
		if (!in_file(e, s->h.sh_offset, s->h.sh_size))
			return DAMAGED(e, "section %u reaches beyond the end of the file", i);
		s->data = e->image + s->h.sh_offset;
	}
	return 0;
}

static int is_string_table(const struct rm_elf *e, uint32_t i)
{
	const struct rm_sec *s;

	if (!i || i >= e->nsec)
		return 0;
	s = &e->sec[i];
	return s->h.sh_type == SHT_STRTAB && s->data && s->h.sh_size && !s->data[s->h.sh_size - 1];
}

static int name_sections(struct rm_elf *e)
{
	const struct rm_sec *str;

	if (!is_string_table(e, e->shstrndx))
		return DAMAGED(e, "no table of section names");
	str = &e->sec[e->shstrndx];
	for (uint32_t i = 1; i < e->nsec; i++) {
		struct rm_sec *s = &e->sec[i];

		if (s->h.sh_name >= str->h.sh_size)
			return DAMAGED(e, "the name of section %u lies outside the name table", i);
		s->name = (const char *)str->data + s->h.sh_name;
		if (!strncmp(s->name, ".gnu.lto_", 9))
			e->lto = 1;
	}
	return 0;
}

static int check_symbols(struct rm_elf *e, uint32_t i)
{
	const struct rm_sec *s = &e->sec[i];

	if (e->symtab)
		return DAMAGED(e, "two symbol tables");
	if (s->h.sh_entsize != sizeof(Elf64_Sym) || s->h.sh_size % sizeof(Elf64_Sym) || !s->h.sh_size ||
	    s->h.sh_size / sizeof(Elf64_Sym) > UINT32_MAX || s->h.sh_info > s->h.sh_size / sizeof(Elf64_Sym) ||
	    !s->h.sh_info)
		return DAMAGED(e, "the symbol table (section %u) has a wrong size", i);
	if (!is_string_table(e, s->h.sh_link))
		return DAMAGED(e, "the symbol table (section %u) has no names", i);
	e->symtab = i;
	e->nsym = s->h.sh_size / sizeof(Elf64_Sym);
	return 0;
}

static int check_rela(struct rm_elf *e, uint32_t i)
{
	const struct rm_sec *s = &e->sec[i];

	if (s->h.sh_entsize != sizeof(Elf64_Rela) || s->h.sh_size % sizeof(Elf64_Rela) ||
	    s->h.sh_link != e->symtab || s->h.sh_info >= e->nsec)
		return DAMAGED(e, "the relocation table %s (section %u) is inconsistent", s->name, i);
	for (size_t k = 0; k < rm_elf_nrela(s); k++)
		if (ELF64_R_SYM(rm_elf_rela(s, k).r_info) >= (e->symtab ? e->nsym : 1))
			return DAMAGED(e, "relocation %zu of %s names a symbol that does not exist", k, s->name);
	return 0;
}

static int check_group(struct rm_elf *e, uint32_t i)
{
	const struct rm_sec *s = &e->sec[i];

	if (s->h.sh_size < 4 || s->h.sh_size % 4 || s->h.sh_link != e->symtab || s->h.sh_info >= e->nsym)
		return DAMAGED(e, "the section group %u is inconsistent", i);
	for (size_t k = 1; k < s->h.sh_size / 4; k++) {
		uint32_t member = word_at(s->data, k);

		if (!member || member >= e->nsec || e->sec[member].group)
			return DAMAGED(e, "the section group %u has a wrong member %u", i, member);
		e->sec[member].group = i;
	}
	return 0;
}

/* Only renumbered, never looked into: LLVM puts its call graph profile there. */
static int check_rel(struct rm_elf *e, uint32_t i)
{
	const struct rm_sec *s = &e->sec[i];

	if (s->h.sh_entsize != sizeof(Elf64_Rel) || s->h.sh_size % sizeof(Elf64_Rel))
		return DAMAGED(e, "the relocation table %s (section %u) is inconsistent", s->name, i);
	return 0;
}

static int by_offset(const void *a, const void *b)
{
	const Elf64_Shdr *x = *(const Elf64_Shdr *const *)a, *y = *(const Elf64_Shdr *const *)b;

	return x->sh_offset < y->sh_offset ? -1 : x->sh_offset > y->sh_offset;
}

/* Sections are changed in place: what one change does must not undo the checks of another section. */
static int check_overlap(struct rm_elf *e)
{
	const Elf64_Shdr **order = malloc(e->nsec * sizeof(*order));
	size_t n = 0;
	int ret = 0;

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 1; i < e->nsec; i++)
		if (e->sec[i].data && e->sec[i].h.sh_size)
			order[n++] = &e->sec[i].h;
	qsort(order, n, sizeof(*order), by_offset);
	for (size_t i = 1; i < n && !ret; i++)
		if (order[i]->sh_offset - order[i - 1]->sh_offset < order[i - 1]->sh_size)
			ret = DAMAGED(e, "two sections overlap at offset %llu",
				      (unsigned long long)order[i]->sh_offset);
	free(order);
	return ret;
}

static int check_tables(struct rm_elf *e)
{
	int ret = 0;

	for (uint32_t i = 1; i < e->nsec && !ret; i++)
		if (e->sec[i].h.sh_type == SHT_SYMTAB)
			ret = check_symbols(e, i);
	for (uint32_t i = 1; i < e->nsec && !ret; i++) {
		const struct rm_sec *s = &e->sec[i];

		if (s->h.sh_type == SHT_RELA) {
			ret = check_rela(e, i);
		} else if (s->h.sh_type == SHT_REL) {
			ret = check_rel(e, i);
		} else if (s->h.sh_type == SHT_GROUP) {
			ret = check_group(e, i);
		} else if (s->h.sh_type == SHT_SYMTAB_SHNDX && s->h.sh_link == e->symtab) {
			if (s->h.sh_size != 4ull * e->nsym)
				ret = DAMAGED(e, "the extended index table (section %u) has a wrong size", i);
			e->symxndx = i;
		}
	}
	return ret;
}

/*
 * The symbol that entries of a section are relocated against: local, so that it names this copy of the
 * function even if the function is weak, interposed, or the other copy of a COMDAT group wins.
 */
static void find_base_symbols(struct rm_elf *e)
{
	uint32_t nlocal = e->symtab ? e->sec[e->symtab].h.sh_info : 0;

	for (uint32_t i = 1; i < nlocal; i++) {
		Elf64_Sym sym = rm_elf_sym(e, i);
		uint32_t shndx = rm_elf_sym_section(e, i, &sym);
		struct rm_sec *s = &e->sec[shndx];
		unsigned type = ELF64_ST_TYPE(sym.st_info);

		if (!shndx || ELF64_ST_BIND(sym.st_info) != STB_LOCAL || type > STT_SECTION)
			continue;
		if (s->base_sym && type != STT_SECTION)
			continue;
		s->base_sym = i;
		s->base_value = sym.st_value;
	}
}

int rm_elf_open(struct rm_elf *e, const char *name, const void *in, size_t len, struct uft_error *err)
{
	int ret;

	memset(e, 0, sizeof(*e));
	e->name = name;
	e->err = err;
	e->image = malloc(len ? len : 1);
	if (!e->image)
		return -ENOMEM;
	memcpy(e->image, in, len);
	e->image_len = len;
	ret = check_header(e);
	if (!ret)
		ret = read_sections(e);
	if (!ret)
		ret = name_sections(e);
	if (!ret)
		ret = check_overlap(e);
	if (!ret)
		ret = check_tables(e);
	if (!ret)
		find_base_symbols(e);
	else
		rm_elf_close(e);
	return ret;
}

void rm_elf_close(struct rm_elf *e)
{
	for (uint32_t i = 0; i < e->nsec; i++)
		free(e->sec[i].block);
	free(e->sec);
	free(e->image);
	memset(e, 0, sizeof(*e));
}

/* ---- Growing -------------------------------------------------------------------------------- */

/* Makes room for @grow more bytes at @at in a section; its bytes move to a block of their own. */
static uint8_t *sec_insert(struct rm_sec *s, size_t at, size_t grow)
{
	uint8_t *block = malloc(s->h.sh_size + grow);

	if (!block)
		return NULL;
	if (at)
		memcpy(block, s->data, at);
	memset(block + at, 0, grow);
	if (s->h.sh_size > at)
		memcpy(block + at + grow, s->data + at, s->h.sh_size - at);
	free(s->block);
	s->block = s->data = block;
	s->h.sh_size += grow;
	return block + at;
}

long rm_elf_name(struct rm_elf *e, const char *name)
{
	struct rm_sec *str = &e->sec[e->shstrndx];
	size_t len = strlen(name) + 1, at = str->h.sh_size;

	for (uint32_t i = 1; i < e->nsec; i++)
		if (!strcmp((const char *)str->data + e->sec[i].h.sh_name, name))
			return e->sec[i].h.sh_name;
	if (!sec_insert(str, at, len))
		return -ENOMEM;
	memcpy(str->data + at, name, len);
	for (uint32_t i = 1; i < e->nsec; i++)
		e->sec[i].name = (const char *)str->data + e->sec[i].h.sh_name;
	return at;
}

long rm_elf_add_section(struct rm_elf *e, const Elf64_Shdr *h, const void *data, size_t len)
{
	struct rm_sec *s;

	if (array_reserve(e->sec, e->cap, e->nsec + 1))
		return -ENOMEM;
	s = &e->sec[e->nsec];
	memset(s, 0, sizeof(*s));
	s->h = *h;
	s->h.sh_size = 0;
	if (!sec_insert(s, 0, len))
		return -ENOMEM;
	memcpy(s->data, data, len);
	s->name = (const char *)e->sec[e->shstrndx].data + h->sh_name;
	return e->nsec++;
}

int rm_elf_group_add(struct rm_elf *e, uint32_t group, uint32_t member)
{
	struct rm_sec *g = &e->sec[group];
	uint8_t *at = sec_insert(g, g->h.sh_size, 4);

	if (!at)
		return -ENOMEM;
	memcpy(at, &member, 4);
	e->sec[member].h.sh_flags |= SHF_GROUP;
	e->sec[member].group = group;
	return 0;
}

/* REL and RELA entries begin alike: the offset, then the symbol number and the type in one word. */
static void renumber_relocs(struct rm_sec *s, uint32_t first_global, uint32_t n)
{
	for (size_t at = sizeof(Elf64_Addr); at < s->h.sh_size; at += s->h.sh_entsize) {
		uint64_t info;

		memcpy(&info, s->data + at, sizeof(info));
		if (ELF64_R_SYM(info) < first_global)
			continue;
		info = ELF64_R_INFO(ELF64_R_SYM(info) + n, ELF64_R_TYPE(info));
		memcpy(s->data + at, &info, sizeof(info));
	}
}

/* Global symbols went up by @n: follow in everything that holds symbol numbers. */
static void renumber_users(struct rm_elf *e, uint32_t first_global, uint32_t n)
{
	for (uint32_t i = 1; i < e->nsec; i++) {
		struct rm_sec *s = &e->sec[i];

		if (s->h.sh_type == SHT_GROUP && s->h.sh_info >= first_global)
			s->h.sh_info += n;
		if (s->h.sh_type == SHT_LLVM_ADDRSIG)
			s->h.sh_link = 0;
		if (s->h.sh_type == SHT_RELA || s->h.sh_type == SHT_REL)
			renumber_relocs(s, first_global, n);
	}
}

int rm_elf_add_symbols(struct rm_elf *e, const uint32_t *sections, const uint64_t *values, uint32_t n, uint32_t *first)
{
	struct rm_sec *tab = &e->sec[e->symtab];
	uint32_t first_global = tab->h.sh_info;

	if (!sec_insert(tab, (size_t)first_global * sizeof(Elf64_Sym), (size_t)n * sizeof(Elf64_Sym)))
		return -ENOMEM;
	tab->h.sh_info += n;
	e->nsym += n;
	if (e->symxndx && !sec_insert(&e->sec[e->symxndx], (size_t)first_global * 4, (size_t)n * 4))
		return -ENOMEM;
	renumber_users(e, first_global, n);
	*first = first_global;
	for (uint32_t i = 0; i < n; i++) {
		Elf64_Sym sym = { .st_info = ELF64_ST_INFO(STB_LOCAL, values ? STT_NOTYPE : STT_SECTION),
				  .st_shndx = sections[i], .st_value = values ? values[i] : 0 };

		/* A section beyond SHN_LORESERVE holds a function symbol, so the extended table exists. */
		if (sections[i] >= SHN_LORESERVE) {
			if (!e->symxndx)
				return DAMAGED(e, "symbols of section %u need an extended index table", sections[i]);
			sym.st_shndx = SHN_XINDEX;
			memcpy(e->sec[e->symxndx].data + 4 * (size_t)(first_global + i), &sections[i], 4);
		}
		rm_elf_set_sym(e, first_global + i, &sym);
		if (values)
			continue;
		e->sec[sections[i]].base_sym = first_global + i;
		e->sec[sections[i]].base_value = 0;
	}
	return 0;
}

/* ---- Writing -------------------------------------------------------------------------------- */

static uint64_t align_up(uint64_t v, uint64_t align)
{
	return align > 1 && align <= 4096 ? (v + align - 1) / align * align : v;
}

/* Places the blocks after the old contents and returns where the section header table goes. */
static uint64_t place_blocks(struct rm_elf *e)
{
	uint64_t at = e->image_len;

	for (uint32_t i = 1; i < e->nsec; i++) {
		struct rm_sec *s = &e->sec[i];

		if (!s->block)
			continue;
		at = align_up(at, s->h.sh_addralign);
		s->h.sh_offset = at;
		at += s->h.sh_size;
	}
	return align_up(at, 8);
}

int rm_elf_write(struct rm_elf *e, void **out, size_t *out_len)
{
	uint64_t shoff = place_blocks(e);
	size_t len = shoff + (size_t)e->nsec * sizeof(Elf64_Shdr);
	uint8_t *to = calloc(1, len);

	if (!to)
		return -ENOMEM;
	e->eh.e_shoff = shoff;
	e->eh.e_shnum = e->nsec < SHN_LORESERVE ? e->nsec : 0;
	if (e->nsec >= SHN_LORESERVE)
		e->sec[0].h.sh_size = e->nsec;
	memcpy(to, e->image, e->image_len);
	memcpy(to, &e->eh, sizeof(e->eh));
	for (uint32_t i = 0; i < e->nsec; i++) {
		const struct rm_sec *s = &e->sec[i];

		if (s->block)
			memcpy(to + s->h.sh_offset, s->block, s->h.sh_size);
		memcpy(to + shoff + i * sizeof(s->h), &s->h, sizeof(s->h));
	}
	*out = to;
	*out_len = len;
	return 0;
}
