/* SPDX-License-Identifier: MIT */
/* text.c - text that grows, and numbers as the kernel reads them. See tree_internal.h. */
#include "symbol/array.h"
#include "tree/core/tree_internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int room(struct tree_text *x, size_t n)
{
	if (!x->error)
		x->error = array_reserve(x->p, x->cap, x->n + n);
	return x->error;
}

void text_put(struct tree_text *x, const char *p, size_t n)
{
	if (!n || room(x, n))
		return;
	memcpy(x->p + x->n, p, n);
	x->n += n;
}

int text_sink(void *x, const char *p, size_t n)
{
	struct tree_text *text = x;

	text_put(text, p, n);
	return text->error;
}

void text_printf(struct tree_text *x, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || room(x, (size_t)n + 1))
		return;
	va_start(ap, fmt);
	vsnprintf(x->p + x->n, (size_t)n + 1, fmt, ap);
	va_end(ap);
	x->n += (size_t)n;
}

void text_strip(const char **p, size_t *n)
{
	while (*n && isspace((unsigned char)**p)) {
		++*p;
		--*n;
	}
	while (*n && (isspace((unsigned char)(*p)[*n - 1]) || !(*p)[*n - 1]))
		--*n;
}

int text_number(const char *p, size_t n, int base, uint64_t *out)
{
	char copy[64], *end;

	while (n && !p[n - 1])
		n--;
	n -= n && p[n - 1] == '\n';
	if (n && *p == '+') {
		p++;
		n--;
	}
	if (!n || n >= sizeof(copy) || !isdigit((unsigned char)*p))
		return -EINVAL;
	memcpy(copy, p, n);
	copy[n] = '\0';
	errno = 0;
	*out = strtoull(copy, &end, base);
	if (*end || strlen(copy) != n)
		return -EINVAL;
	return errno == ERANGE ? -ERANGE : 0;
}

int text_number_in(const char *p, size_t n, uint64_t least, uint64_t most, uint64_t *out)
{
	int ret = text_number(p, n, 10, out);

	return ret ? ret : *out < least || *out > most ? -EINVAL : 0;
}
