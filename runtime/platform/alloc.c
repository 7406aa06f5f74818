/* SPDX-License-Identifier: MIT */
/* alloc.c - small pieces of memory that are never freed, for every host */
#include "runtime/platform/platform.h"

#define ALLOC_CHUNK	(256u << 10)

/*
 * Written by plat_alloc() alone, in control context. A fork child inherits a consistent copy or, at worst, one whose
 * last piece is not used.
 */
static struct {
	uintptr_t at, end;
} bump;

void *plat_alloc(size_t bytes)
{
	uintptr_t p;

	bytes = (bytes + 15) & ~(size_t)15;
	if (bytes > bump.end - bump.at) {
		size_t chunk = bytes > ALLOC_CHUNK ? PLAT_PAGE_UP(bytes) : ALLOC_CHUNK;
		void *m = plat_map(chunk);

		if (!m)
			return NULL;
		bump.at = (uintptr_t)m;
		bump.end = bump.at + chunk;
	}
	p = bump.at;
	bump.at += bytes;
	return (void *)p;
}
