/* SPDX-License-Identifier: MIT */
/* utf8.h - names for formats whose strings must be UTF-8 */
#ifndef UFT_OUTPUT_EXPORT_UTF8_H
#define UFT_OUTPUT_EXPORT_UTF8_H

#include <stddef.h>

struct utf8_text {
	char *copy;		/* of the last name that had to be changed */
	size_t cap;
};

/*
 * @s with U+FFFD for each byte that is no UTF-8: @s itself, or a copy that is valid until the next call.
 * NULL: no memory.
 */
const char *utf8_clean(struct utf8_text *t, const char *s);
/* Returns how many of the first @n bytes of the text @s, which goes on at s[n], make whole characters. */
size_t utf8_whole(const char *s, size_t n);
void utf8_free(struct utf8_text *t);

#endif
