/* SPDX-License-Identifier: MIT */
/*
 * inits.c - the functions that the loader, or the start code of a static program, calls when it loads an object
 *
 * The entries of .preinit_array and .init_array, by their relocations or, without one, by the file's bytes (programs of
 * fixed address; DT_RELR), and DT_INIT. Objects without section headers have none.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/object_internal.h"
#include "symbol/sorted.h"

#define INITS_MAX	(1u << 20)	/* entries of an array; more is damage */

/* 0, or -ENOMEM: some are missing. */
static int array_add(struct uft_object *obj, size_t section)
{
	struct elf_view *v = &object_priv(obj)->view;
	size_t len, first = obj->ninit, n;
	const uint8_t *p = elf_section_data(v, section, &len);
	uint64_t at = v->sh[section].sh_addr, *grown;

	n = p ? len / 8 : 0;
	if (!n || n > INITS_MAX)
		return 0;
	grown = bound_steps(v->bound, "initializers", v->rela.n) ? NULL :
		bound_grow(v->bound, "initializers", obj->init, first + n, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	obj->init = grown;
	obj->ninit += n;
	for (size_t i = 0; i < n; i++)
		grown[first + i] = elf_get64(p + 8 * i);
	for (size_t i = 0; i < v->rela.n; i++) {
		Elf64_Rela r;
		Elf64_Sym sym;

		elf_rela(&v->rela, i, &r);
		if (r.r_offset - at >= 8 * n || r.r_offset & 7)
			continue;
		if (ELF64_R_TYPE(r.r_info) == elf_relative(v)) {
			grown[first + (r.r_offset - at) / 8] = (uint64_t)r.r_addend;
		} else if (ELF64_R_SYM(r.r_info) && ELF64_R_SYM(r.r_info) < v->dyn.n) {
			elf_sym(&v->dyn, ELF64_R_SYM(r.r_info), &sym);
			grown[first + (r.r_offset - at) / 8] = sym.st_value + (uint64_t)r.r_addend;
		}
	}
	return 0;
}

/* As array_add(). */
static int dynamic_add(struct uft_object *obj, size_t section)
{
	struct elf_view *v = &object_priv(obj)->view;
	size_t len;
	const uint8_t *p = elf_section_data(v, section, &len);
	uint64_t *grown;

	for (size_t i = 0; p && i + 16 <= len && elf_get64(p + i); i += 16) {
		if (elf_get64(p + i) != DT_INIT)
			continue;
		grown = bound_steps(v->bound, "initializers", obj->ninit) ? NULL :	/* it may be copied */
			bound_grow(v->bound, "initializers", obj->init, obj->ninit + 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		obj->init = grown;
		obj->init[obj->ninit++] = elf_get64(p + i + 8);
	}
	return 0;
}

int uft_object_is_init(struct uft_object *obj, uint64_t addr)
{
	size_t n = uft_object_inits(obj), at = SORTED_FIRST(i, n, obj->init[i] >= addr);

	return at < n && obj->init[at] == addr;
}

size_t uft_object_inits(struct uft_object *obj)
{
	const struct elf_view *v = &object_priv(obj)->view;
	int ret = 0;

	for (size_t i = 1; !obj->has_inits && !ret && i < v->nsh; i++) {
		if (v->sh[i].sh_type == SHT_INIT_ARRAY || v->sh[i].sh_type == SHT_PREINIT_ARRAY)
			ret = array_add(obj, i);
		else if (v->sh[i].sh_type == SHT_DYNAMIC)
			ret = dynamic_add(obj, i);
	}
	if (!obj->has_inits)
		SORT_NUMBERS(obj->init, obj->ninit);
	if (ret)		/* use the known ones */
		bound_error(v->bound, obj->path, "initializers", NULL);
	obj->has_inits = 1;
	return obj->ninit;
}
