/* SPDX-License-Identifier: MIT */
/* function_list.h - the words of lists of functions. Context: the owner. */
#ifndef UFT_TREE_FUNCTION_LIST_H
#define UFT_TREE_FUNCTION_LIST_H

#include "symbol/words.h"
#include "tree/core/tree_internal.h"

#define WORD_MAX	512

struct uft_function;

struct word {
	char *text;			/* as it is kept, malloc'd */
	size_t at, end;			/* where it begins in the write; bytes of the write up to and with it */
	uint64_t nth;			/* a line of available_filter_functions, from 1; 0: a pattern */
};

struct word_batch {			/* what one write adds; zero at first */
	struct word *word;
	struct uft_pattern *p;
	uint8_t *hit;
	size_t n, cap, left;
	struct uft_words *set;
	uint64_t line;
	size_t *by_line, nlines, next;	/* words that are numbers, rising */
};

/* hashes of the names of the functions known at one moment; filled when first needed */
struct word_known { uint64_t *hash; size_t mask, n; };

/*
 * Matches all names of a function, as in the file and demangled, against words. plan/spec_match.c does the same for
 * sites.
 */
long word_last(const struct uft_words *w, const struct uft_function *f);	/* uft_words_last() */
int word_matches(const struct uft_pattern *p, const struct uft_function *f);

/* Adds a word of valid bytes. word_batch_check() tells whether it matches a function. */
int word_batch_add(struct word_batch *b, const char *text, size_t at, size_t end);
/* Returns how many words match before the first that does not, or a negative errno. @known: for long lists, or NULL. */
long word_batch_check(struct uft_tree *t, struct word_known *known, struct word_batch *b);
void word_batch_free(struct word_batch *b);
/* Copies @words, one a line. Of equal words, with or without `!`, only the last stays. malloc'd. */
char *words_unique(const char *words, size_t len);

#endif
