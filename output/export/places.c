/* SPDX-License-Identifier: MIT */
/* places.c - where the functions of an export are defined; see places.h */
#include <stdlib.h>

#include "output/export/places.h"
#include "symbol/array.h"
#include "symbol/names.h"

int places_want(struct places *p, const struct uft_sym *sym)
{
	if (array_reach(p->of, p->nof, sym->index) < 0)
		return -ENOMEM;
	if (p->of[sym->index])
		return 0;
	if (array_reach(p->q.func, p->cap, (uint32_t)p->q.nfuncs) < 0)
		return -ENOMEM;
	p->q.func[p->q.nfuncs] = (struct uft_source_func){ .obj = sym->of, .vaddr = sym->vaddr };
	p->of[sym->index] = (uint32_t)++p->q.nfuncs;
	return 0;
}

static void note_object(void *ctx, const struct uft_object *obj, const char *why)
{
	const struct uft_export_opts *o = ctx;

	if (o->note)
		o->note(o->ctx, uft_base_name(obj->path), why);
}

int places_find(struct places *p, const struct uft_export_opts *o, struct uft_error *err)
{
	p->q.note = note_object;
	p->q.ctx = (void *)o;
	return uft_source_find(&p->q, err);
}

struct uft_source places_of(const struct places *p, const struct uft_sym *sym)
{
	uint32_t i = sym && sym->index < p->nof ? p->of[sym->index] : 0;

	return i ? p->q.func[i - 1].at : (struct uft_source){ NULL, 0 };
}

void places_free(struct places *p)
{
	uft_source_free(&p->q);
	free(p->q.func);
	free(p->of);
	*p = (struct places){ 0 };
}
