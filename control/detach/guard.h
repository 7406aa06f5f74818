/* SPDX-License-Identifier: MIT */
/* guard.h - a process that outlives a session that is killed. Context: control. */
#ifndef UFT_CONTROL_GUARD_H
#define UFT_CONTROL_GUARD_H

#include "control/arena/arena.h"
#include "control/detach/detach.h"
#include "control/proc/procinfo.h"

/* Forks it; without one (no memory, say) the agents only put the code back. 0 or -errno. */
int guard_start(struct uft_session *s);
/* It is ready when this returns: before the first agent is made, which looks for it. */
void guard_await(struct uft_session *s);
/* The session is over on purpose: the guard is told, and has ended when this returns. */
void guard_stop(struct uft_session *s);

/*
 * Session and guard are dead, the arena's lock is ours: detaches its targets, and removes the file if nobody
 * needs it any more. Returns whether @of is left as it was found, 0 or 1; for @of 0 how many are not.
 */
unsigned guard_take_over(struct arena *a, pid_t of);
/* Not that of a session of another build, whose code in its targets is not known here. */
int guard_can_take_over(const struct arena *a);
/* All arenas that the dead have left, each of them once. Before arena_create(), which removes their files. */
void guard_clean_up(struct uft_session *s);

#endif
