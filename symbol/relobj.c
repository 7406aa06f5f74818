/* SPDX-License-Identifier: MIT */
/*
 * relobj.c - relocatable objects (.o) and archives of them (.a)
 *
 * Such an object is not linked yet, so its relocations tell which calls go to mcount or __fentry__, and where the
 * entries of the tables point. The executable sections get addresses of their own, one behind the other from 0 (as
 * objdump shows the first), so that sites, functions and code are found as in a linked file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/arch/x86_64/encode.h"
#include "symbol/calls.h"
#include "symbol/isa.h"
#include "symbol/object_internal.h"

/* ---- Sites ------------------------------------------------------------------------------------ */

struct rel_scan {
	struct uft_object *obj;
	struct elf_view *v;
	struct elf_symtab syms;
	size_t room;
	int has_own;		/* the object itself defines mcount or __fentry__ */
};

/* Returns the entry of the function that holds @addr; @addr itself if that is unknown. */
static uint64_t rel_function(struct rel_scan *s, uint64_t addr)
{
	const struct uft_func *f = uft_object_func(s->obj, addr);

	return f ? f->addr : addr;
}

/* The same for instructions of whole words: the relocation's type tells that it is a call. */
static int rel_call_words(struct rel_scan *s, const struct isa *isa, size_t sec, const Elf64_Rela *r)
{
	uint64_t at = object_priv(s->obj)->rel_addr[sec] + r->r_offset;
	unsigned type = ELF64_R_TYPE(r->r_info), kind = s->has_own ? UFT_SITE_OWN_CALL : UFT_SITE_MCOUNT_CALL;

	if ((type != isa->call_type[0] && type != isa->call_type[1]) || s->v->sh[sec].sh_size < isa->mcount_len ||
	    r->r_offset > s->v->sh[sec].sh_size - isa->mcount_len)
		return 0;
	return object_add_site(s->obj, &s->room, at, rel_function(s, at), kind, isa->mcount_len, UFT_FROM_RELOC,
			       UFT_SKIP_NONE) ?
	       0 : -ENOMEM;
}

/* Adds a call site: a relocation of executable section @sec whose symbol is mcount or __fentry__. */
static int rel_call(struct rel_scan *s, size_t sec, const Elf64_Rela *r, unsigned what)
{
	uint64_t base = object_priv(s->obj)->rel_addr[sec], at = r->r_offset;
	const uint8_t *p = elf_bytes(s->v, s->v->sh[sec].sh_offset, s->v->sh[sec].sh_size);
	unsigned kind = what == CALLEE_FENTRY ? UFT_SITE_FENTRY_CALL : UFT_SITE_MCOUNT_CALL, len;

	if (isa_of(s->obj))
		return rel_call_words(s, isa_of(s->obj), sec, r);
	if (s->v->sh[sec].sh_size < 5 || at < 1 || at > s->v->sh[sec].sh_size - 4)
		return 0;
	if (p[at - 1] == UFT_OP_CALL)
		len = at > 1 && p[at - 2] == UFT_PFX_ADDRSIZE ? 6 : 5;
	else if (at > 1 && uft_insn_is_call_indirect(p + at - 2))
		len = 6;
	else
		return 0;
	at = base + at + 4 - len;
	if (s->has_own)
		kind = UFT_SITE_OWN_CALL;
	return object_add_site(s->obj, &s->room, at, rel_function(s, at), kind, len, UFT_FROM_RELOC, UFT_SKIP_NONE) ?
	       0 : -ENOMEM;
}

/* Adds a table's entry for instructions of whole words: @addr, in the function at @func. */
static int rel_entry_words(struct rel_scan *s, const struct isa *isa, uint64_t addr, uint64_t func, int is_mcount)
{
	const struct isa_calls none = { .obj = s->obj };
	unsigned kind = UFT_SITE_MCOUNT_NOP, len = isa->mcount_len;
	size_t avail;
	const uint8_t *p = object_code(s->obj, is_mcount ? addr : func, &avail);
	long at = 0;

	if (!p || (is_mcount && (avail < len || !isa->is_pad(p, len))))
		return 0;	/* a call: its own relocation tells more */
	if (!is_mcount) {
		addr = func;
		at = isa->site(&none, func, p, avail, &kind, &len);
	}
	if (at < 0)
		kind = UFT_SITE_NONE;
	return object_add_site(s->obj, &s->room, addr + (at < 0 ? 0 : (uint64_t)at), func, kind, len, UFT_FROM_RELOC,
			       at < 0 ? UFT_SKIP_PAD_SMALL : UFT_SKIP_NONE) ? 0 : -ENOMEM;
}

