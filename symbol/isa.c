/* SPDX-License-Identifier: MIT */
/* isa.c - where calls of _mcount lead, on machines with instructions of whole words */
#include "symbol/isa.h"

#include <elf.h>
#include <string.h>

static void find_slots(struct isa_calls *c, const struct elf_view *v, const struct elf_relocs *r, unsigned *n)
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

void isa_calls_init(struct isa_calls *c, struct uft_object *obj)
{
	const struct elf_view *v = &object_priv(obj)->view;
	unsigned n = 0;

	memset(c, 0, sizeof(*c));
	c->obj = obj;
	find_slots(c, v, &v->jmprel, &n);
	find_slots(c, v, &v->rela, &n);
	c->func = uft_object_symbol(obj, "_mcount", NULL);
}

int isa_leads_to_mcount(const struct isa_calls *c, uint64_t target,
			  uint64_t (*plt_slot)(const struct isa_calls *c, uint64_t at))
{
	uint64_t slot;

	if (c->func && target == c->func)
		return 1;
	if (!c->slot[0])
		return 0;
	slot = plt_slot(c, target);
	return slot && (slot == c->slot[0] || slot == c->slot[1]);
}
