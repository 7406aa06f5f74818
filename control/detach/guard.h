/* SPDX-License-Identifier: MIT */
/* guard.h - a process that outlives a session that is killed. Context: control. */
#ifndef UFT_CONTROL_GUARD_H
#define UFT_CONTROL_GUARD_H

#include "control/arena/arena.h"
#include "control/detach/detach.h"
#include "control/proc/procinfo.h"

/* Forks the guard. Returns 0 or -errno: without a guard (no memory), the agents can only restore the code. */
int guard_start(struct uft_session *s);
/* Waits until the guard is ready. Called before the first agent is made, which looks for the guard. */
void guard_await(struct uft_session *s);
/* Ends the guard when the session ends by itself. The guard has ended when this returns. */
void guard_stop(struct uft_session *s);

/*
 * Detaches the targets of a dead session and guard, whose lock the caller has taken, and removes the file if no process
 * needs it any more. Returns 1 if the runtime is out of @of, else 0; for @of 0: how many processes still have it.
 */
unsigned guard_take_over(struct arena *a, pid_t of);
/* Returns 0 for a session of another build, whose code in its targets is not known here. */
int guard_can_take_over(const struct arena *a);
/* Takes over all arenas of dead sessions, each once. Before arena_create(), which removes their files. */
void guard_clean_up(struct uft_session *s);

#endif
