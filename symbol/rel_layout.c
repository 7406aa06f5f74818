/* SPDX-License-Identifier: MIT */
/* rel_layout.c - give the code of a relocatable object addresses, which its file lacks: section behind section */
#include <errno.h>
#include <stdlib.h>

#include "symbol/object_internal.h"

#define REL_ALIGN	16u

int object_rel_layout(struct uft_object *obj, struct uft_error *err)
{
	struct object_priv *priv = object_priv(obj);
	const struct elf_view *v = &priv->view;
	uint64_t addr = 0;
	size_t i;

	priv->rel_addr = bound_alloc(v->bound, "sections", v->nsh, sizeof(*priv->rel_addr));
	obj->text = bound_zalloc(v->bound, "sections", v->nsh, sizeof(*obj->text));
	if (!priv->rel_addr || !obj->text)
		return uft_fail(err, -ENOMEM, "%s: no memory", obj->path);
	for (i = 0; i < v->nsh; i++) {
		const Elf64_Shdr *sh = &v->sh[i];

		priv->rel_addr[i] = ~0ull;
		if (!i || sh->sh_type != SHT_PROGBITS || !(sh->sh_flags & SHF_EXECINSTR) || !sh->sh_size ||
		    !elf_bytes(v, sh->sh_offset, sh->sh_size))
			continue;
		priv->rel_addr[i] = addr;
		obj->text[obj->ntext++] = (struct uft_text){ addr, addr + sh->sh_size, sh->sh_offset };
		addr = (addr + sh->sh_size + REL_ALIGN - 1) & ~(uint64_t)(REL_ALIGN - 1);
	}
	return 0;
}
