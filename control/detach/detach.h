/* SPDX-License-Identifier: MIT */
/* detach.h - detach from targets. Context: control; called by the session, or by the guard after its death. */
#ifndef UFT_CONTROL_DETACH_H
#define UFT_CONTROL_DETACH_H

#include "control/arena/journal.h"

struct detaching {			/* a target being detached; zero except for the first two fields, or three */
	const struct arena *arena;
	uint32_t slice;
	pid_t pid, agent;		/* in our pid namespace; pid 0: taken from the slice */
	int agent_fd;			/* pidfd of the agent; closed by detach_targets() */
	int left;			/* sites and hooks that cannot be restored while threads run */
	int may_stay;			/* the agent may stay if code could not be restored; out: it stays */
	int is_asked, is_over;		/* out: it had an agent; it, or its agent, has ended */
	int is_done;
	int is_alone;			/* out: the process lives, its agent has ended */
	int stuck;			/* sites that another program has changed: they stay */
	struct uft_owned *own;
	uint32_t nown;
	/* bytes of the runtime's memory that such sites lead to: it stays, and is not in own[] */
	uint64_t kept_bytes;
	uint64_t answer_ns;		/* how long the session has waited for answers of the agent */
	uint64_t starved_ns;		/* how long the agent had waited for a CPU before the first wait */
	uint64_t patience_ns, late_ns;	/* limit for all answers; time added while the agent waits for a CPU */
	int is_hurried, nice;		/* the agent has a better priority; its nice value before */
	char why[200];			/* out: what remains and why; "": nothing */
};

/* Completes an unmap that a killed session had begun, by its note @n. */
void detach_finish(const struct arena *a, struct detach_notes *n);

/*
 * Detaches from @n targets at once. Afterwards no agent lives, and ->why tells what remains in a target. The slices
 * stay as they are: their rings may still be drained.
 */
void detach_targets(struct detaching *l, uint32_t n);

#endif
