/* SPDX-License-Identifier: MIT */
/* segments.c - see segments.h */
#include "symbol/segments.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/sorted.h"

/*
 * Returns the first segment from @k on without an owner. @next: for each segment a later one that may be free; the
 * segment itself if it is free.
 */
static size_t free_from(uint32_t *next, size_t k)
{
	while (next[k] != k) {
		next[k] = next[next[k]];
		k = next[k];
	}
	return k;
}

int segments_make(struct segments *s, const struct segment_range *range, size_t n)
{
	size_t m = 0, places = 0;
	uint32_t *next;

	*s = (struct segments){ 0 };
	if (n >= UINT32_MAX / 2)
		return -ENOMEM;
	s->from = malloc((2 * n + 1) * sizeof(*s->from));
	s->owner = malloc((2 * n + 1) * sizeof(*s->owner));
	next = malloc((2 * n + 1) * sizeof(*next));
	if (!s->from || !s->owner || !next) {
		free(next);
		segments_free(s);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		if (range[i].from < range[i].to) {
			s->from[m++] = range[i].from;
			s->from[m++] = range[i].to;
		}
	SORT_NUMBERS(s->from, m);
	for (size_t i = 0; i < m; i++)
		if (!i || s->from[i] != s->from[places - 1])
			s->from[places++] = s->from[i];
	s->n = places;
	for (size_t i = 0; i <= places; i++) {
		next[i] = (uint32_t)i;
		s->owner[i] = SEGMENT_NONE;
	}
	for (size_t i = 0; i < n; i++) {
		size_t k;

		if (range[i].from >= range[i].to)
			continue;
		k = SORTED_FIRST(p, places, s->from[p] >= range[i].from);
		for (k = free_from(next, k); k < places && s->from[k] < range[i].to; k = free_from(next, k)) {
			s->owner[k] = range[i].owner;
			next[k] = (uint32_t)k + 1;
		}
	}
	free(next);
	return 0;
}

void segments_free(struct segments *s)
{
	free(s->from);
	free(s->owner);
	*s = (struct segments){ 0 };
}

uint32_t segments_find(const struct segments *s, uint64_t at)
{
	size_t k = SORTED_FIRST(p, s->n, s->from[p] > at);

	return k ? s->owner[k - 1] : SEGMENT_NONE;
}
