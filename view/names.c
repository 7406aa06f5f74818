/* SPDX-License-Identifier: MIT */
/* names.c - see names.h */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/array.h"
#include "symbol/keyed_hash.h"
#include "view/names.h"

int names_init(struct names *t)
{
	memset(t, 0, sizeof(*t));
	pthread_mutex_init(&t->lock, NULL);
	t->mask = 2 * NAMES_MAX - 1;
	t->hash = calloc(t->mask + 1ull, sizeof(*t->hash));
	if (!t->hash) {
		names_free(t);
		return -ENOMEM;
	}
	names_get(t, "...");
	return 0;
}

void names_free(struct names *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		free(t->text[i]);
	free(t->text);
	free(t->hash);
	pthread_mutex_destroy(&t->lock);
	memset(t, 0, sizeof(*t));
}

uint32_t names_get(struct names *t, const char *text)
{
	uint32_t at = hash_text(text) & t->mask, found = 0;
	char *copy;

	pthread_mutex_lock(&t->lock);
	for (; t->hash[at]; at = (at + 1) & t->mask)
		if (!strcmp(t->text[t->hash[at] - 1], text)) {
			found = t->hash[at] - 1;
			goto out;
		}
	if (t->n >= NAMES_MAX || array_reach(t->text, t->cap, t->n) < 0)
		goto out;
	copy = strdup(text);
	if (!copy)
		goto out;
	found = t->n;
	t->text[t->n++] = copy;
	t->hash[at] = t->n;
out:
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
