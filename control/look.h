/* SPDX-License-Identifier: MIT */
/* look.h - where the tasks of an address space are, and holding them for a moment. Context: control. */
#ifndef UFT_CONTROL_LOOK_H
#define UFT_CONTROL_LOOK_H

#include <sys/types.h>

#include "uft/abi.h"

struct look {				/* whose memory is meant: not to be changed between calls */
	pid_t pid, agent;		/* of the program; ours, which is left out */
	const struct uft_owned *own;
	uint32_t nown;
	int is_sorted;			/* own[] is, by address */
	uint8_t *hit;			/* by range of own[], if not NULL: look_held() sets it for those somebody is in */
	pid_t inside;			/* out: a task that is inside */
};

/*
 * Looks once at every task that shares the program's memory. 0: each was outside of ours at some moment, and nothing
 * on its stack leads back inside; 1: look->inside was inside, or could not be looked at; -ESRCH: the program is over.
 */
int look_at_tasks(struct look *l);

/* Is a thread pointer of its tasks in [at, at + bytes)? Stops each of them. 1 yes, or not to be found out. */
int look_for_thread_pointer(const struct look *l, uint64_t at, uint64_t bytes);

/* Stops every task that shares the program's memory; 0, or -EAGAIN: some could not be. look_release() in any case. */
struct held;
int look_hold(const struct look *l, struct held **out);
/* Marks in ->hit where held tasks are, or will be when a signal handler returns. Who merely runs there is led out,
 * step by step. 0, or -EAGAIN: not all of them stand. */
int look_held(struct look *l, struct held *h);
void look_release(struct held *h);

/* One task: seized, stopped, to be let go again. -ESRCH gone, -EPERM, -EAGAIN: it does not stop in time; to be tried again,
 * else look_reap() lets it go when it does. */
int look_stop(pid_t tid, int *sig);
void look_go(pid_t tid, int sig);
unsigned look_reap(void);		/* returns how many there are still */

#endif
