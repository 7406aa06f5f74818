/* SPDX-License-Identifier: MIT */
/*
 * function_list.c - words in lists of functions: which functions they match, and which words a list keeps
 *
 * One round over the functions tries all words of a write; a hash of the words finds candidates (symbol/words.h).
 * See function_list.h.
 */
#include "symbol/array.h"
#include "symbol/keyed_hash.h"
#include "tree/core/function_list.h"

#include "control/functions.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *demangled(const struct uft_function *f)
{
	return f->name[0] == '_' ? uft_demangle(f->name) : NULL;
}

/* Without a `!` any match decides, so the plain name is tried before names that must be demangled. */
long word_last(const struct uft_words *w, const struct uft_function *f)
{
	char *name = uft_words_has_not(w) ? demangled(f) : NULL;
	long at = uft_words_last(w, f->name, name, f->object, 0);

	if (at < 0 && !name && (name = demangled(f)))
		at = uft_words_last(w, f->name, name, f->object, 0);
	free(name);
	return at;
}

int word_matches(const struct uft_pattern *p, const struct uft_function *f)
{
	char *name = NULL;
	int is_match = uft_pattern_match(p, f->name, NULL, f->object);

	if (!is_match && (name = demangled(f)))
		is_match = uft_pattern_match(p, f->name, name, f->object);
	free(name);
	return is_match;
}

void word_batch_free(struct word_batch *b)
{
	for (size_t i = 0; i < b->n; i++) {
		free(b->word[i].text);
		uft_pattern_free(&b->p[i]);
	}
	uft_words_free(b->set);
	free(b->word);
	free(b->p);
	free(b->hit);
	free(b->by_line);
}

static int batch_room(struct word_batch *b)
{
	size_t cap = b->cap ? 2 * b->cap : 16;

	if (array_resize(b->word, cap) || array_resize(b->p, cap))
		return -ENOMEM;
	b->cap = cap;
	return 0;
}

int word_batch_add(struct word_batch *b, const char *text, size_t at, size_t end)
{
	int is_not = text[0] == '!', ret = b->n == b->cap ? batch_room(b) : 0;
	struct word w = { .at = at, .end = end };

	if (ret)
		return ret;
	if (isdigit((unsigned char)text[is_not]) &&
	    (text_number(text + is_not, strlen(text + is_not), 10, &w.nth) || !w.nth))
		return -EINVAL;
	if (asprintf(&w.text, "%s%s%s", is_not ? "!" : "", text[is_not] == ':' ? "*" : "", text + is_not) < 0)
		return -ENOMEM;
	ret = strlen(w.text) < WORD_MAX - 2 ? uft_pattern_parse(w.text + is_not, &b->p[b->n]) : -EINVAL;
	if (ret)
		free(w.text);
	else
		b->word[b->n++] = w;
	return ret;
}

/* A number becomes the name of its line. */
static int name_line(struct word_batch *b, const struct uft_function *f)
{
	for (; b->next < b->nlines && b->word[b->by_line[b->next]].nth == b->line; b->next++) {
		size_t i = b->by_line[b->next];
		const char *is_not = b->word[i].text[0] == '!' ? "!" : "";
		char *text;

		if (asprintf(&text, f->is_program ? "%s%s" : "%s%s:mod:%s", is_not, f->name, f->object) < 0)
			return -ENOMEM;
		free(b->word[i].text);
		b->word[i].text = text;
		b->hit[i] = 1;
		b->left--;
	}
	return 0;
}

static int line_fn(void *arg, const struct uft_function *f)
{
	struct word_batch *b = arg;
	int ret;

	b->line++;
	ret = name_line(b, f);
	return ret ? ret : b->next == b->nlines;
}

static int check_fn(void *arg, const struct uft_function *f)
{
	struct word_batch *b = arg;
	char *name;

	b->left -= uft_words_mark(b->set, f->name, NULL, f->object, b->hit);
	name = b->left ? demangled(f) : NULL;
	if (name)
		b->left -= uft_words_mark(b->set, f->name, name, f->object, b->hit);
	free(name);
	return !b->left;
}

static int line_order(const void *a, const void *b, void *batch)
{
	const struct word *word = ((struct word_batch *)batch)->word;
	uint64_t x = word[*(const size_t *)a].nth, y = word[*(const size_t *)b].nth;

	return (x > y) - (x < y);
}

