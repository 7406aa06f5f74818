/* SPDX-License-Identifier: MIT */
/* detach.h - targets are left as they were. Context: control; the session, or who takes its place when it has died. */
#ifndef UFT_CONTROL_DETACH_H
#define UFT_CONTROL_DETACH_H

#include "control/arena/journal.h"

struct detaching {			/* a target on its way out; zero but for the first two, or three */
	const struct arena *arena;
	uint32_t slice;
	pid_t pid, agent;		/* as we see them; pid 0: as the slice says */
	int agent_fd;			/* pidfd of the agent; closed by detach_targets() */
	int left;			/* places of code that could not be changed beside running threads */
	int may_stay;			/* the agent, if code could not be put back; out: it did */
	int is_asked, is_over;		/* out: it had an agent; it, or its agent, has ended */
	int is_done;
	int is_alone;			/* out: the process lives, its agent does not */
	int stuck;			/* places of code that cannot be changed: somebody else did */
	struct uft_owned *own;
	uint32_t nown;
	uint64_t kept_bytes;		/* of what those lead to, which stays and is not in own[] */
	uint64_t answer_ns;		/* for which the session has waited for answers of the agent, */
	uint64_t starved_ns;		/* and what the agent had waited for a CPU before the first */
	uint64_t patience_ns, late_ns;	/* for all answers together; and more, for what it waits for a CPU */
	int is_hurried, nice;		/* of the agent: what is to be given back */
	char why[200];			/* out: what remains and why; "" nothing does */
};

void detach_finish(const struct arena *a, struct detach_notes *n);

/*
 * All of them at once. Afterwards no agent lives; what could not be taken out of a target is said in ->why. The
 * slices stay as they are: their rings may still be drained.
 */
void detach_targets(struct detaching *l, uint32_t n);

#endif
