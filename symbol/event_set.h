/* SPDX-License-Identifier: MIT */
/*
 * event_set.h - a set of event types, by their indices in a table
 *
 * Any number of types; an empty set owns no memory. Copies of the structure share the words: one copy is the owner and
 * frees them. Context: any thread, one at a time.
 */
#ifndef UFT_SYMBOL_EVENT_SET_H
#define UFT_SYMBOL_EVENT_SET_H

#include <stdint.h>

struct uft_event_set {
	uint64_t *word;		/* bit i % 64 of word i / 64; malloc'd, NULL: empty */
	uint32_t nwords;
};

static inline int uft_event_set_has(const struct uft_event_set *s, uint32_t index)
{
	return index / 64 < s->nwords && s->word[index / 64] >> index % 64 & 1;
}

int uft_event_set_is_empty(const struct uft_event_set *s);
int uft_event_set_equal(const struct uft_event_set *a, const struct uft_event_set *b);
int uft_event_set_change(struct uft_event_set *s, uint32_t index, int is_in);	/* 0, -ENOMEM: unchanged */
/* @to: an empty set; 0, -ENOMEM */
int uft_event_set_copy(struct uft_event_set *to, const struct uft_event_set *from);
int uft_event_set_add(struct uft_event_set *to, const struct uft_event_set *other);	/* 0, -ENOMEM: unchanged */
void uft_event_set_remove(struct uft_event_set *from, const struct uft_event_set *other);
void uft_event_set_free(struct uft_event_set *s);	/* empty afterwards */

#endif
