/* SPDX-License-Identifier: MIT */
/* event_words.c - which events a user means; see event_type.h */
#include "symbol/event_type.h"
#include "symbol/names.h"

#include <string.h>

#define NAME_MAX_BYTES	128	/* of a system or an event in a word */

/* A part of a word; empty and `*` are all. 0: too long to be any's. */
static int take_part(const char *p, size_t n, char part[NAME_MAX_BYTES])
{
	if (n >= NAME_MAX_BYTES)
		return 0;
	memcpy(part, n ? p : "*", n ? n : 2);
	part[n ? n : 1] = '\0';
	return 1;
}

int uft_event_matches(const char *word, size_t n, const struct uft_event_type *type)
{
	const char *colon = memchr(word, ':', n);
	size_t before = colon ? (size_t)(colon - word) : n;
	char first[NAME_MAX_BYTES], second[NAME_MAX_BYTES];
	int is_system;

	if (!n || memchr(word, '\0', n) || !take_part(word, before, first) || (colon && !take_part(colon + 1, n - before - 1, second)))
		return 0;
	is_system = uft_glob_match(first, type->system);
	return colon ? is_system && uft_glob_match(second, type->name) : is_system || uft_glob_match(first, type->name);
}
