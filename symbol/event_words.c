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

uint32_t uft_event_types_named(const char *word, size_t n)
{
	const char *colon = memchr(word, ':', n);
	size_t before = colon ? (size_t)(colon - word) : n;
	char first[NAME_MAX_BYTES], second[NAME_MAX_BYTES];
	uint32_t bits = 0;

	if (!n || memchr(word, '\0', n) || !take_part(word, before, first) || (colon && !take_part(colon + 1, n - before - 1, second)))
		return 0;
	for (uint32_t i = 0; i < UFT_NEVENT_TYPES; i++) {
		const struct uft_event_type *t = &uft_event_types[i];
		int is_system = uft_glob_match(first, t->system);

		if (colon ? is_system && uft_glob_match(second, t->name) : is_system || uft_glob_match(first, t->name))
			bits |= 1u << i;
	}
	return bits;
}
