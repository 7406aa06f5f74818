/* SPDX-License-Identifier: MIT */
/* utf8.c - names for formats whose strings must be UTF-8; see utf8.h */
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

void utf8_free(struct utf8_text *t)
{
	free(t->copy);
	*t = (struct utf8_text){ 0 };
}
