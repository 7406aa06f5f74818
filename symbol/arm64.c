/* SPDX-License-Identifier: MIT */
/*
 * arm64.c - what sites look like on arm64
 *
 *	[nop...] f: [bti c] nop nop	-fpatchable-function-entry=2 and more, before paciasp: the last two
 *	... bl _mcount		-pg, behind the prologue: by way of a PLT entry, or direct in a static program
 */
#include "symbol/arm64.h"

#include <elf.h>
#include <string.h>

#include "runtime/arch/arm64/encode.h"
#include "symbol/object_internal.h"

#define MCOUNT_BYTES	128	/* a call of _mcount lies within so many of the entry */

static uint32_t word(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void find_slots(struct arm64_calls *c, const struct elf_view *v, const struct elf_relocs *r, unsigned *n)
{
	Elf64_Rela rela;
	Elf64_Sym sym;

	for (size_t i = 0; i < r->n && *n < 2; i++) {
		const char *name;

		elf_rela(r, i, &rela);
		if (!ELF64_R_SYM(rela.r_info) || ELF64_R_SYM(rela.r_info) >= v->dyn.n)
			continue;
		elf_sym(&v->dyn, ELF64_R_SYM(rela.r_info), &sym);
		name = elf_sym_name(&v->dyn, &sym);
		if (name && !strcmp(name, "_mcount"))
			c->slot[(*n)++] = rela.r_offset;
	}
}

void arm64_calls_init(struct arm64_calls *c, struct uft_object *obj)
{
	const struct elf_view *v = &object_priv(obj)->view;
	unsigned n = 0;

	memset(c, 0, sizeof(*c));
	c->obj = obj;
	find_slots(c, v, &v->jmprel, &n);
	find_slots(c, v, &v->rela, &n);
	c->func = uft_object_symbol(obj, "_mcount", NULL);
}

/* The GOT slot that the PLT entry at @at jumps through: [bti c] adrp x16, page; ldr x17, [x16, #offset]; ... 0: it is none. */
static uint64_t plt_slot(const struct arm64_calls *c, uint64_t at)
{
	size_t avail;
	const uint8_t *p = object_code(c->obj, at, &avail);
	uint32_t adrp, ldr;
	int64_t page;

	if (p && avail >= 4 && a64_is_bti(word(p))) {
		p += 4;
		at += 4;
		avail -= 4;
	}
	if (!p || avail < 8)
		return 0;
	adrp = word(p);
	ldr = word(p + 4);
	if ((adrp & 0x9f00001fu) != 0x90000010u || (ldr & 0xffc003ffu) != 0xf9400211u)
		return 0;
	page = (int64_t)(int32_t)((adrp >> 5 & 0x7ffffu) << 13) >> 11 | (adrp >> 29 & 3);
	return (at & ~0xfffull) + ((uint64_t)page << 12) + (ldr >> 10 & 0xfffu) * 8;
}

static int leads_to_mcount(const struct arm64_calls *c, uint64_t target)
{
	uint64_t slot;

	if (c->func && target == c->func)
		return 1;
	if (!c->slot[0])
		return 0;
	slot = plt_slot(c, target);
	return slot && (slot == c->slot[0] || slot == c->slot[1]);
}

int arm64_is_pad(const uint8_t *p, size_t n)
{
	size_t at;

	for (at = 0; at + 4 <= n; at += 4)
		if (word(p + at) != A64_NOP && !a64_is_bti(word(p + at)))
			return 0;
	return at == n && n;
}

static int is_site(const uint8_t *p)
{
	return word(p) == A64_NOP && word(p + 4) == A64_NOP;
}

long arm64_pad_site(const uint8_t *p, size_t n)
{
	return n >= 8 && arm64_is_pad(p, n) && is_site(p + n - 8) ? (long)n - 8 : -1;
}

long arm64_site(const struct arm64_calls *c, uint64_t func, const uint8_t *p, size_t n, unsigned *kind, unsigned *len)
{
	size_t at = n >= 4 && a64_is_bti(word(p)) ? 4 : 0;

	*len = 0;
	*kind = UFT_SITE_NOPS;
	if (n >= at + 8 && is_site(p + at)) {
		while (n >= at + 12 && is_site(p + at + 4))
			at += 4;
		*len = 8;
		return (long)at;
	}
	if (n >= at + 4 && word(p + at) == A64_NOP)
		*len = 4;
	*kind = UFT_SITE_MCOUNT_CALL;
	for (at = 0; at + 4 <= n && at < MCOUNT_BYTES && (c->func || c->slot[0]); at += 4)
		if (a64_is_bl(word(p + at)) && leads_to_mcount(c, a64_branch_target(word(p + at), func + at))) {
			*len = 4;
			return (long)at;
		}
	return -1;
}
