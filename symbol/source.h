/* SPDX-License-Identifier: MIT */
/*
 * source.h - where functions stand in the source, and which calls come from inlined functions: DWARF
 *
 * Debug information is searched for in the object's file, in its separate debug file (build-id, .gnu_debuglink)
 * and, if the user named servers for it, by debuginfod; always of exactly the object that was recorded. It is read
 * by elfutils' libdw, which is loaded when the first question comes, in a child process with bounded time and
 * memory: the file may be hostile, and whatever the library does with it costs one answer. Context: control, one
 * thread.
 */
#ifndef UFT_SYMBOL_SOURCE_H
#define UFT_SYMBOL_SOURCE_H

#include "symbol/object.h"

struct uft_source {
	char *file;			/* as the compiler was told it, from its folder on; NULL: not known */
	uint32_t line;			/* 0: not known */
};

struct uft_source_func {
	const struct uft_object *obj;	/* NULL: not known, there is no answer */
	uint64_t vaddr;
	struct uft_source at;		/* the answer: where it is defined */
};

/*
 * Calls of @callee by the function at @vaddr. The answer: the inlined functions that all of them certainly come
 * from, the outermost first; none where the debug information does not tell, or where they come from different ones.
 */
struct uft_source_call {
	const struct uft_object *obj;
	uint64_t vaddr;
	const char *callee;		/* as linked */
	uint32_t n;
	struct uft_source_inline { char *name; struct uft_source at; } *inlined;	/* name: as linked */
};

struct uft_source_query {
	struct uft_source_func *func;
	size_t nfuncs;
	struct uft_source_call *call;
	size_t ncalls;
	/* Is told of each object without an answer why that is; may be NULL. */
	void (*note)(void *ctx, const struct uft_object *obj, const char *why);
	void *ctx;
};

/* Fills the answers. 0, -ENOPKG (there is no libdw; a sentence in @err) or -ENOMEM. */
int uft_source_find(struct uft_source_query *q, struct uft_error *err);
void uft_source_free(struct uft_source_query *q);	/* the answers */

#endif
