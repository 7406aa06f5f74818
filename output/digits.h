/* SPDX-License-Identifier: MIT */
/*
 * digits.h - numbers into text without printf
 *
 * A report prints two or three numbers a line and millions of lines; these write decimal digits two at a
 * time from a table. Each returns the end of what it wrote and never adds a NUL. Context: control.
 */
#ifndef UFT_OUTPUT_DIGITS_H
#define UFT_OUTPUT_DIGITS_H

#include <stdint.h>
#include <string.h>

#define DIGITS_MAX	20	/* of a 64-bit number */

extern const char digits_pairs[200];

static inline unsigned digits_count(uint64_t v)
{
	unsigned n = 1;

	while (v >= 10000) {
		v /= 10000;
		n += 4;
	}
	return n + (v >= 10) + (v >= 100) + (v >= 1000);
}

/* Exactly @width digits, the low ones of @v, with leading zeroes. */
static inline char *digits_fixed(char *p, uint64_t v, unsigned width)
{
	char *q = p + width;

	while (q - p >= 2) {
		q -= 2;
		memcpy(q, digits_pairs + v % 100 * 2, 2);
		v /= 100;
	}
	if (q != p)
		*p = (char)('0' + v % 10);
	return p + width;
}

static inline char *digits_plain(char *p, uint64_t v)
{
	return digits_fixed(p, v, digits_count(v));
}

static inline char *digits_spaces(char *p, unsigned n)
{
	memset(p, ' ', n);
	return p + n;
}

/* Right-aligned in at least @width characters, as %*lu. */
static inline char *digits_right(char *p, uint64_t v, unsigned width)
{
	unsigned n = digits_count(v);

	if (n < width)
		p = digits_spaces(p, width - n);
	return digits_fixed(p, v, n);
}

#endif
