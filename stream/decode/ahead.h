/* SPDX-License-Identifier: MIT */
/*
 * ahead.h - a stream that is decoded in a thread of its own, some batches ahead of its user
 *
 * For passes over all of a recording that take as long as decoding it: on two processors they take half of the time.
 * Context: control.
 */
#ifndef UFT_STREAM_AHEAD_H
#define UFT_STREAM_AHEAD_H

#include "stream/stream.h"

struct uft_ahead;

/**
 * uft_ahead_start - begin to decode @st, which its user leaves alone until uft_ahead_end()
 * @each: unless NULL, called in the decoding thread with each batch; what it returns below 0 ends the stream
 *
 * 0, -ENOMEM or -EAGAIN.
 */
int uft_ahead_start(struct uft_stream *st, int (*each)(void *arg, const struct uft_event *ev, size_t n), void *arg,
		    struct uft_ahead **out);
/* The next batch, valid until the next call; returns how many events, 0 at the end. */
size_t uft_ahead_next(struct uft_ahead *a, const struct uft_event **ev);
double uft_ahead_progress(const struct uft_ahead *a); /* up to the last batch that was given */
/* Ends it, at the end or before; returns 0 or what @each gave. NULL: nothing is done. */
int uft_ahead_end(struct uft_ahead *a);

#endif
