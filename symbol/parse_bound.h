/* SPDX-License-Identifier: MIT */
/*
 * parse_bound.h - the one bound of the cost of reading an ELF file: memory for tables, and steps
 *
 * A file's counts decide how long its tables are, and overlapping headers make them longer than the file. So each table
 * whose size comes from a file is allocated here, and charged to that file: PARSE_MAX_BYTES at a time. Files that a
 * user other than root and uft's can change have PARSE_ALL_BYTES together, and each at most half of what the others
 * have left, so that one such user does not use up another's. Work that is more than linear in the file counts its
 * steps.
 *
 * Beyond the bound a table is refused: NULL, as without memory, and bound_error() names the table and the file.
 * Refusals are counted for the whole process. Context: control, any thread.
 */
#ifndef UFT_SYMBOL_PARSE_BOUND_H
#define UFT_SYMBOL_PARSE_BOUND_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/error.h"

#define PARSE_MAX_BYTES		(1ull << 30)
#define PARSE_ALL_BYTES		(2ull << 30)
#define PARSE_MAX_STEPS		(1ull << 30)
/* For a program or library, which has some hundred sections at most; relocatable objects have one for each function. */
#define PARSE_MAX_SECTIONS	1024u
/* Executable memory of one file, which is searched byte by byte, even where the file has zeros. */
#define PARSE_MAX_TEXT		(4ull << 30)

/* The bound of one file. Lives until the file is closed and its last table is freed. */
struct parse_bound;
struct parse_bound *bound_create(int can_others_write);		/* NULL: no memory */
struct parse_bound *bound_get(struct parse_bound *b);
void bound_put(struct parse_bound *b);

/*
 * Allocates @n elements of @size bytes; @what names them in the plural. NULL: refused, or no memory. @b may be NULL,
 * for tables that belong to no file. bound_grow() works as realloc().
 */
void *bound_alloc(struct parse_bound *b, const char *what, size_t n, size_t size);
void *bound_zalloc(struct parse_bound *b, const char *what, size_t n, size_t size);
void *bound_grow(struct parse_bound *b, const char *what, void *table, size_t n, size_t size);
void bound_free(void *table);

/* Charges @bytes that another allocator provides, until bound_return() or the end of the file. 0 or -EFBIG. */
int bound_take(struct parse_bound *b, const char *what, uint64_t bytes);
void bound_return(struct parse_bound *b, uint64_t bytes);

/* Counts @n more steps for @what. 0, or -EFBIG, which every later call returns, too. */
int bound_steps(struct parse_bound *b, const char *what, uint64_t n);

/* Returns the error of refused work: -EFBIG with a sentence that names the file and the refused table, or -ENOMEM. */
int bound_error(const struct parse_bound *b, const char *path, const char *what, struct uft_error *err);

/* Returns how many files had something refused since the start, and the sentence about the first. */
unsigned bound_refusals(struct uft_error *first);

#endif
