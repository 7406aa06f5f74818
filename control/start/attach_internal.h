/* SPDX-License-Identifier: MIT */
/* attach_internal.h - the state of an attach, shared by attach.c, attach_agent.c and attach_finish.c */
#ifndef UFT_CONTROL_ATTACH_INTERNAL_H
#define UFT_CONTROL_ATTACH_INTERNAL_H

#include "control/proc/procinfo.h"
#include "control/ptrace/remote_call.h"
#include "control/start/start.h"

#include <time.h>

#define MEET_MS		4000

struct attach {
	struct uft_session *s;
	pid_t pid;
	struct procinfo info;
	struct space *space;
	uint32_t slice;
	struct remote r;
	int64_t rseq_offset;
	int no_mprotect;
	pid_t agent;		/* as we see it */
	pid_t between;		/* has ended, and is to be waited for; 0 none */
	int agent_fd;
	uint64_t stop_ns;
	char denied[200];	/* calls for which its seccomp filter would end it; "?": we may not know */
};

static inline void nap(long us)
{
	nanosleep(&(struct timespec){ .tv_nsec = us * 1000 }, NULL);
}

/* ---- attach.c ---- */

int attach_stop(struct attach *a);	/* stops the thread that is disturbed least; 0 or -errno */
/* Resumes it as it was. @was_used: system calls were made in it. */
void attach_resume(struct attach *a, int was_used);

/* ---- attach_agent.c ---- */

/* Maps the blob and makes the agent, while the thread is stopped. 0 or -errno; then nothing of it is left. */
int attach_agent_plant(struct attach *a, const struct blob *b, uint32_t slice);
/* Gives the agent the arena, and waits until it serves. 0 or -errno */
int attach_agent_meet(struct attach *a, const struct blob *b);
/* Waits for the agent, if there is one, until it serves or has given up. 0 or -errno */
int attach_agent_await(struct attach *a, const struct blob *b, struct uft_boot *boot);
/*
 * Ends an agent that could not come up, and unmaps the blob: it waits for a thread to stop for @ms at most. 0, or
 * -errno: the blob remains.
 */
int attach_agent_remove(struct attach *a, const struct blob *b, unsigned ms);

#endif
