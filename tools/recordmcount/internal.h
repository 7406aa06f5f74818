/* SPDX-License-Identifier: MIT */
/* internal.h - between the parts of recordmcount: the object in memory (elf.c), pads (pad.c) and the table (arch.c) */
#ifndef UFT_TOOLS_RECORDMCOUNT_INTERNAL_H
#define UFT_TOOLS_RECORDMCOUNT_INTERNAL_H

#include <elf.h>

#include "tools/recordmcount/recordmcount.h"

/*
 * One section. `data` points at its bytes: into rm_elf.image as read, or to a block of its own once the
 * section is new or has grown (`block` then owns it, and the bytes in the image are left unused).
 */
struct rm_sec {
	Elf64_Shdr h;
	uint8_t *data;		/* NULL for SHT_NOBITS and empty ones */
	uint8_t *block;
	const char *name;
	uint32_t group;		/* index of the SHT_GROUP section it is a member of; 0 none */
	uint32_t base_sym;	/* a local symbol defined in it to relocate against; 0 none known */
	uint64_t base_value;	/* that symbol's value */
};

struct rm_elf {
	const char *name;
	struct uft_error *err;
	uint8_t *image;		/* our copy of the file; changes of unchanged length are made in it */
	size_t image_len;
	Elf64_Ehdr eh;
	struct rm_sec *sec;
	uint32_t nsec, cap;
	uint32_t shstrndx;
	uint32_t symtab;	/* section index, 0: no symbols */
	uint32_t symxndx;	/* its SHT_SYMTAB_SHNDX, 0 none */
	uint32_t nsym;
	int lto;		/* has .gnu.lto_ sections */
};

/* Copies @in, checks all that is used later, fills @e. On error everything is freed. */
int rm_elf_open(struct rm_elf *e, const char *name, const void *in, size_t len, struct uft_error *err);
void rm_elf_close(struct rm_elf *e);
/* The file with every change: malloc'd. */
int rm_elf_write(struct rm_elf *e, void **out, size_t *out_len);

Elf64_Sym rm_elf_sym(const struct rm_elf *e, uint32_t i);
void rm_elf_set_sym(struct rm_elf *e, uint32_t i, const Elf64_Sym *sym);
const char *rm_elf_sym_name(const struct rm_elf *e, const Elf64_Sym *sym);
/* Section index a symbol is defined in; 0: undefined, absolute or common. */
uint32_t rm_elf_sym_section(const struct rm_elf *e, uint32_t i, const Elf64_Sym *sym);
size_t rm_elf_nrela(const struct rm_sec *s);
Elf64_Rela rm_elf_rela(const struct rm_sec *s, size_t i);
void rm_elf_set_rela(struct rm_sec *s, size_t i, const Elf64_Rela *r);

/* Offset of @name in the table of section names, appended if it is not there; negative errno. */
long rm_elf_name(struct rm_elf *e, const char *name);
/* Appends a section with a copy of @data (sh_size is set); returns its index or a negative errno. */
long rm_elf_add_section(struct rm_elf *e, const Elf64_Shdr *h, const void *data, size_t len);
/* Makes @member a member of section group @group. */
int rm_elf_group_add(struct rm_elf *e, uint32_t group, uint32_t member);
/*
 * Inserts symbols before the first global one and renumbers all users. @values NULL: STT_SECTION symbols for
 * the given sections; else labels at these offsets of them, the first of which becomes *first.
 */
int rm_elf_add_symbols(struct rm_elf *e, const uint32_t *sections, const uint64_t *values, uint32_t n, uint32_t *first);

/*
 * How one architecture calls mcount. A call is found by its relocation: type, addend and the bytes around
 * the relocated field must all fit. A new architecture is one row in rm_arches[] and its calls.
 */
struct rm_call {
	uint32_t type;		/* relocation */
	int32_t addend;
	uint8_t before;		/* opcode bytes before the relocated field */
	uint8_t len;		/* of the whole instruction */
	uint8_t mask[8], bytes[8];	/* what the instruction must look like, under the mask */
	uint8_t nop[8];
};

/* Pads of -fpatchable-function-entry that are several instructions: what one nop of the call's length replaces. */
struct rm_pad {
	uint8_t len;		/* 0: this architecture has none */
	uint8_t bytes[8], nop[8];
	uint8_t landing_len, landing[4];	/* what may stand between the symbol and the pad */
};

struct rm_arch {
	uint16_t machine;
	const char *name;
	uint32_t abs64;		/* relocation of an address */
	int has_labels;		/* each call needs a symbol of its own: the linker moves code and no addends */
	struct rm_pad pad;
	const struct rm_call *calls;
	size_t ncalls;
};

const struct rm_arch *rm_arch_find(uint16_t machine);
/* Text for people: the machines of the table. */
void rm_arch_names(char *text, size_t size);
/* The row that fits relocation @r of @sec, NULL if none. */
const struct rm_call *rm_arch_call(const struct rm_arch *arch, const struct rm_sec *sec, const Elf64_Rela *r);

/* pad.c: counts the pads at listed entries in @res; with opt->nop those of several nops become one. */
int rm_pads(struct rm_elf *e, const struct rm_arch *arch, const struct uft_recordmcount_options *opt,
	    struct uft_recordmcount_result *res);

#endif
