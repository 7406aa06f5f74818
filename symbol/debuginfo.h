/* SPDX-License-Identifier: MIT */
/* debuginfo.h - read one object's debug information by libdw, in the child of source.c */
#ifndef UFT_SYMBOL_DEBUGINFO_H
#define UFT_SYMBOL_DEBUGINFO_H

#include <stdio.h>

#include "symbol/source.h"

/* Loads the library. 0, or -ENOPKG with a sentence. */
int debuginfo_load(struct uft_error *err);

/* A question: the @index-th func or call of the query. */
struct debuginfo_want { uint64_t vaddr; uint32_t index; };

/*
 * Answers are written to @out as records:
 *	'F' u32 index, u32 line, text file
 *	'C' u32 index, u32 n, n times: u32 line, text name, text file
 * A text is u32 length and bytes. @func and @call ascend by vaddr. 0 or -1: @fd has no usable debug information.
 */
int debuginfo_answer(int fd, const struct uft_source_query *q, const struct debuginfo_want *func,
		     size_t nfuncs,
		 const struct debuginfo_want *call, size_t ncalls, FILE *out);

#endif
