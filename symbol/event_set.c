/* SPDX-License-Identifier: MIT */
/* event_set.c - see event_set.h */
#include "symbol/array.h"
#include "symbol/event_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int grow(struct uft_event_set *s, uint32_t nwords)
{
	if (nwords <= s->nwords)
		return 0;
	if (array_resize(s->word, nwords))
		return -ENOMEM;
	memset(s->word + s->nwords, 0, (nwords - s->nwords) * sizeof(*s->word));
	s->nwords = nwords;
	return 0;
}

int uft_event_set_is_empty(const struct uft_event_set *s)
{
	for (uint32_t i = 0; i < s->nwords; i++)
		if (s->word[i])
			return 0;
	return 1;
}

int uft_event_set_equal(const struct uft_event_set *a, const struct uft_event_set *b)
{
	uint32_t n = a->nwords > b->nwords ? a->nwords : b->nwords;

	for (uint32_t i = 0; i < n; i++)
		if ((i < a->nwords ? a->word[i] : 0) != (i < b->nwords ? b->word[i] : 0))
			return 0;
	return 1;
}

int uft_event_set_change(struct uft_event_set *s, uint32_t index, int is_in)
{
	uint64_t bit = 1ull << index % 64;

	if (!is_in && index / 64 >= s->nwords)
		return 0;
	if (grow(s, index / 64 + 1))
		return -ENOMEM;
	s->word[index / 64] = is_in ? s->word[index / 64] | bit : s->word[index / 64] & ~bit;
	return 0;
}

int uft_event_set_copy(struct uft_event_set *to, const struct uft_event_set *from)
{
	*to = (struct uft_event_set){ NULL, 0 };
	return uft_event_set_add(to, from);
}

int uft_event_set_add(struct uft_event_set *to, const struct uft_event_set *other)
{
	if (grow(to, other->nwords))
		return -ENOMEM;
	for (uint32_t i = 0; i < other->nwords; i++)
		to->word[i] |= other->word[i];
	return 0;
}

void uft_event_set_remove(struct uft_event_set *from, const struct uft_event_set *other)
{
	for (uint32_t i = 0; i < from->nwords && i < other->nwords; i++)
		from->word[i] &= ~other->word[i];
}

void uft_event_set_free(struct uft_event_set *s)
{
	free(s->word);
	*s = (struct uft_event_set){ NULL, 0 };
}
