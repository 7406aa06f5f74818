/* SPDX-License-Identifier: MIT */
/* names.h - names and rows by number, the same for all streams of a recording. Context: control, any thread */
#ifndef UFT_VIEW_NAMES_H
#define UFT_VIEW_NAMES_H

#include <pthread.h>
#include <stdint.h>

#include "stream/stream.h"

#define NAMES_MAX (1u << 18) /* what is new beyond is number 0, `...` */
#define ROWS_MAX (1u << 19)
#define ROW_CPU 0x80000000u /* the row of a CPU: its number, and this */

/* One thread of the recorded programs, whatever it executed. */
struct name_row {
	uint32_t pid, tid, ppid;
	char comm[20];
};

struct names {
	pthread_mutex_t lock;
	char **text;
	uint32_t n, cap;
	uint32_t *hash, mask;
	struct name_row *row;
	uint32_t nrows, cap_rows;
	uint32_t *row_hash, row_mask;
};

int names_init(struct names *t); /* 0 or -ENOMEM */
void names_free(struct names *t);
uint32_t names_get(struct names *t, const char *text);
const char *names_text(struct names *t, uint32_t n); /* lives as long as the table */
/* Of a thread: its row, made if there is none. @comm, if it is known, is its name from now on. */
uint32_t names_row(struct names *t, uint32_t pid, uint32_t tid, uint32_t ppid, const char *comm);
int names_row_get(struct names *t, uint32_t i, struct name_row *out); /* 0: there is none */
uint32_t names_nrows(struct names *t);
uint32_t names_count(struct names *t);

#endif
