/* SPDX-License-Identifier: MIT */
/*
 * making.h - one pass over a recording: levels of detail, an index, and how many events match before each of its points
 *
 * Theory: making.c. Context: control, the worker.
 */
#ifndef UFT_VIEW_MAKING_H
#define UFT_VIEW_MAKING_H

#include "stream/decode/seek.h"
#include "view/lod.h"

struct making {
	/* set by the caller: */
	struct names *names;
	struct rows *rows;
	const struct view_filter *filter;
	size_t spans;		 /* of the levels, at most */
	struct uft_index *index; /* it is made if is_new_index */
	int is_new_index;
	uint64_t *before; /* of a filter: by point of the index, matching events before it; else NULL */
	/* made: */
	struct lod *lod;
	uint64_t events, matches, first_ns, last_ns; /* first_ns: UINT64_MAX at the start */
	unsigned parts; /* by so many threads */
	size_t at;
	uint64_t next_point; /* the event before which the next point is */
};

/* The pass calls go_on() from time to time, which returns 0 to go on, or a negative errno. */
struct making_watch {
	int (*go_on)(void *arg, const struct making *m, struct uft_stream *st, double progress);
	void *arg;
};

/* @st is at its start, and at its end afterwards. @threads: 0 as many as there are processors. 0 or -errno. */
int making_run(struct making *m, struct uft_stream *st, unsigned threads, const struct making_watch *watch);
void making_free(struct making *m);

#endif
