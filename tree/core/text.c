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

int text_is_gap(char c)
{
	return !c || isspace((unsigned char)c);
}

void text_strip(const char **p, size_t *n)
{
	*n = strnlen(*p, *n);
	while (*n && isspace((unsigned char)**p)) {
		++*p;
		--*n;
	}
	while (*n && isspace((unsigned char)(*p)[*n - 1]))
		--*n;
}

/* the kernel's buffer: a sign, 64 digits and a newline; the rest of a write is not read */
#define NUMBER_BYTES	66

int text_number(const char *p, size_t n, int base, uint64_t *out)
{
	char copy[NUMBER_BYTES + 1], *end, *from = copy;

	n = strnlen(p, n < NUMBER_BYTES ? n : NUMBER_BYTES);
	memcpy(copy, p, n);
	copy[n] = '\0';
	from += *from == '+';
	if (!isdigit((unsigned char)*from))
		return -EINVAL;
	errno = 0;
	*out = strtoull(from, &end, base);
	if (errno == ERANGE)		/* whatever follows the digits */
		return -ERANGE;
	end += *end == '\n';
	return *end ? -EINVAL : 0;
}

int text_number_in(const char *p, size_t n, uint64_t least, uint64_t most, uint64_t *out)
{
	int ret = text_number(p, n, 10, out);

	return ret ? ret : *out < least || *out > most ? -EINVAL : 0;
}
