/* SPDX-License-Identifier: MIT */
/* describe.c - describe an object for a user: its loader, its notes, where its names come from */
#include <stdio.h>
#include <string.h>

#include "symbol/object_internal.h"

#define GNU_PROPERTY_X86_FEATURE_1	0xc0000002u
#define GNU_PROPERTY_X86_SHSTK		2u

const char *uft_object_interp(struct uft_object *obj)
{
	struct elf_view *v = &object_priv(obj)->view;

	for (size_t i = 0; i < v->nph; i++) {
		const uint8_t *p =
			v->ph[i].p_type == PT_INTERP ? elf_bytes(v, v->ph[i].p_offset, v->ph[i].p_filesz) : NULL;

		if (p && v->ph[i].p_filesz && !p[v->ph[i].p_filesz - 1])
			return (const char *)p;
	}
	return NULL;
}

/* Properties: type, size, data padded to 8 bytes. */
static int is_shstk_note(const struct elf_note *n)
{
	uint32_t at = 0;

	if (n->type != NT_GNU_PROPERTY_TYPE_0 || n->owner_len != 4 || memcmp(n->owner, "GNU", 4))
		return 0;
	while (n->desc_len - at >= 8) {
		uint32_t type = elf_get32(n->desc + at), size = elf_get32(n->desc + at + 4);

		at += 8;
		if (size > n->desc_len - at)
			break;
		if (type == GNU_PROPERTY_X86_FEATURE_1 && size >= 4)
			return (elf_get32(n->desc + at) & GNU_PROPERTY_X86_SHSTK) != 0;
		size = (size + 7) & ~7u;
		if (size > n->desc_len - at)
			break;
		at += size;
	}
	return 0;
}

int uft_object_is_shstk(struct uft_object *obj)
{
	struct elf_note note = { 0 };

	while (elf_note_next(&object_priv(obj)->view, &note))
		if (is_shstk_note(&note))
			return 1;
	return 0;
}

int uft_object_names_from(struct uft_object *obj, char *text, size_t size)
{
	struct object_priv *priv = object_priv(obj);
	struct elf_symtab t;

	elf_symtab_find(&priv->view, SHT_SYMTAB, &t);
	if (t.n) {
		snprintf(text, size, "its own symbol table");
		return 2;
	}
	object_load_extra(obj);
	for (unsigned i = 0; i < priv->nextra; i++) {
		elf_symtab_find(&priv->extra[i], SHT_SYMTAB, &t);
		if (!t.n)
			continue;
		snprintf(text, size, "%s", priv->extra[i].memory == ELF_MALLOCED ? "its .gnu_debugdata" :
			 priv->debug_path ? priv->debug_path : "a separate debug file");
		return 2;
	}
	snprintf(text, size, "the dynamic symbol table");
	return priv->view.dyn.n > 1;
}
