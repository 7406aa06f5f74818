/* SPDX-License-Identifier: MIT */
/*
 * clean.h - text of others (names in files, paths, names of tasks) for a terminal
 *
 * A program chooses its own names: none may write escape sequences or further lines to the terminal of a user
 * who looks at it. (An event's text has the lines that its program gave it, as the kernel's: output/named.h.) All that
 * is printed goes through here: functions' and tasks' names when they are made (symbol/, output/), errors and messages
 * as a whole (uft_fail(), cmd_fail(), status_say()), the rest by uft_put_clean(). Context: any.
 */
#ifndef UFT_SYMBOL_CLEAN_H
#define UFT_SYMBOL_CLEAN_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/*
 * How many bytes of @text may be shown as they are: up to the first control byte (C0, DEL, C1 also as UTF-8) or
 * character that ends a line or changes the direction of writing (U+2028, U+202E and others), or @n.
 */
size_t uft_clean_length(const char *text, size_t n);
/* Each byte of such a character becomes '?', in place; @but, unless 0, stays. */
void uft_clean(char *text, size_t n, char but);
/* @text, NULL as "", to @f. */
void uft_put_clean(FILE *f, const char *text);
/* What the format makes. Further lines of it begin with four spaces: those stay lines. */
void uft_clean_vprint(FILE *f, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

#endif
