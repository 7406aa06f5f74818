/* SPDX-License-Identifier: MIT */
/*
 * source.h - where functions stand in the source, and which calls come from inlined functions: DWARF
 *
 * Debug information is searched in the object's file, in its separate debug file (build-id, .gnu_debuglink) and, if the
 * user named servers for it, by debuginfod; always for exactly the recorded object. elfutils' libdw reads it in a child
 * process with bounded time and memory, which loads it at the first question: the file may be hostile, and an error of
 * the library costs one answer. Context: control, one thread.
 */
#ifndef UFT_SYMBOL_SOURCE_H
#define UFT_SYMBOL_SOURCE_H

#include "symbol/object.h"

struct uft_source {
	char *file;			/* as the compiler was given it, with its folder; NULL: unknown */
	uint32_t line;			/* 0: unknown */
};

struct uft_source_func {
	const struct uft_object *obj;	/* NULL: unknown, there is no answer */
	uint64_t vaddr;
	struct uft_source at;		/* the answer: where it is defined */
};

/*
 * Calls of @callee by the function at @vaddr. The answer: the inlined functions that all of them certainly come from,
 * the outermost first; none where the debug information does not tell, or where the calls come from different ones.
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
	/* Called with the reason for each object without an answer; may be NULL. */
	void (*note)(void *ctx, const struct uft_object *obj, const char *why);
	void *ctx;
};

/* Fills the answers. 0, -ENOPKG (libdw is missing; a sentence in @err) or -ENOMEM. */
int uft_source_find(struct uft_source_query *q, struct uft_error *err);
void uft_source_free(struct uft_source_query *q);	/* the answers */

#endif
