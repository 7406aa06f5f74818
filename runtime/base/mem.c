/* SPDX-License-Identifier: MIT */
/*
 * mem.c - memcpy and its kin, and numbers as text
 *
 * The copies are the architecture's: short, without vector registers, fast enough for stub pages and path names. The
 * build turns off loop idiom recognition for this file, because memcpy would call itself otherwise.
 */
#include "runtime/arch/arch.h"
#include "runtime/base/mem.h"

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	arch_copy(to, from, n);
	return to;
}

void *memmove(void *to, const void *from, size_t n)
{
	unsigned char *d = to;
	const unsigned char *s = from;

	if ((uintptr_t)d - (uintptr_t)s >= n)
		return memcpy(to, from, n);
	while (n--)
		d[n] = s[n];
	return to;
}

void *memset(void *to, int c, size_t n)
{
	arch_fill(to, c, n);
	return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;

	for (; n; n--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}

size_t mem_strlen(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

char *mem_put(char *at, const char *s)
{
	while (*s)
		*at++ = *s++;
	*at = 0;
	return at;
}

char *mem_put_dec(char *at, uint64_t v)
{
	char digits[20];
	int n = 0;

	do {
		digits[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	while (n)
		*at++ = digits[--n];
	*at = 0;
	return at;
}

uint64_t mem_get_number(const char **s, const char *end, unsigned base)
{
	uint64_t v = 0;

	for (; *s < end; ++*s) {
		unsigned c = (unsigned char)**s, d = c - '0';

		if (d > 9)
			d = (c | 32) - 'a' + 10;
		if (d >= base)
			break;
		v = v * base + d;
	}
	return v;
}
