/* SPDX-License-Identifier: MIT */
/* words.c - see words.h */
#include "symbol/words.h"

#include <stdlib.h>
#include <string.h>

struct uft_words {
	const struct uft_pattern *p;
	size_t n, nglob;
	int has_not;
	uint8_t *is_not;
	uint32_t mask;
	uint32_t *head, *next, *hash;	/* words without wildcards: index + 1, the latest first; 0: end */
	uint32_t *glob;			/* the other words, rising */
};

static uint32_t hash_of(const char *s, size_t n)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * 16777619u;
	return h ^ h >> 15;
}

void uft_words_free(struct uft_words *w)
{
	if (!w)
		return;
	free(w->is_not);
	free(w->head);
	free(w->next);
	free(w->hash);
	free(w->glob);
	free(w);
}

static void add(struct uft_words *w, size_t i)
{
	const char *func = w->p[i].func;
	uint32_t h;

	if (func[strcspn(func, "*?[\\")] || strstr(func, "...")) {	/* a wildcard, or a name made short */
		w->glob[w->nglob++] = (uint32_t)i;
		return;
	}
	h = w->hash[i] = hash_of(func, strlen(func));
	w->next[i] = w->head[h & w->mask];
	w->head[h & w->mask] = (uint32_t)i + 1;
}

struct uft_words *uft_words_make(const struct uft_pattern *p, const uint8_t *is_not, size_t n)
{
	struct uft_words *w = n && n < UINT32_MAX / 4 ? calloc(1, sizeof(*w)) : NULL;

	if (!w)
		return NULL;
	*w = (struct uft_words){ .p = p, .n = n, .mask = 15 };
	while (w->mask < n)
		w->mask = 2 * w->mask + 1;
	w->is_not = calloc(n, 1);
	w->head = calloc((size_t)w->mask + 1, sizeof(*w->head));
	w->next = calloc(n, sizeof(*w->next));
	w->hash = calloc(n, sizeof(*w->hash));
	w->glob = calloc(n, sizeof(*w->glob));
	if (!w->is_not || !w->head || !w->next || !w->hash || !w->glob) {
		uft_words_free(w);
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		w->is_not[i] = is_not && is_not[i];
		w->has_not |= w->is_not[i];
		add(w, i);
	}
	return w;
}

int uft_words_has_not(const struct uft_words *w)
{
	return w->has_not;
}

int uft_words_is_not(const struct uft_words *w, size_t i)
{
	return w->is_not[i];
}

/* ---- A function's names ---------------------------------------------------------------------- */

#define MAX_KEYS	6

struct names {
	const char *raw, *demangled, *object;
	uint32_t key[MAX_KEYS];		/* of each text that a word without wildcards may match (uft_pattern_match()) */
	size_t nkeys;
};

static void add_keys(struct names *f, const char *name)
{
	const char *at = strrchr(name, '@');

	f->key[f->nkeys++] = hash_of(name, strlen(name));
	if (at && at != name)
		f->key[f->nkeys++] = hash_of(name, (size_t)(at - name));
}

static struct names names_of(const char *raw, const char *demangled, const char *object)
{
	struct names f = { .raw = raw, .demangled = demangled, .object = object };
	size_t len = demangled ? uft_name_length(demangled) : 0, start = demangled ? uft_name_start(demangled) : 0;

	if (raw)
		add_keys(&f, raw);
	if (demangled)
		add_keys(&f, demangled);
	if (len)
		f.key[f.nkeys++] = hash_of(demangled, len);
	if (start)
		f.key[f.nkeys++] = hash_of(demangled + start, (len ? len : strlen(demangled)) - start);
	return f;
}

static int is_match(const struct uft_words *w, size_t i, const struct names *f)
{
	return uft_pattern_match(&w->p[i], f->raw, f->demangled, f->object);
}

long uft_words_last(const struct uft_words *w, const char *raw, const char *demangled, const char *object,
		    int needs_object)
{
	struct names f = names_of(raw, demangled, object);
	long best = -1;

	for (size_t k = 0; k < f.nkeys; k++)
		for (uint32_t i = w->head[f.key[k] & w->mask]; i && (long)i - 1 > best; i = w->next[i - 1])
			if (w->hash[i - 1] == f.key[k] && (!needs_object || w->p[i - 1].object) &&
			    is_match(w, i - 1, &f))
				best = (long)i - 1;
	for (size_t k = w->nglob; k && (long)w->glob[k - 1] > best; k--)
		if ((!needs_object || w->p[w->glob[k - 1]].object) && is_match(w, w->glob[k - 1], &f))
			return w->glob[k - 1];
	return best;
}

static size_t mark(const struct uft_words *w, size_t i, const struct names *f, uint8_t *hit)
{
	if (hit[i] || !is_match(w, i, f))
		return 0;
	return hit[i] = 1;
}

size_t uft_words_mark(const struct uft_words *w, const char *raw, const char *demangled, const char *object,
		      uint8_t *hit)
{
	struct names f = names_of(raw, demangled, object);
	size_t n = 0;

	for (size_t k = 0; k < f.nkeys; k++)
		for (uint32_t i = w->head[f.key[k] & w->mask]; i; i = w->next[i - 1])
			if (w->hash[i - 1] == f.key[k])
				n += mark(w, i - 1, &f, hit);
	for (size_t k = 0; k < w->nglob; k++)
		n += mark(w, w->glob[k], &f, hit);
	return n;
}
