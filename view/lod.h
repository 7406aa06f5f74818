/* SPDX-License-Identifier: MIT */
/*
 * lod.h - levels of detail: the spans for a picture of any part of a recording, in bounded memory
 *
 * Calls go to tracks: a row (a task, a CPU) and a lane in it (the depth). A span is a call, or several short calls that
 * lie close together. Theory: lod.c. Context: control; lod_add() by one thread, queries by any thread once the levels
 * are finished.
 */
#ifndef UFT_VIEW_LOD_H
#define UFT_VIEW_LOD_H

#include "view/filter.h"
#include "stream/stream.h"
#include "view/names.h"
#include "view/rows.h"

#define LOD_LANES 512u	    /* deeper calls share the last one */
#define LANE_STATES 0xfffdu /* what a thread did: it ran, waited for a CPU, was blocked */
#define LANE_EVENTS 0xfffeu /* marks, events with a name, samples: they take no time */
#define LANE_LOST 0xffffu   /* of a CPU: losses; count is how many records */

struct lod_span {
	uint64_t start, len;	       /* ns, from the recording's first event on */
	uint32_t name;		       /* of its longest call (names.h); of a CPU: the row of the task */
	uint32_t count : 24, fill : 8; /* calls; fill 255: all of its time. LOST: records, at most 2^24 - 1 */
};

struct lod;
/*
 * Makes empty levels. @rows: of the recording. @origin_ns: the zero of times. @most: the limit of spans. @below: keep
 * only calls shorter than this; 0: all.
 */
struct lod *lod_new(struct names *names, struct rows *rows, uint64_t origin_ns, size_t most, uint64_t below);
void lod_free(struct lod *l);
/*
 * Adds the next event of the stream. Every event must be added; those that match @f are kept. 1: it matched; 0;
 * -ENOMEM.
 */
int lod_add(struct lod *l, const struct uft_event *ev, const struct view_filter *f);
/*
 * Adds, without a filter, the entries and exits at the begin of @ev, as long as their row, name, track and CPU are
 * known. Returns how many; the next event is for lod_add().
 */
size_t lod_add_calls(struct lod *l, const struct uft_event *ev, size_t n);
/*
 * Ends open calls at the last event; those of an ended task (@st, or NULL, tells) at the task's last event; with @below
 * open calls are left out. 0 or -ENOMEM.
 */
int lod_finish(struct lod *l, struct uft_stream *st);

/* ---- Parts of a recording, in the order of time, each made by a thread with names and rows of its own (lod_join.c) */
void lod_begin_part(struct lod *l); /* before the first event: calls may be open, but it is not known which */
/* 1: the part depends on events before it in a way that lod_join() cannot handle; the caller can drop the part. */
int lod_is_dependent(const struct lod *l);
struct lod_part_map {
	const uint32_t *task; /* by index of a task of the part's stream: its index in that of the whole */
	const struct uft_sym *const *sym;
	size_t nsym;
};
/* 1: @l can be joined to parts that end at *last (0: there are none); *last becomes the end of all. */
int lod_can_join(const struct lod *l, uint64_t *last);
/* Joins @part to @to, the parts before it, and empties it; neither is finished. 0 or -ENOMEM. */
int lod_join(struct lod *to, struct lod *part, const struct lod_part_map *map);

/* Makes a coarse, finished copy of unfinished levels. NULL: no memory. Called by the thread that adds. */
struct lod *lod_preview(const struct lod *from);

uint64_t lod_origin(const struct lod *l); /* the zero of its times */
uint64_t lod_last(const struct lod *l);	 /* the latest event, not counted from there */
size_t lod_bytes_of(size_t most); /* while it is made, at most */
uint64_t lod_resolution(const struct lod *l); /* calls of this many ns and longer are spans of their own; 0: all are */
size_t lod_bytes(const struct lod *l);
size_t lod_spans(const struct lod *l);

struct lod_row {
	uint32_t row, lanes; /* lanes: deepest call, and one */
	uint64_t calls, events, first, last;
};
size_t lod_rows(const struct lod *l, const struct lod_row **out);

/* A query for a picture: calls of depths [first_lane, behind_lane) of a row, and all its other spans. */
struct lod_asked {
	uint32_t row, first_lane, behind_lane;
	uint64_t from, to;
	uint64_t pixel; /* ns that are drawn as one column; columns begin at multiples of it, wherever from is */
};

/**
 * lod_query - spans of one row
 * @fine: made of a part that holds [from, to), with below = lod_resolution(l); NULL: none
 *
 * Calls @put for each span of each lane, in the order of time within a lane. Calls shorter than a column that begin in
 * the same one are one span: about one span a column, at most two.
 */
void lod_query(const struct lod *l, const struct lod *fine, const struct lod_asked *asked,
	       void (*put)(void *arg, uint32_t lane, const struct lod_span *s), void *arg);

#endif