/* Adds a table entry whose relocation points at @addr. */
static int rel_entry(struct rel_scan *s, uint64_t addr, int is_mcount)
{
	uint64_t func = rel_function(s, addr), before = 0;
	unsigned kind, len, skip = UFT_SKIP_NONE;
	size_t avail;
	const uint8_t *p;

	/* N,M: the entry lies before its function; the pad behind the function's start decides. */
	if (!is_mcount && func == addr) {
		size_t i;

		for (i = 0; i < s->obj->nfunc; i++)
			if (s->obj->func[i].addr >= addr) {
				if (s->obj->func[i].addr - addr < 256)
					func = s->obj->func[i].addr;
				break;
			}
	}
	if (isa_of(s->obj))
		return rel_entry_words(s, isa_of(s->obj), addr,
				       func > addr || !is_mcount ? func : rel_function(s, addr), is_mcount);
	if (func > addr) {
		before = func - addr;
		addr = func;
	}
	p = object_code(s->obj, addr, &avail);
	if (p && avail >= UFT_LEN_ENDBR && uft_insn_is_endbr(p)) {
		addr += UFT_LEN_ENDBR;
		p += UFT_LEN_ENDBR;
		avail -= UFT_LEN_ENDBR;
	}
	if (!p)
		return 0;
	kind = object_pad(p, avail, &len);
	if (kind == UFT_SITE_NONE && is_mcount)
		return 0;	/* a call: its own relocation tells more */
	if (kind == UFT_SITE_NONE && len >= 2 && before >= 5 && addr == func) {
		kind = UFT_SITE_PREPAD;
	} else if (kind == UFT_SITE_NONE && before >= 5) {
		kind = UFT_SITE_CODE;
		len = before < 15 ? (unsigned)before : 15;
		skip = UFT_SKIP_BEFORE;
		s->obj->nbefore++;
	} else if (kind == UFT_SITE_NONE) {
		skip = UFT_SKIP_PAD_SMALL;
	} else if (is_mcount && addr != func && addr != func + UFT_LEN_ENDBR) {
		kind = UFT_SITE_MCOUNT_NOP;
	}
	return object_add_site(s->obj, &s->room, addr, func, kind, len, UFT_FROM_RELOC, skip) ? 0 : -ENOMEM;
}

static int rel_section(struct rel_scan *s, size_t rel)
{
	struct object_priv *priv = object_priv(s->obj);
	size_t sec = s->v->sh[rel].sh_info, len, i;
	struct elf_relocs t = { elf_section_data(s->v, rel, &len), len / sizeof(Elf64_Rela) };
	const char *name = elf_section_name(s->v, sec);
	int is_mcount = !strcmp(name, "__mcount_loc"), is_table, ret = 0;

	is_table = is_mcount || !strcmp(name, "__patchable_function_entries");
	if (sec >= s->v->nsh || (!is_table && priv->rel_addr[sec] == ~0ull))
		return 0;
	if (bound_steps(s->v->bound, "relocations", t.n))
		return -EFBIG;
	for (i = 0; !ret && i < t.n; i++) {
		uint64_t addr;
		unsigned what;
		Elf64_Rela r;
		Elf64_Sym sym;

		elf_rela(&t, i, &r);
		if (ELF64_R_SYM(r.r_info) >= s->syms.n)
			continue;
		elf_sym(&s->syms, ELF64_R_SYM(r.r_info), &sym);
		if (is_table) {
			addr = object_sym_addr(s->obj, &sym);
			if (addr != ~0ull)
				ret = rel_entry(s, addr + r.r_addend, is_mcount);
			continue;
		}
		what = callee_by_name(elf_sym_name(&s->syms, &sym));
		if (what)
			ret = rel_call(s, sec, &r, what);
	}
	return ret;
}

static int rel_defines_own(const struct rel_scan *s)
{
	Elf64_Sym sym;
	size_t i;

	for (i = 1; i < s->syms.n; i++) {
		elf_sym(&s->syms, i, &sym);
		if (sym.st_shndx != SHN_UNDEF && callee_by_name(elf_sym_name(&s->syms, &sym)))
			return 1;
	}
	return 0;
}

int object_rel_sites(struct uft_object *obj, struct uft_error *err)
{
	struct rel_scan s = { .obj = obj, .v = &object_priv(obj)->view };
	size_t i, len;
	int ret;

	ret = uft_object_names(obj, err);
	if (ret)
		return ret;
	elf_symtab_find(s.v, SHT_SYMTAB, &s.syms);
	s.has_own = rel_defines_own(&s);
	for (i = 1; !ret && i < s.v->nsh; i++) {
		const char *name = elf_section_name(s.v, i);

		if (!strcmp(name, "__patchable_function_entries") && elf_section_data(s.v, i, &len))
			obj->nsections_pfe += len / 8;
		else if (!strcmp(name, "__mcount_loc") && elf_section_data(s.v, i, &len))
			obj->nsections_mcount += len / 8;
		else if (s.v->sh[i].sh_type == SHT_RELA)
			ret = rel_section(&s, i);
	}
	if (ret)
		return bound_error(s.v->bound, obj->path, "sites", err);
	object_sort_sites(obj);
	return 0;
}

