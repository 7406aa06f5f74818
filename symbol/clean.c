/* SPDX-License-Identifier: MIT */
/* clean.c - see clean.h */
#include "symbol/clean.h"

#include <stdlib.h>
#include <string.h>

/* Returns the bytes of the UTF-8 character at @p; 0: none begins here. */
static size_t character(const unsigned char *p, size_t n)
{
	size_t len = *p < 0x80 ? 1 : *p >= 0xc2 && *p < 0xe0 ? 2 : *p >= 0xe0 && *p < 0xf0 ? 3 : *p >= 0xf0 &&
		*p < 0xf5 ? 4 : 0;

	if (len > n)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	/* Refuses overlong forms: a terminal may take one for the control character that it stands for. */
	return (*p == 0xe0 && p[1] < 0xa0) || (*p == 0xf0 && p[1] < 0x90) ? 0 : len;
}

/* Does a character of three bytes end a line or change the direction of the text around it? */
static int is_format(const unsigned char *p)
{
	unsigned c = (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);

	return c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* Is the character of @len bytes a control character? @len 0: a byte that begins no character. */
static int is_control(const unsigned char *p, size_t len)
{
	switch (len) {
	case 0:
		return *p < 0xa0;
	case 1:
		return *p < 0x20 || *p == 0x7f;
	case 2:
		return (*p == 0xc2 && p[1] < 0xa0) || (*p == 0xd8 && p[1] == 0x9c);
	case 3:
		return is_format(p);
	}
	return 0;
}

size_t uft_clean_length(const char *text, size_t n)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t i = 0, len;

	for (; i < n; i += len ? len : 1) {
		len = p[i] < 0x80 ? 1 : character(p + i, n - i);
		if (is_control(p + i, len))
			return i;
	}
	return n;
}

static size_t bytes_at(const char *text, size_t n)
{
	size_t len = character((const unsigned char *)text, n);

	return len ? len : 1;
}

void uft_clean(char *text, size_t n, char but)
{
	for (size_t i = 0, len; (i += uft_clean_length(text + i, n - i)) < n; i += len) {
		len = bytes_at(text + i, n - i);
		if (!but || text[i] != but)
			memset(text + i, '?', len);
	}
}

void uft_put_clean(FILE *f, const char *text)
{
	size_t n = text ? strlen(text) : 0;

	for (size_t i = 0, len; i < n;) {
		len = uft_clean_length(text + i, n - i);
		fwrite(text + i, 1, len, f);
		i += len;
		for (len = i < n ? bytes_at(text + i, n - i) : 0; len; len--, i++)
			putc('?', f);
	}
}

void uft_clean_vprint(FILE *f, const char *fmt, va_list ap)
{
	char few[512], *text, *made = NULL;
	va_list again;

	va_copy(again, ap);
	if (vasprintf(&made, fmt, ap) < 0) {	/* the first bytes say what failed */
		made = NULL;
		vsnprintf(few, sizeof(few), fmt, again);
	}
	va_end(again);
	text = made ? made : few;
	for (char *line = text, *next; line; line = next) {
		next = strstr(line, "\n    ");
		if (next)
			*next++ = '\0';
		uft_put_clean(f, line);
		if (next)
			putc('\n', f);
	}
	free(made);
}
