/* SPDX-License-Identifier: MIT */
/*
 * parts_sum.h - add up a recording by several threads; the ops tell what is added up
 *
 * Theory: parts_sum.c. Context: control.
 */
#ifndef UFT_OUTPUT_REPORT_PARTS_SUM_H
#define UFT_OUTPUT_REPORT_PARTS_SUM_H

#include "stream/decode/parts.h"

enum { PARTS_APART = 0, PARTS_JOINED = 1 };

/* A sum is the result of one thread. Ops return 0 or -ENOMEM unless their comment tells otherwise. */
struct parts_ops {
	void *(*make)(const void *all);		/* a sum of nothing, for a part of what @all is for; NULL: no memory */
	void (*release)(void *sum);
	/*
	 * The flag that add() checks between batches of events: add() ends when it is set, and sets it when it meets
	 * something that cannot be joined. NULL: no flag.
	 */
	void (*watch)(void *sum, int *stop);
	int (*open)(void *sum, const struct uft_part *part);	/* the calls that are open when the part begins */
	int (*add)(void *sum, struct uft_stream *st);		/* the events up to the end, or the part's */
	/*
	 * Joins the sum of the next part behind @all. PARTS_JOINED; PARTS_APART: they do not fit, and @all is unchanged
	 * and can go on; -EAGAIN: they do not fit, and @all cannot go on; -ENOMEM.
	 */
	int (*join)(void *all, struct uft_stream *st, const void *sum, const struct uft_part *of);
	int (*clear)(void *all);				/* as it was at first */
	struct uft_parts_cost cost;
};

/*
 * Adds up all of @st, which is at its start, in @all, by @threads threads at most; 0: as many as there are processors.
 * @must_fit: if parts do not fit, @all is cleared and @st at its start, instead of one thread going on. Returns how
 * many threads' sums @all has; 0: it is cleared; -ENOMEM.
 */
int parts_sum(const struct parts_ops *ops, void *all, struct uft_stream *st, unsigned threads, int must_fit);

#endif
