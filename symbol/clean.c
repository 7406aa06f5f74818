/* SPDX-License-Identifier: MIT */
/* clean.c - see clean.h */
#include "symbol/clean.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of the UTF-8 character that begins here, 0: none does. */
static size_t character(const unsigned char *p, size_t n)
{
	size_t len = *p < 0x80 ? 1 : *p >= 0xc2 && *p < 0xe0 ? 2 : *p >= 0xe0 && *p < 0xf0 ? 3 : *p >= 0xf0 &&
		*p < 0xf5 ? 4 : 0;

	if (len > n)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

size_t uft_clean_length(const char *text, size_t n)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t i = 0, len;

	for (; i < n; i += len ? len : 1) {
		len = p[i] < 0x80 ? 1 : character(p + i, n - i);
		if (p[i] < 0x20 || p[i] == 0x7f || (!len && p[i] < 0xa0) ||
		    (len == 2 && p[i] == 0xc2 && p[i + 1] < 0xa0))
			return i;
	}
	return n;
}

void uft_clean(char *text, size_t n, char but)
{
	for (size_t i = 0; (i += uft_clean_length(text + i, n - i)) < n; i++) {
		if (but && text[i] == but)
			continue;
		if ((unsigned char)text[i] == 0xc2)
			text[i++] = '?';
		text[i] = '?';
	}
}

void uft_put_clean(FILE *f, const char *text)
{
	size_t n = text ? strlen(text) : 0;

	for (size_t i = 0, len; i < n; i += len + 1) {
		len = uft_clean_length(text + i, n - i);
		fwrite(text + i, 1, len, f);
		if (i + len < n)
			putc('?', f);
	}
}

void uft_clean_vprint(FILE *f, const char *fmt, va_list ap)
{
	char *text;

	if (vasprintf(&text, fmt, ap) < 0)
		return;
	for (char *line = text, *next; line; line = next) {
		next = strstr(line, "\n    ");
		if (next)
			*next++ = '\0';
		uft_put_clean(f, line);
		if (next)
			putc('\n', f);
	}
	free(text);
}
