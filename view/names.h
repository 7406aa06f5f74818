/* SPDX-License-Identifier: MIT */
/* names.h - texts by number, the same for all recordings that are shown together. Context: control, any thread */
#ifndef UFT_VIEW_NAMES_H
#define UFT_VIEW_NAMES_H

#include <pthread.h>
#include <stdint.h>

#include "symbol/hash_index.h"

#define NAMES_MAX (1u << 18) /* a new name beyond this gets number 0, `...` */

struct names {
	pthread_mutex_t lock;
	char **text;
	uint32_t n, cap;
	struct hash_index by_text;
};

int names_init(struct names *t); /* 0 or -ENOMEM */
void names_free(struct names *t);
uint32_t names_get(struct names *t, const char *text);
const char *names_text(struct names *t, uint32_t n); /* lives as long as the table */
uint32_t names_count(struct names *t);

#endif
