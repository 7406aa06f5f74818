/* SPDX-License-Identifier: MIT */
/* names.c - see names.h */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/names.h"

static uint32_t hash_text(const char *s)
{
	uint64_t h = 14695981039346656037ull;

	while (*s)
		h = (h ^ (unsigned char)*s++) * 1099511628211ull;
	return (uint32_t)(h ^ h >> 32);
}

static uint32_t hash_row(uint32_t pid, uint32_t tid)
{
	return (uint32_t)(((uint64_t)pid << 32 | tid) * 0x9e3779b97f4a7c15ull >> 32);
}

int names_init(struct names *t)
{
	memset(t, 0, sizeof(*t));
	pthread_mutex_init(&t->lock, NULL);
	t->mask = 2 * NAMES_MAX - 1;
	t->row_mask = 2 * ROWS_MAX - 1;
	t->hash = calloc(t->mask + 1ull, sizeof(*t->hash));
	t->row_hash = calloc(t->row_mask + 1ull, sizeof(*t->row_hash));
	if (!t->hash || !t->row_hash) {
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
	free(t->row);
	free(t->row_hash);
	pthread_mutex_destroy(&t->lock);
	memset(t, 0, sizeof(*t));
}

/* Room for one more element. */
static int grow(void *array, uint32_t n, uint32_t *cap, size_t size)
{
	uint32_t more = *cap ? 2 * *cap : 256;
	void *p, *grown;

	if (n < *cap)
		return 0;
	memcpy(&p, array, sizeof(p));
	grown = realloc(p, more * size);
	if (!grown)
		return -ENOMEM;
	memcpy(array, &grown, sizeof(grown));
	*cap = more;
	return 0;
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
	if (t->n >= NAMES_MAX || grow(&t->text, t->n, &t->cap, sizeof(*t->text)) < 0)
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

uint32_t names_row(struct names *t, uint32_t pid, uint32_t tid, uint32_t ppid, const char *comm)
{
	uint32_t at = hash_row(pid, tid) & t->row_mask, found = 0;
	struct name_row *r;

	pthread_mutex_lock(&t->lock);
	for (; t->row_hash[at]; at = (at + 1) & t->row_mask) {
		found = t->row_hash[at] - 1;
		r = &t->row[found];
		if (r->pid == pid && r->tid == tid) {
			if (strcmp(comm, "<...>"))
				snprintf(r->comm, sizeof(r->comm), "%s", comm);
			goto out;
		}
	}
	found = 0;
	if (t->nrows >= ROWS_MAX || grow(&t->row, t->nrows, &t->cap_rows, sizeof(*t->row)) < 0)
		goto out;
	found = t->nrows;
	t->row[t->nrows] = (struct name_row){pid, tid, ppid, ""};
	snprintf(t->row[t->nrows++].comm, sizeof(r->comm), "%s", comm);
	t->row_hash[at] = t->nrows;
out:
	pthread_mutex_unlock(&t->lock);
	return found;
}

int names_row_get(struct names *t, uint32_t i, struct name_row *out)
{
	int is_there;

	pthread_mutex_lock(&t->lock);
	is_there = i < t->nrows;
	if (is_there)
		*out = t->row[i];
	pthread_mutex_unlock(&t->lock);
	return is_there;
}

uint32_t names_nrows(struct names *t)
{
	uint32_t n;

	pthread_mutex_lock(&t->lock);
	n = t->nrows;
	pthread_mutex_unlock(&t->lock);
	return n;
}

uint32_t names_count(struct names *t)
{
	uint32_t n;

	pthread_mutex_lock(&t->lock);
	n = t->n;
	pthread_mutex_unlock(&t->lock);
	return n;
}
