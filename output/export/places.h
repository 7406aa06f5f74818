/* SPDX-License-Identifier: MIT */
/* places.h - where the functions of an export are defined (symbol/source.h). Context: control, one thread. */
#ifndef UFT_OUTPUT_EXPORT_PLACES_H
#define UFT_OUTPUT_EXPORT_PLACES_H

#include "output/output.h"
#include "symbol/source.h"

struct places {
	struct uft_source_query q;
	uint32_t *of;		/* by symbol index: of q.func, + 1 */
	uint32_t nof, cap;
};

/*
 * Starts as zeroes. places_want() collects functions, places_find() looks all of them up at once; then each has a place
 * (file NULL: none).
 */
int places_want(struct places *p, const struct uft_sym *sym);		/* 0 or -ENOMEM */
/* 0, -ENOPKG, -ENOMEM */
int places_find(struct places *p, const struct uft_export_opts *o, struct uft_error *err);
struct uft_source places_of(const struct places *p, const struct uft_sym *sym);
void places_free(struct places *p);

#endif
