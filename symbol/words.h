/* SPDX-License-Identifier: MIT */
/*
 * words.h - a list of filter words as one: matches hundreds of thousands of functions with as many words
 *
 * In such a list `!word` excludes functions that earlier words included, so the last word that matches a function
 * decides. Words without a wildcard are found by a hash of the function's names; the others are tried one by one.
 * Context: control.
 */
#ifndef UFT_SYMBOL_WORDS_H
#define UFT_SYMBOL_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "symbol/names.h"

struct uft_words;
/*
 * Makes a list of p[0..n), which the caller owns and must keep; is_not[i]: the word had a `!`, NULL: none. NULL: no
 * memory, or n is 0.
 */
struct uft_words *uft_words_make(const struct uft_pattern *p, const uint8_t *is_not, size_t n);
void uft_words_free(struct uft_words *w);
int uft_words_has_not(const struct uft_words *w);
int uft_words_is_not(const struct uft_words *w, size_t i);
/*
 * Returns the index of the last word that matches, -1: none. @needs_object: only words that name an object are tried.
 */
long uft_words_last(const struct uft_words *w, const char *raw, const char *demangled, const char *object,
		    int needs_object);
/* Sets hit[i] for each word that matches; returns how many were not set before. */
size_t uft_words_mark(const struct uft_words *w, const char *raw, const char *demangled, const char *object,
		      uint8_t *hit);

#endif
