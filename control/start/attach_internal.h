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
	pid_t agent;		/* its number in our pid namespace */
	pid_t between;		/* the task that made the agent, a zombie to be reaped by its thread; 0: none */
	int agent_fd;
	uint64_t stop_ns;
	char why[400];		/* what one of its threads forbids itself, so that it cannot be traced */
};

static inline void nap(long us)
{
	nanosleep(&(struct timespec){ .tv_nsec = us * 1000 }, NULL);
}

/* ---- attach.c ---- */

int attach_stop(struct attach *a);	/* stops the thread that is disturbed least; 0 or -errno */
/* Restores and resumes the stopped thread. @was_used: system calls were made in it. */
void attach_resume(struct attach *a, int was_used);

/* ---- attach_threads.c ---- */

/* Judges what the stopped thread @tid forbids itself. 0; -EACCES: tracing would end it, ->why says by what. */
int attach_check_thread(struct attach *a, pid_t tid);
/* The same of all threads of the process, which run. -ETIMEDOUT: one did not stop. */
int attach_check_threads(struct attach *a);

/* ---- attach_agent.c ---- */

/* Maps the blob and makes the agent, while the thread is stopped. 0 or -errno; on an error the blob is unmapped. */
int attach_agent_plant(struct attach *a, const struct blob *b, uint32_t slice);
/* Gives the agent the arena, and waits until it serves. 0 or -errno */
int attach_agent_meet(struct attach *a, const struct blob *b);
/* Waits until the agent serves or has failed. 0 or -errno; -ECHILD: there is no agent */
int attach_agent_await(struct attach *a, const struct blob *b, struct uft_boot *boot);
/*
 * Kills an agent that could not start, and unmaps the blob. Waits at most @ms for a thread to stop. 0, or -errno: the
 * blob remains mapped.
 */
int attach_agent_remove(struct attach *a, const struct blob *b, unsigned ms);

#endif
