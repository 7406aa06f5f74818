/* SPDX-License-Identifier: MIT */
/* event_words.c - find the events of a user's word; see event_type.h */
#include "symbol/event_type.h"
#include "symbol/names.h"

#include <string.h>

#define NAME_MAX_BYTES	128	/* of a name of a system or an event in a word */

/* Takes a part of a word; an empty part and `*` mean all. 0: longer than any name. */
static int take_part(const char *p, size_t n, char part[NAME_MAX_BYTES])
{
	if (n >= NAME_MAX_BYTES)
		return 0;
	memcpy(part, n ? p : "*", n ? n : 2);
	part[n ? n : 1] = '\0';
	return 1;
}

static int is_of_object(const struct uft_event_type *type, const char *pattern)
{
	for (const struct uft_event_object *o = __atomic_load_n(&type->object, __ATOMIC_ACQUIRE); o; o = o->next)
		if (uft_glob_match(pattern, o->name))
			return 1;
	return 0;
}

/* Does the pattern match its name, or its declared name? */
static int is_called(const struct uft_event_type *type, const char *pattern)
{
	char declared[NAME_MAX_BYTES];

	return uft_glob_match(pattern, type->name) ||
	       (type->declared_bytes && take_part(type->name, type->declared_bytes, declared) &&
		uft_glob_match(pattern, declared));
}

int uft_event_matches(const char *word, size_t n, const struct uft_event_type *type)
{
	const char *mod = n ? memmem(word, n, ":mod:", 5) : NULL, *colon;
	char first[NAME_MAX_BYTES], second[NAME_MAX_BYTES], object[NAME_MAX_BYTES];
	size_t before;
	int is_system;

	if (!n || memchr(word, '\0', n) ||
	    (mod && (!take_part(mod + 5, n - (size_t)(mod - word) - 5, object) || !is_of_object(type, object))))
		return 0;
	n = mod ? (size_t)(mod - word) : n;
	colon = memchr(word, ':', n);
	before = colon ? (size_t)(colon - word) : n;
	if (!take_part(word, before, first) || (colon && !take_part(colon + 1, n - before - 1, second)))
		return 0;
	is_system = uft_glob_match(first, type->system);
	return colon ? is_system && is_called(type, second) : is_system || is_called(type, first);
}
