/* SPDX-License-Identifier: MIT */
/*
 * watch_list.h - the tracer mmiotrace: what memory is watched
 *
 * Theory: watch_list.c. Context: control, the session's thread.
 */
#ifndef UFT_CONTROL_WATCH_LIST_H
#define UFT_CONTROL_WATCH_LIST_H

#include "control/plan/plan.h"

#define ACCESS_MAX	4u	/* debug registers of a CPU; of 8 bytes each */

struct access_range {		/* as asked for */
	char *name;		/* of a variable; NULL: `addr` is the place */
	uint64_t addr, bytes;	/* 0: the variable's own size */
	int is_write_only;
};

struct access_point {		/* what one debug register watches, in a process */
	uint64_t addr;
	uint8_t bytes, range, is_write_only;
};

/* NAME|ADDRESS[,BYTES][:w] each; malloc'd. 0; -EINVAL, -E2BIG with the sentence. */
int access_parse(const char *const *watch, struct access_range **out, uint32_t *n, struct uft_error *err);
void access_free(struct access_range *range, uint32_t n);
int access_is_same(const struct access_range *a, uint32_t na, const struct access_range *b, uint32_t nb);
/*
 * Behind the @count points in @out those of the ranges with a bit in @wanted. @missing: bits of those whose
 * place in @space is not known yet, @wrong of those that take more points than are left. How many there are
 * now.
 */
uint32_t access_points(const struct space *space, const struct access_range *range, uint32_t n, uint32_t wanted,
		       struct access_point out[ACCESS_MAX], uint32_t count, uint32_t *missing, uint32_t *wrong);

#endif
