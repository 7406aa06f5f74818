/* SPDX-License-Identifier: MIT */
/*
 * hist_row.h - the values of a record that a target adds up in a map of its slice
 *
 * The keys and sums of a row are numbers of the record, or the thread's number. A key may also be a text of the record,
 * which the map holds whole, in words that are padded with zeroes; a longer text has no room there. The session makes
 * the row of a histogram (hist/row.c). The runtime checks it once and applies it to each event (tracers/event_rules.c).
 * The session reads the map by its own copy of the row. The map lies at `offset` of a region that both know.
 *
 * An element: the keys (a number is one word), the number of events, the sums. Context: any.
 */
#ifndef UFT_PROGRAM_HIST_ROW_H
#define UFT_PROGRAM_HIST_ROW_H

#include "program/hist_map.h"
#include "program/program.h"

#define UFT_HIST_ROW_KEYS	3u
#define UFT_HIST_ROW_SUMS	2u
#define UFT_HIST_TEXT_WORDS	8u	/* of the longest text */
#define UFT_HIST_KEY_WORDS	(UFT_HIST_ROW_KEYS * UFT_HIST_TEXT_WORDS)	/* of all keys */
#define UFT_HIST_ROW_BITS	13u	/* at most: the memory of the whole map is asked for before its first event */

enum uft_hist_make { UFT_HIST_AS_IS, UFT_HIST_LOG2, UFT_HIST_BUCKET, UFT_HIST_NMAKES };

struct uft_hist_number {
	uint8_t load;		/* enum uft_load: of a number, or of a text of the record */
	uint8_t make;		/* enum uft_hist_make; of a text AS_IS */
	uint16_t at;		/* where, behind the common fields */
	uint16_t field;		/* of a text in an array: its bytes */
	uint8_t words, pad;	/* of a text, in the key */
	uint64_t width;		/* BUCKET: it is rounded down to a multiple of this */
};

struct uft_hist_row {
	uint64_t offset;	/* of the map, a multiple of 8 */
	uint8_t bits, nkeys, nsums, key_words, pad[4];	/* key_words: of all keys */
	struct uft_hist_number key[UFT_HIST_ROW_KEYS], sum[UFT_HIST_ROW_SUMS];
};
_Static_assert(sizeof(struct uft_hist_row) == 16 + 16 * (UFT_HIST_ROW_KEYS + UFT_HIST_ROW_SUMS), "rows travel");

/* The number of words of one key. */
static inline uint32_t uft_hist_key_words(const struct uft_hist_number *n)
{
	return n->words ? n->words : 1;
}

static inline uint64_t uft_hist_log2(uint64_t v)
{
	uint64_t n = 0;

	for (v -= v != 0; v; v >>= 1)	/* not all processors can tell it */
		n++;
	return n;
}

/* 1: the row is valid, and its map lies within @bytes. */
int uft_hist_row_is_good(const struct uft_hist_row *row, uint64_t bytes);
uint32_t uft_hist_row_facts(const struct uft_hist_row *row);	/* enum uft_facts that it needs: all must be known */
/* The map of a checked row, in its region. */
struct uft_hist_map uft_hist_row_map(const struct uft_hist_row *row, void *region);
/* Counts the record: 1. 0: the map has no room for its key, or the key for a text. */
int uft_hist_row_count(const struct uft_hist_row *row, void *region, const struct uft_record *r);

#endif
