/* SPDX-License-Identifier: MIT */
/* budget.h - what tracing may cost: see budget.c. Context: control, the session's thread. */
#ifndef UFT_CONTROL_BUDGET_H
#define UFT_CONTROL_BUDGET_H

#include <stddef.h>
#include <stdint.h>

#include "control/plan/plan.h"

/* One function in one look at a target. */
struct budget_fn {
	uint32_t object, site;
	uint32_t size;			/* bytes, 0 unknown */
	int is_dropped;			/* out */
	double calls, events, cost_ns;
};

struct budget_load {			/* of the target since the last look */
	double wall_ns, cpu_ns;		/* cpu: tracing included */
	double events, cost_ns;		/* of all functions */
};

/*
 * Marks what has to be dropped so that the rest fits; reorders @fn. Returns how many; *fits 0: even then it
 * would not.
 */
size_t budget_choose(struct budget_fn *fn, size_t n, const struct budget_load *load, const struct budget_limit *limit,
		     int *fits);

struct uft_session;
struct target;
struct cost_meter;
/* cost.c: what the target did since the last look; fills fn[] (at most @max), returns how many, 0 at the first look. */
size_t cost_measure(struct uft_session *s, struct target *t, struct budget_load *load, struct budget_fn *fn,
		    size_t max);
/* Something changed: the next look is about what comes from now on. */
void cost_restart(struct uft_session *s, struct target *t);
void cost_free(struct cost_meter *m);

/* A look at every target when it is time; drops what costs too much. */
void budget_poll(struct uft_session *s);
#define BUDGET_MS	100

#endif
