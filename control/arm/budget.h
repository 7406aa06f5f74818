/* SPDX-License-Identifier: MIT */
/* budget.h - limit of the cost of tracing: see budget.c. Context: control, the session's thread. */
#ifndef UFT_CONTROL_BUDGET_H
#define UFT_CONTROL_BUDGET_H

#include <stddef.h>
#include <stdint.h>

#include "control/plan/plan.h"

/* One function in one measurement of a target. */
struct budget_fn {
	uint32_t object, site;
	uint32_t size;			/* bytes; 0: unknown */
	int is_dropped;			/* out */
	double calls, events, cost_ns;
};

struct budget_load {			/* of the target since the last measurement */
	double wall_ns, cpu_ns;		/* cpu: tracing included */
	double events, cost_ns;		/* of all functions */
};

/*
 * Marks the functions to drop so that the rest fits the limit; reorders @fn. Returns their number. *fits: 0 if the rest
 * still exceeds the limit.
 */
size_t budget_choose(struct budget_fn *fn, size_t n, const struct budget_load *load, const struct budget_limit *limit,
		     int *fits);

struct uft_session;
struct target;
struct cost_meter;
/* cost.c: measures the target's load since the last call. Fills fn[]; returns their number (<= @max), at first 0. */
size_t cost_measure(struct uft_session *s, struct target *t, struct budget_load *load, struct budget_fn *fn,
		    size_t max);
/* After a change: the next measurement begins now. */
void cost_restart(struct uft_session *s, struct target *t);
void cost_free(struct cost_meter *m);

/* Measures every target each BUDGET_MS, and drops functions that cost too much. */
void budget_poll(struct uft_session *s);
#define BUDGET_MS	100

#endif
