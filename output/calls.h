/* SPDX-License-Identifier: MIT */
/* calls.h - the open calls of each task with their arguments: the base of the tracers that are made of events */
#ifndef UFT_OUTPUT_CALLS_H
#define UFT_OUTPUT_CALLS_H

#include "stream/stream.h"
#include "symbol/tracer.h"

struct call {
	const struct uft_sym *sym, *parent;	/* parent: the traced function that called it, NULL unknown */
	uint64_t start_ns;
	uint64_t arg[4], result;
	uint8_t role;				/* enum uft_role, of the tracer */
	uint8_t has_args, has_result, is_left;
	uint8_t is_handler, in_handler;		/* the kernel made it, for a signal; it, or one that it is called by */
	uint8_t is_marked;			/* graph.c: has said so */
	const struct uft_sym *from;		/* where it returns to, with from_addr; 0 not known */
	uint64_t from_addr;
	const struct uft_image *image;		/* of its process */
	const struct uft_stack *stack;		/* where it was called; NULL: none was recorded */
};

#define CALLS_HELD	64u			/* locks at once; more are not seen */
struct call_task {
	struct call *call;
	uint32_t n, cap;
	uint64_t held[CALLS_HELD];		/* locks: addresses, the newest last; more than once if recursive */
	uint32_t nheld;
	uint64_t mask;				/* blocked signals, as far as known */
	uint32_t policy;
	uint32_t priority;			/* the kernel's, 0 is SCHED_FIFO 99; with has_state */
	uint8_t has_state;
	uint64_t overruns;			/* calls that are not in the stream for want of room */
	int is_inside;				/* latency.c: of a section */
	struct stretch *open;			/* latency.c: that section */
	const struct uft_stack *stack;		/* latency.c: the last one, when stack_of was called */
	const struct uft_sym *stack_of;
};

struct calls {
	uint32_t tracer;
	struct call_task *task;			/* by uft_task.index */
	uint32_t ntask;
	uint8_t *role; uint32_t nrole;		/* by uft_sym.index: role + 1, 0 not looked up */
	struct call ended;			/* what calls_feed() gives out */
};

/*
 * Updates the calls of the event's task. Returns the call of the event with all that is known of it now, or NULL: for
 * ENTRY the new call, for DATA its call, for EXIT and LEFT the call that ended. Valid until the next calls_feed().
 */
const struct call *calls_feed(struct calls *c, const struct uft_event *ev);
struct call_task *calls_task(struct calls *c, const struct uft_task *task);	/* NULL: no memory */
void calls_free(struct calls *c);

#endif
