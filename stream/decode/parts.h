/* SPDX-License-Identifier: MIT */
/*
 * parts.h - divide a recording in parts by time, each read by a thread of its own
 *
 * Each part has a stream of its own, so that threads share nothing. Theory: parts.c. Context: control.
 */
#ifndef UFT_STREAM_PARTS_H
#define UFT_STREAM_PARTS_H

#include "stream/stream.h"

struct uft_part {
	struct uft_stream *st;	/* of the first part: the stream that the caller gave */
	uint64_t from, to;	/* clocks: events after @from, up to @to; 0 without a bound */
	const int *stop;	/* uft_part_begin() returns early when it is set; may be NULL */
};

#define UFT_PARTS_MAX	8u

/*
 * Costs of an event, in tenths of a nanosecond of any machine, because only ratios count. Parts get the lengths with
 * which all threads end at the same time.
 */
struct uft_parts_cost {
	unsigned read;		/* decoding it, and the user's work with it */
	/* other work of the first part's thread, for each event of the whole recording */
	unsigned before;
	unsigned most;		/* parts, where @max is 0; 0: as many as there are processors */
	unsigned after;		/* other work of the last part's thread, if there are several */
};

/**
 * uft_parts_open - divide a recording, at whose start @st is
 * @max:  parts at most, of UFT_PARTS_MAX; 0: as many as there are processors
 * @part: the parts, in the order of time
 *
 * Returns how many parts there are; 1: @st alone, because the recording is short or still grows, a part of it is
 * selected, or there is one processor. If @max is given, a short recording is divided, too.
 */
size_t uft_parts_open(struct uft_stream *st, size_t max, const struct uft_parts_cost *cost, struct uft_part *part);
/*
 * Goes to the first event of the part; call it first in the part's thread. 0 or -ENOMEM. After this uft_stream_batch()
 * gives the events of the part, with the tasks, depths and times that they have in the whole stream.
 */
int uft_part_begin(struct uft_part *part);
/* Returns the function of the call that task @index has open at @depth; NULL: none. */
const struct uft_sym *uft_part_open_call(const struct uft_part *part, uint32_t index, uint32_t depth);
/*
 * 0: some event of the part depends on earlier events in a way that a point does not hold. Read the recording whole
 * then.
 */
int uft_part_is_exact(const struct uft_part *part);
/* Returns the index in @st of the part's task @index. */
uint32_t uft_part_task(const struct uft_part *part, uint32_t index, struct uft_stream *st);
/* Copies what uft_stream_info() tells from the last part to @st, the first part's. 0: the two met other tasks. */
int uft_part_tell_info(struct uft_part *last, struct uft_stream *st);
/* Returns @st's symbol for each symbol of the part, by its index there: uft_resolve_others(). */
size_t uft_part_symbols(const struct uft_part *part, struct uft_stream *st, const struct uft_sym ***out);
/* Closes all streams but the first. @is_restart: brings the first to its start; else it stays where it is. */
void uft_parts_close(struct uft_part *part, size_t n, int is_restart);

#endif
