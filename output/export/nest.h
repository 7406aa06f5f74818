/* SPDX-License-Identifier: MIT */
/*
 * nest.h - a stream as strictly nested calls and the events between them: the input of timeline formats
 *
 * Begins and ends of a task match like brackets, and its time never runs backwards; a parent begins before its children
 * if the times are equal. Times are ns since the first event. A call that is open when its process or the stream ends
 * gets a marked end there. Returns whose entry is not in the stream are left out, and counted.
 */
#ifndef UFT_OUTPUT_EXPORT_NEST_H
#define UFT_OUTPUT_EXPORT_NEST_H

#include "output/emit.h"
#include "output/export/event.h"

enum nest_end { NEST_RETURNED, NEST_LEFT, NEST_OPEN };	/* open: when its process or the stream ended */

struct nest_call {
	const struct uft_sym *sym;
	/* calls are numbered from 1 in the order in which they begin; parent 0: none, it is an outermost one */
	uint64_t id, parent;
	uint64_t begin_ns;
	uint64_t child_ns;		/* time of the calls within it, as soon as they have ended */
	uint32_t level;			/* open calls around it */
	uint32_t depth;			/* as the stream has it */
};

struct nest_ops {
	/* Each op returns 0 or a negative errno, which ends the run. */
	int (*begin)(void *ctx, const struct uft_task *task, const struct nest_call *call);	/* at call->begin_ns */
	int (*end)(void *ctx, const struct uft_task *task, const struct nest_call *call, uint64_t ns,
		   enum nest_end how);
	int (*lost)(void *ctx, const struct uft_task *task, uint64_t ns, uint64_t records);	/* @task may be NULL */
	/* An event that is no call (event.h), in the innermost call @in; NULL: none is open. */
	int (*event)(void *ctx, const struct uft_task *task, const struct nest_call *in, uint64_t ns,
		     const struct export_event *e, const struct uft_event *ev);
};

struct nest_result {
	uint64_t calls, open, without_entry, lost, events;
	uint64_t end_ns;
};

/* Reads all of @st. 0 or a negative errno. */
int nest_run(struct uft_stream *st, const struct nest_ops *ops, void *ctx, struct nest_result *result);

#endif
