/* SPDX-License-Identifier: MIT */
/*
 * glob.c - the kernel's filter glob
 *
 * `*` any text, `?` any character, `[a-z]` one of a set, `[!a-z]` none of it, `\x` the character x. A `[`
 * without its `]` is an ordinary character; a `]` first in a set belongs to it. Both ends are anchored.
 * Semantics: lib/glob.c of the kernel. Matching backs up to the last star only, so the work is at most
 * pattern length times text length.
 */
#include "program/program.h"

/* Matches @c against the set behind '['. Returns what follows ']', NULL if there is no ']'. */
static const char *glob_set(const char *p, unsigned char c, int *match)
{
	int inverted = *p == '!';
	const char *start;

	p += inverted;
	*match = 0;
	for (start = p; *p && (*p != ']' || p == start); p++) {
		unsigned char lo = *p, hi = lo;

		if (p[1] == '-' && p[2] && p[2] != ']') {
			hi = p[2];
			p += 2;
		}
		*match |= lo <= c && c <= hi;
	}
	*match ^= inverted;
	return *p ? p + 1 : NULL;
}

/* Matches one pattern element that is no star; *next is what follows it. */
static int glob_one(const char *p, unsigned char c, const char **next)
{
	const char *after;
	int match;

	*next = p + 1;
	if (*p == '?')
		return 1;
	if (*p == '[') {
		after = glob_set(p + 1, c, &match);
		if (after) {
			*next = after;
			return match;
		}
	}
	if (*p == '\\' && p[1]) {
		*next = p + 2;
		return (unsigned char)p[1] == c;
	}
	return (unsigned char)*p == c;
}

int uft_glob_bytes(const char *glob, const uint8_t *text, size_t n)
{
	const uint8_t *end = n == SIZE_MAX ? NULL : text + n, *star_text = NULL;
	const char *star = NULL, *next;

	while (text != end && *text) {
		if (*glob == '*') {
			star = ++glob;
			star_text = text;
			if (!*glob)
				return 1;
			continue;
		}
		if (*glob && glob_one(glob, *text, &next)) {
			glob = next;
			text++;
			continue;
		}
		if (!star)
			return 0;
		glob = star;		/* the star takes one character more */
		text = ++star_text;
	}
	while (*glob == '*')
		glob++;
	return !*glob;
}
