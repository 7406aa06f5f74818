/* SPDX-License-Identifier: MIT */
/* names.c - see names.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/array.h"
#include "symbol/hash_index.h"
#include "symbol/keyed_hash.h"
#include "view/names.h"

int names_init(struct names *t)
{
	memset(t, 0, sizeof(*t));
	pthread_mutex_init(&t->lock, NULL);
	names_get(t, "...");
	if (t->n)
		return 0;
	names_free(t);
	return -ENOMEM;
}

void names_free(struct names *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		free(t->text[i]);
	free(t->text);
	hash_index_free(&t->by_text);
	pthread_mutex_destroy(&t->lock);
	memset(t, 0, sizeof(*t));
}

uint32_t names_get(struct names *t, const char *text)
{
	const uint64_t hash = hash_text(text);
	uint32_t found;

	pthread_mutex_lock(&t->lock);
	found = HASH_FIND(i, &t->by_text, hash, !strcmp(t->text[i], text));
	if (found == HASH_NONE) {
		found = 0;
		if (t->n < NAMES_MAX && !array_reach(t->text, t->cap, t->n) &&
		    !hash_index_reserve(&t->by_text, t->n + 1) && (t->text[t->n] = strdup(text))) {
			hash_index_add(&t->by_text, hash, t->n);
			found = t->n++;
		}
	}
	pthread_mutex_unlock(&t->lock);
	return found;
}

const char *names_text(struct names *t, uint32_t n)
{
	const char *text;

	pthread_mutex_lock(&t->lock);
	text = n < t->n ? t->text[n] : "...";
	pthread_mutex_unlock(&t->lock);
	return text;
}

uint32_t names_count(struct names *t)
{
	uint32_t n;

	pthread_mutex_lock(&t->lock);
	n = t->n;
	pthread_mutex_unlock(&t->lock);
	return n;
}
