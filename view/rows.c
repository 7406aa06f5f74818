/* SPDX-License-Identifier: MIT */
/* rows.c - the threads of one recording, in the order in which they were met. Theory: rows.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/array.h"
#include "symbol/keyed_hash.h"
#include "view/rows.h"

static uint32_t hash_row(uint32_t pid, uint32_t tid)
{
	return (uint32_t)hash_words(pid, tid);
}

int rows_init(struct rows *t)
{
	memset(t, 0, sizeof(*t));
	t->mask = 2 * ROWS_MAX - 1;
	t->hash = calloc(t->mask + 1ull, sizeof(*t->hash));
	if (!t->hash)
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	return 0;
}

void rows_free(struct rows *t)
{
	if (!t->hash)
		return;
	free(t->row);
	free(t->hash);
	pthread_mutex_destroy(&t->lock);
	memset(t, 0, sizeof(*t));
}

uint32_t rows_get(struct rows *t, uint32_t pid, uint32_t tid, uint32_t ppid, const char *comm)
{
	uint32_t at = hash_row(pid, tid) & t->mask, found = 0;
	struct row *r;

	pthread_mutex_lock(&t->lock);
	for (; t->hash[at]; at = (at + 1) & t->mask) {
		found = t->hash[at] - 1;
		r = &t->row[found];
		if (r->pid == pid && r->tid == tid) {
			if (strcmp(comm, "<...>"))
				snprintf(r->comm, sizeof(r->comm), "%s", comm);
			goto out;
		}
	}
	found = 0;
	if (t->n >= ROWS_MAX || array_reach(t->row, t->cap, t->n) < 0)
		goto out;
	found = t->n;
	t->row[found] = (struct row){pid, tid, ppid, ""};
	snprintf(t->row[found].comm, sizeof(r->comm), "%s", comm);
	t->hash[at] = ++t->n;
out:
	pthread_mutex_unlock(&t->lock);
	return found;
}

int rows_at(struct rows *t, uint32_t i, struct row *out)
{
	int is_there;

	pthread_mutex_lock(&t->lock);
	is_there = i < t->n;
	if (is_there)
		*out = t->row[i];
	pthread_mutex_unlock(&t->lock);
	return is_there;
}

uint32_t rows_count(struct rows *t)
{
	uint32_t n;

	pthread_mutex_lock(&t->lock);
	n = t->n;
	pthread_mutex_unlock(&t->lock);
	return n;
}
