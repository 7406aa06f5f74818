/* SPDX-License-Identifier: MIT */
/*
 * clean.h - text from targets and files (names, paths, names of tasks) for a terminal
 *
 * A program chooses its own names. None may write escape sequences or further lines to the terminal of a user who
 * prints it. (An event's text has the lines that its program gave it, as the kernel's: output/named.h.) All printed
 * text goes through here: names of functions and tasks when they are made (symbol/, output/), errors and messages as a
 * whole (uft_fail(), cmd_fail(), status_say()), the rest by uft_put_clean(). Context: any.
 */
#ifndef UFT_SYMBOL_CLEAN_H
#define UFT_SYMBOL_CLEAN_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Returns how many bytes of @text may be printed as they are: up to the first control byte (C0, DEL, C1 also as UTF-8),
 * the first character that ends a line or changes the direction of writing (U+2028, U+202E and others), or @n.
 */
size_t uft_clean_length(const char *text, size_t n);
/* Replaces each byte of such a character by '?', in place; keeps @but, unless it is 0. */
void uft_clean(char *text, size_t n, char but);
/* Prints @text, NULL as "", to @f. */
void uft_put_clean(FILE *f, const char *text);
/* Prints the formatted text. Further lines of it, which begin with four spaces, stay lines. */
void uft_clean_vprint(FILE *f, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

#endif