static int known_fn(void *arg, const struct uft_function *f)
{
	struct word_known *k = arg;
	uint64_t h = hash_text(f->name) | 1;
	size_t i = h >> 1 & k->mask;

	while (k->hash[i] && k->hash[i] != h)
		i = (i + 1) & k->mask;
	k->n += !k->hash[i];
	k->hash[i] = h;
	return 2 * k->n > k->mask;	/* the rest is looked for */
}

static int count_fn(void *arg, const struct uft_function *f)
{
	(void)f;
	++*(size_t *)arg;
	return 0;
}

/* A list of 100,000 names comes in hundreds of writes; without this hash each write would look at each function. */
static void make_known(struct uft_tree *t, struct word_known *k)
{
	size_t n = 0;

	uft_session_functions(t->session, NULL, count_fn, &n);
	for (k->mask = 63; k->mask < 4 * n;)
		k->mask = 2 * k->mask + 1;
	k->hash = calloc(k->mask + 1, sizeof(*k->hash));
	if (k->hash)
		uft_session_functions(t->session, NULL, known_fn, k);
}

static int is_known(const struct word_known *k, const char *name)
{
	uint64_t h = hash_text(name) | 1;
	size_t i = h >> 1 & k->mask;

	while (k->hash[i] && k->hash[i] != h)
		i = (i + 1) & k->mask;
	return k->hash[i] == h;
}

long word_batch_check(struct uft_tree *t, struct word_known *known, struct word_batch *b)
{
	int ret;

	if (known && !known->hash)
		make_known(t, known);
	if (!b->n)
		return 0;
	b->left = b->n;
	b->hit = calloc(b->n, 1);
	b->by_line = calloc(b->n, sizeof(*b->by_line));
	b->set = uft_words_make(b->p, NULL, b->n);
	if (!b->hit || !b->by_line || !b->set)
		return -ENOMEM;
	for (size_t i = 0; i < b->n; i++) {
		if (b->word[i].nth)
			b->by_line[b->nlines++] = i;
		else if (known && known->hash && !b->p[i].object && is_known(known, b->p[i].func))
			b->left -= b->hit[i] = 1;
	}
	if (!b->left)
		return (long)b->n;
	qsort_r(b->by_line, b->nlines, sizeof(*b->by_line), line_order, b);
	ret = b->nlines ? uft_session_functions(t->session, NULL, line_fn, b) : 0;
	if (ret >= 0 && b->left)
		ret = uft_session_functions(t->session, NULL, check_fn, b);
	/* Functions of an unprepared object are searched only for a word that names the object. */
	for (size_t i = 0; i < b->n && b->left && ret >= 0; i++)
		if (!b->hit[i] && b->p[i].object)
			ret = uft_session_functions(t->session, b->p[i].object, check_fn, b);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < b->n; i++)
		if (!b->hit[i] && (!b->p[i].object || uft_session_has_object(t->session, b->p[i].object)))
			return (long)i;
	return (long)b->n;
}

/* ---- Lists of words -------------------------------------------------------------------------- */

/* The word at @p without its `!`. */
static const char *bare(const char *p, size_t *n)
{
	*n = strcspn(p, "\n") - (*p == '!');
	return p + (*p == '!');
}

/* Returns 1 if the same word, with or without `!`, comes again after @p. @seen: hash of the words after @p. */
static int is_repeated(const char **seen, size_t mask, const char *p)
{
	size_t n, len;
	const char *word = bare(p, &n), *other;
	size_t i = hash_bytes(word, n) & mask;

	for (; seen[i]; i = (i + 1) & mask) {
		other = bare(seen[i], &len);
		if (len == n && !memcmp(word, other, n))
			return 1;
	}
	seen[i] = p;
	return 0;
}

char *words_unique(const char *words, size_t len)
{
	size_t mask = 63, n = 0, at = len;
	char *out, *to;
	const char **seen;

	for (size_t i = 0; i < len; i++)
		n += words[i] == '\n';
	while (mask < 2 * n)
		mask = 2 * mask + 1;
	seen = calloc(mask + 1, sizeof(*seen));
	out = malloc(len + 1);
	if (!seen || !out) {
		free(seen);
		free(out);
		return NULL;
	}
	to = out + len;
	for (*to = '\0'; at; ) {		/* from the last to the first */
		size_t end = at--;

		while (at && words[at - 1] != '\n')
			at--;
		if (is_repeated(seen, mask, words + at))
			continue;
		to -= end - at;
		memcpy(to, words + at, end - at);
	}
	memmove(out, to, (size_t)(out + len - to) + 1);
	free(seen);
	return out;
}
