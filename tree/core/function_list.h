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

/* names of functions at some moment: filled when first needed */
struct word_known { uint64_t *hash; size_t mask, n; };

/*
 * A function against words, by all its names: as in the file, and what uft_demangle() makes of that. As
 * plan/spec_match.c has it for those that are armed.
 */
long word_last(const struct uft_words *w, const struct uft_function *f);	/* uft_words_last() */
int word_matches(const struct uft_pattern *p, const struct uft_function *f);

/* A word whose bytes are right; whether it means something is found out by word_batch_check(). */
int word_batch_add(struct word_batch *b, const char *text, size_t at, size_t end);
/* How many words mean something before one does not; negative errno. @known: of a list in many writes, or NULL. */
long word_batch_check(struct uft_tree *t, struct word_known *known, struct word_batch *b);
void word_batch_free(struct word_batch *b);
/* @words, each with a newline behind it, where of each only the last is left, with or without `!`; malloc'd. */
char *words_unique(const char *words, size_t len);

#endif
