/* SPDX-License-Identifier: MIT */
/* latency.h - the worst case of a latency tracer in a stream of events; theory in latency.c */
#ifndef UFT_OUTPUT_LATENCY_H
#define UFT_OUTPUT_LATENCY_H

#include "output/calls.h"

struct stretch_line {
	uint64_t ts_ns;
	const struct uft_sym *sym, *parent;
	const struct uft_task *task;
	uint32_t cpu;
	uint32_t priority;		/* wakeup: of task, with has_state */
	uint8_t has_state, depth, is_masked;	/* locks held and signals blocked then, as far as the tracer knows */
	uint8_t kind;			/* enum uft_event_kind; of where it begins and ends, of any */
	uint32_t level;			/* of the call in its task */
	uint64_t duration_ns;
};

#define STRETCH_LINES	16384u		/* kept of one; the others are counted */
struct stretch {
	uint64_t start_ns, end_ns;
	struct stretch_line *line;
	uint32_t n, cap;
	uint64_t total;			/* lines that there were */
	const struct uft_task *task;
	uint32_t cpu, policy, priority;	/* of the task, at the end; the latter with has_state */
	uint8_t has_state;
	const struct uft_stack *stack;	/* where it ended; NULL: none was recorded */
	uint8_t wants_stack;		/* it comes next */
};

struct wake { uint64_t address, ts_ns; const struct uft_task *task; const struct uft_sym *sym, *parent; uint32_t cpu,
	priority; uint8_t has_state; };
#define WAKES	4096u			/* addresses; of two in one place the later counts */

struct latency {
	struct calls calls;
	uint64_t floor_ns;		/* longer than that, or */
	uint64_t thresh_ns;		/* not 0: the last that was longer than this */
	uint64_t from_ns;		/* only stretches that end later */
	struct stretch worst;		/* end_ns 0: none */
	struct wake *wake;
	int has_returns;		/* of the calls meanwhile: lines of their own */
	int error;			/* -ENOMEM sticks */
};
void latency_feed(struct latency *l, const struct uft_event *ev);
void latency_free(struct latency *l);

#endif
