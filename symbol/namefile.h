/* SPDX-License-Identifier: MIT */
/*
 * namefile.h - names from text files instead of an ELF file, and the objects that they are for
 *
 * A line is `ADDR [SIZE] [TYPE] NAME`, the form of nm, nm -S, System.map, /proc/kallsyms and perf's JIT maps. Numbers
 * are hexadecimal. With a TYPE only functions are taken: t, T, w, W, i, u. Context: control, any thread once the lists
 * are given.
 */
#ifndef UFT_SYMBOL_NAMEFILE_H
#define UFT_SYMBOL_NAMEFILE_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/error.h"

struct uft_object;

struct uft_name { uint64_t addr, size; const char *name; };	/* size 0: unknown */
struct uft_names {
	struct uft_name *item; size_t n;	/* in the file's order */
	size_t bad;		/* lines of none of these forms */
	size_t zero;		/* functions at address 0: a kallsyms without permission to read addresses */
	char *text;
};

/* The form of a line's second word where two are possible: `10 b main` */
enum uft_name_form { UFT_NAMES_ANY, UFT_NAMES_PERF /* ADDR SIZE NAME, always; the name may have spaces */ };

/* Takes over @text (malloc'd, @len bytes and room for one more). 0 or -ENOMEM. */
int uft_names_parse(char *text, size_t len, enum uft_name_form form, struct uft_names *out);
/*
 * Reads from @fd to its end. Of more than @max_bytes it keeps the whole lines of so many, and *cut is the number of
 * bytes left out; @cut NULL: -EFBIG. 0, -ENOMEM, or -errno of read().
 */
int uft_names_read(int fd, enum uft_name_form form, uint64_t max_bytes, uint64_t *cut, struct uft_names *out);
void uft_names_free(struct uft_names *names);

/*
 * Uses `[OBJECT=]FILE`: names for the functions of OBJECT, a path or a glob on the base name; without OBJECT those of
 * @program (a path), and in recordings those of the recorded program (@program NULL). They replace names of the object
 * itself. Addresses are the object's own (link-time), as nm prints them. For the life of the process; call it before
 * any object's names are read. -errno with a sentence: unreadable, or no line is a function.
 */
int uft_symbols_use(const char *arg, const char *program, struct uft_error *err);
/* Calls @fn for each given file of which no name was used so far. */
void uft_symbols_unused(void (*fn)(void *arg, const char *file), void *arg);
/* For an object of a recording: adds the names given for it. @lo, @hi: its text. 0 or -ENOMEM. */
int uft_symbols_extend(struct uft_object *obj, int is_program, uint64_t lo, uint64_t hi);

/*
 * Calls @fn every second or more often while a debug file is fetched (only if the user set DEBUGINFOD_URLS), in the
 * thread that needs the names; @of 0: size unknown. If @fn returns not 0 the fetch is given up. Calls it at the end
 * with @object NULL.
 */
void uft_fetch_progress(int (*fn)(const char *object, long got, long of));

#endif