const char *uft_object_reloc(struct uft_object *obj, uint64_t addr, size_t len)
{
	struct object_priv *priv = object_priv(obj);
	const struct elf_view *v = &priv->view;
	struct elf_symtab syms;
	size_t rel, i, bytes;

	if (obj->type != ET_REL || !priv->rel_addr)
		return NULL;
	elf_symtab_find(v, SHT_SYMTAB, &syms);
	for (rel = 1; rel < v->nsh; rel++) {
		size_t sec = v->sh[rel].sh_info;
		struct elf_relocs t;

		if (v->sh[rel].sh_type != SHT_RELA || sec >= v->nsh || priv->rel_addr[sec] == ~0ull ||
		    addr - priv->rel_addr[sec] >= v->sh[sec].sh_size)
			continue;
		t.rela = elf_section_data(v, rel, &bytes);
		t.n = bytes / sizeof(Elf64_Rela);
		for (i = 0; i < t.n; i++) {
			Elf64_Rela r;
			Elf64_Sym sym;

			elf_rela(&t, i, &r);
			/* A relocation without a symbol tells the linker which code it may make shorter. */
			if (r.r_offset + priv->rel_addr[sec] - addr >= len || !ELF64_R_SYM(r.r_info) ||
			    ELF64_R_SYM(r.r_info) >= syms.n)
				continue;
			elf_sym(&syms, ELF64_R_SYM(r.r_info), &sym);
			if (ELF64_ST_TYPE(sym.st_info) == STT_SECTION && sym.st_shndx < v->nsh)
				return elf_section_name(v, sym.st_shndx);
			return elf_sym_name(&syms, &sym);
		}
	}
	return NULL;
}

/* ---- Archives --------------------------------------------------------------------------------- */

#define AR_MAGIC	"!<arch>\n"
#define AR_HEADER	60u

/* A member's name: short ones end with '/', long ones are "/offset" into the table of the member "//". */
static void ar_name(const char *field, const char *table, size_t table_len, char *out, size_t max)
{
	const char *s = field;
	size_t n = 16, off, len = 0;

	if (field[0] == '/' && field[1] >= '0' && field[1] <= '9') {
		off = strtoul(field + 1, NULL, 10);
		s = off < table_len ? table + off : "";
		n = off < table_len ? table_len - off : 0;
	}
	while (len < n && len < max - 1 && s[len] != '/' && s[len] != '\n' && s[len])
		len++;
	memcpy(out, s, len);
	out[len] = 0;
}

static int ar_member(const char *path, const char *name, const uint8_t *data, size_t size,
		     int (*fn)(void *arg, struct uft_object *obj), void *arg, struct uft_error *err)
{
	size_t n = strlen(path) + strlen(name) + 3;
	char *full = malloc(n);
	struct uft_object *obj;
	struct elf_view v;
	uint8_t *copy;
	int ret;

	if (!full)
		return -ENOMEM;
	snprintf(full, n, "%s(%s)", path, name);
	/* Copies it, because a member may outlive the archive's mapping. */
	copy = malloc(size + 1);	/* of a file that is mapped as a whole, or copied */
	ret = copy ? 0 : uft_fail(err, -ENOMEM, "%s: no memory", full);
	if (!ret) {
		memcpy(copy, data, size);
		ret = elf_open_memory(&v, copy, size, ELF_MALLOCED, full, err);
	}
	if (!ret)
		ret = object_from_view(&v, full, &obj, err);
	free(full);
	if (ret)
		return ret;
	ret = fn(arg, obj);
	uft_object_put(obj);
	return ret;
}

int uft_archive_each(const char *path, int (*fn)(void *arg, struct uft_object *obj), void *arg,
		     struct uft_error *err)
{
	const char *table = NULL;
	size_t size, at, len, table_len = 0;
	enum elf_memory memory;
	const uint8_t *data;
	char name[256];
	int ret = elf_map_file(path, &data, &size, &memory, err);

	if (ret)
		return ret;
	if (size < 8 || memcmp(data, AR_MAGIC, 8)) {
		elf_unmap(data, size, memory);
		return uft_fail(err, -ENOEXEC, "%s: not an archive", path);
	}
	for (at = 8; !ret && at < size; at += AR_HEADER + len + (len & 1)) {
		const char *h = (const char *)data + at;
		char digits[11];

		if (size - at < AR_HEADER || h[58] != '`' || h[59] != '\n') {
			ret = uft_fail(err, -ENOEXEC, "%s: damaged archive at offset %zu", path, at);
			break;
		}
		memcpy(digits, h + 48, 10);
		digits[10] = 0;
		len = strtoul(digits, NULL, 10);
		if (len > size - at - AR_HEADER) {
			ret = uft_fail(err, -ENOEXEC, "%s: damaged archive: a member is cut off", path);
			break;
		}
		if (!memcmp(h, "// ", 3)) {
			table = h + AR_HEADER;
			table_len = len;
		} else if (len >= 20 && !memcmp(h + AR_HEADER, ELFMAG, SELFMAG)) {
			ar_name(h, table, table_len, name, sizeof(name));
			ret = ar_member(path, name, (const uint8_t *)h + AR_HEADER, len, fn, arg, err);
		}
	}
	elf_unmap(data, size, memory);
	return ret;
}
