/* SPDX-License-Identifier: MIT */
/* rows.c - the threads of one recording, in the order in which they were met. Theory: rows.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/array.h"
#include "symbol/hash_index.h"
#include "symbol/keyed_hash.h"
#include "view/rows.h"

int rows_init(struct rows *t)
{
	memset(t, 0, sizeof(*t));
	if (hash_index_reserve(&t->by_tid, 1))
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	return 0;
}

void rows_free(struct rows *t)
{
	if (!t->by_tid.slot)
		return;
	free(t->row);
	hash_index_free(&t->by_tid);
	pthread_mutex_destroy(&t->lock);
	memset(t, 0, sizeof(*t));
}

uint32_t rows_get(struct rows *t, uint32_t pid, uint32_t tid, uint32_t ppid, const char *comm)
{
	const uint64_t hash = hash_words(pid, tid);
	uint32_t found;
	int is_named = 0;

	pthread_mutex_lock(&t->lock);
	found = HASH_FIND(i, &t->by_tid, hash, t->row[i].pid == pid && t->row[i].tid == tid);
	if (found != HASH_NONE) {
		is_named = !strcmp(comm, "<...>");
	} else if (t->n >= ROWS_MAX || array_reach(t->row, t->cap, t->n) || hash_index_add(&t->by_tid, hash, t->n)) {
		found = 0;
		is_named = 1;
	} else {
		found = t->n++;
		t->row[found] = (struct row){pid, tid, ppid, ""};
	}
	if (!is_named)
		snprintf(t->row[found].comm, sizeof(t->row[found].comm), "%s", comm);
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
