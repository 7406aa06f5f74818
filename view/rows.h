/* SPDX-License-Identifier: MIT */
/*
 * rows.h - the threads of one recording by number, the same for all its streams. Context: control, any thread
 *
 * Each recording has a table of its own, because another one may have another thread with the same numbers.
 */
#ifndef UFT_VIEW_ROWS_H
#define UFT_VIEW_ROWS_H

#include <pthread.h>
#include <stdint.h>

#include "symbol/hash_index.h"

#define ROWS_MAX (1u << 19)  /* threads beyond share row 0 */
#define ROW_CPU 0x80000000u /* the row of a CPU: its number, and this */

/* One thread of the recorded programs, whatever programs it executed. */
struct row {
	uint32_t pid, tid, ppid;
	char comm[20];
};

struct rows {
	pthread_mutex_t lock;
	struct row *row;
	uint32_t n, cap;
	struct hash_index by_tid;
};

int rows_init(struct rows *t); /* 0 or -ENOMEM */
void rows_free(struct rows *t);
/* The row of a thread, made if there is none. @comm, if known, is its name from now on. */
uint32_t rows_get(struct rows *t, uint32_t pid, uint32_t tid, uint32_t ppid, const char *comm);
int rows_at(struct rows *t, uint32_t i, struct row *out); /* 0: there is none */
uint32_t rows_count(struct rows *t);

#endif
