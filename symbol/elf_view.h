/* SPDX-License-Identifier: MIT */
/*
 * elf_view.h - internal to symbol/: a checked view of the bytes of an ELF file
 *
 * Every byte of the file is hostile. No pointer into it is dereferenced in place: headers are copied out, and all other
 * access goes through functions that check offset and length against the file first, so a damaged file gives "not
 * there" and never a fault. Work and memory have one bound for each file (parse_bound.h).
 *
 * uft does not use libelf, because it needs about a tenth of it, wants the same code for files, for files in memory
 * (.gnu_debugdata, archive members) and for files without section headers, and wants to run all of it under the
 * sanitizers in the fuzzer.
 */
#ifndef UFT_SYMBOL_ELF_VIEW_H
#define UFT_SYMBOL_ELF_VIEW_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "symbol/parse_bound.h"

enum elf_memory { ELF_BORROWED, ELF_MAPPED, ELF_COPIED, ELF_MALLOCED };

struct elf_strtab {
	const char *s;
	size_t len;		/* s[len - 1] is 0; 0: no table */
};

struct elf_symtab {
	const uint8_t *sym;	/* Elf64_Sym, unaligned */
	size_t n;
	struct elf_strtab str;
};

struct elf_relocs {
	const uint8_t *rela;	/* Elf64_Rela, unaligned */
	size_t n;
};

struct elf_view {
	const uint8_t *data;
	size_t size;
	enum elf_memory memory;
	struct parse_bound *bound;
	Elf64_Ehdr eh;
	Elf64_Phdr *ph;
	size_t nph;
	Elf64_Shdr *sh;
	size_t nsh;
	struct elf_strtab shstr;
	unsigned last_load;	/* index of the PT_LOAD that was found last */
	/* from PT_DYNAMIC, so they work without section headers */
	struct elf_symtab dyn;
	struct elf_relocs rela, jmprel;
	const uint8_t *versym;	/* dyn.n half words, or NULL */
	uint64_t verneed, verneed_num;
	int has_interp, has_needed;
};

/* Returns the machine's type of relocation that adds the load address. */
static inline unsigned elf_relative(const struct elf_view *v)
{
	return v->eh.e_machine == EM_AARCH64 ? R_AARCH64_RELATIVE : v->eh.e_machine == EM_RISCV ? R_RISCV_RELATIVE :
		R_X86_64_RELATIVE;
}

/* Returns the machine's type of relocation that calls a resolver function. */
static inline unsigned elf_irelative(const struct elf_view *v)
{
	return v->eh.e_machine == EM_AARCH64 ? R_AARCH64_IRELATIVE : v->eh.e_machine == EM_RISCV ? 58 :
		R_X86_64_IRELATIVE;
}

/* Opens and checks headers. 0, -ENOEXEC (not ELF, damaged), -EPFNOSUPPORT (other machine), -errno of open. */
int elf_open(struct elf_view *v, const char *path, struct uft_error *err);
/* The same for bytes in memory; @name is for messages. With ELF_MALLOCED elf_close() frees @data. */
int elf_open_memory(struct elf_view *v, const void *data, size_t size, enum elf_memory memory, const char *name,
		    struct uft_error *err);
void elf_close(struct elf_view *v);
/*
 * Opens a regular file, whatever the name leads to (open_regular.h). Returns a descriptor or a negative errno; empty:
 * -ENOEXEC. @name: for messages.
 */
int elf_open_file(const char *path, const char *name, struct stat *st, struct uft_error *err);
/* The same as elf_open() for a descriptor of elf_open_file(), which it closes. */
int elf_open_fd(struct elf_view *v, int fd, const struct stat *st, const char *name, struct uft_error *err);
/*
 * Maps the bytes of a regular file, read-only. Copies them if a user other than root and uft's can change the file,
 * because a string that was checked must still have its end later. 0 or a negative errno. Undo by elf_unmap().
 */
int elf_map_file(const char *path, const uint8_t **data, size_t *size, enum elf_memory *memory, struct uft_error *err);
void elf_unmap(const void *data, size_t size, enum elf_memory memory);

/* File bytes [off, off + len), or NULL. */
const uint8_t *elf_bytes(const struct elf_view *v, uint64_t off, uint64_t len);
/* File bytes from @vaddr of a loaded segment on; *avail gets how many follow. NULL: not in the file. */
const uint8_t *elf_at(struct elf_view *v, uint64_t vaddr, size_t *avail);
/* The same, but NULL unless @len bytes are there. */
const uint8_t *elf_at_len(struct elf_view *v, uint64_t vaddr, size_t len);

/* Section by name at or after index @from; 0: none (section 0 is never one). */
size_t elf_section(const struct elf_view *v, const char *name, size_t from);
const char *elf_section_name(const struct elf_view *v, size_t i);
/* Contents of a section, NULL without any; *len bytes. */
const uint8_t *elf_section_data(const struct elf_view *v, size_t i, size_t *len);
/* Symbol table of type SHT_SYMTAB or SHT_DYNSYM; n 0: none. */
void elf_symtab_find(const struct elf_view *v, uint32_t type, struct elf_symtab *out);

/* Inline, as elf_rela(), because whole tables are read at start. @i < t->n. */
static inline void elf_sym(const struct elf_symtab *t, size_t i, Elf64_Sym *out)
{
	memcpy(out, t->sym + i * sizeof(*out), sizeof(*out));
}

static inline int elf_sym_is_func(const Elf64_Sym *s)
{
	return ELF64_ST_TYPE(s->st_info) == STT_FUNC || ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC;
}

const char *elf_sym_name(const struct elf_symtab *t, const Elf64_Sym *s);	/* "" without a name */
/* Has the table a symbol of this name, defined or not? */
int elf_symtab_has(const struct elf_symtab *t, const char *name, int is_defined);
static inline void elf_rela(const struct elf_relocs *t, size_t i, Elf64_Rela *out)
{
	memcpy(out, t->rela + i * sizeof(*out), sizeof(*out));
}

/* Name of the version that dynamic symbol @i needs ("GLIBC_2.2.5"), NULL: unversioned. */
const char *elf_sym_version(struct elf_view *v, size_t i);

/* NT_GNU_BUILD_ID; returns its length, 0: none. */
uint32_t elf_build_id(const struct elf_view *v, uint8_t *out, uint32_t max);

/* Notes of the loaded segments, one after the other; start with a zeroed structure. 0: no more. */
struct elf_note {
	uint32_t type, owner_len, desc_len;
	const uint8_t *owner, *desc;
	uint64_t desc_addr;
	size_t segment, at;	/* where to go on */
};
int elf_note_next(const struct elf_view *v, struct elf_note *note);

static inline uint32_t elf_get32(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t elf_get64(const uint8_t *p)
{
	return elf_get32(p) | (uint64_t)elf_get32(p + 4) << 32;
}

#endif
