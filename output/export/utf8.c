/* SPDX-License-Identifier: MIT */
/* utf8.c - names for formats whose strings must be UTF-8; see utf8.h */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "output/export/utf8.h"
#include "output/report/table.h"
#include "symbol/array.h"

#define REPLACEMENT	"\xef\xbf\xbd"

static int is_clean(const char *s)
{
	unsigned n;

	for (; *s; s += n) {
		n = table_utf8(s);
		if (!n)
			return 0;
	}
	return 1;
}

const char *utf8_clean(struct utf8_text *t, const char *s)
{
	size_t most = 3 * strlen(s) + 1;
	char *p;

	if (is_clean(s))
		return s;
	if (array_reserve(t->copy, t->cap, most))
		return NULL;
	for (p = t->copy; *s;) {
		unsigned n = table_utf8(s);

		memcpy(p, n ? s : REPLACEMENT, n ? n : 3);
		p += n ? n : 3;
		s += n ? n : 1;
	}
	*p = '\0';
	return t->copy;
}

size_t utf8_whole(const char *s, size_t n)
{
	size_t start = n, bytes;

	/* A character has at most three bytes behind its first one; longer runs are no UTF-8. */
	while (start && n - start < 3 && ((unsigned char)s[start] & 0xc0) == 0x80)
		start--;
	bytes = (uint8_t)s[start] >= 0xf0 ? 4 : (uint8_t)s[start] >= 0xe0 ? 3 : (uint8_t)s[start] >= 0xc0 ? 2 : 1;
	return start < n && start + bytes > n ? start : n; /* GUARD(utf8_whole, n) */
}

void utf8_free(struct utf8_text *t)
{
	free(t->copy);
	*t = (struct utf8_text){ 0 };
}
