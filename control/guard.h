/* SPDX-License-Identifier: MIT */
/* guard.h - a process that outlives a session that is killed. Context: control. */
#ifndef UFT_CONTROL_GUARD_H
#define UFT_CONTROL_GUARD_H

#include "control/internal.h"

/* Forks it; without one (no memory, say) the agents only put the code back. 0 or -errno. */
int guard_start(struct uft_session *s);
/* The session is over on purpose: the guard is told, and has ended when this returns. */
void guard_stop(struct uft_session *s);

/* Nobody leads this session any more: detaches its targets. Returns how many could not be left as they were found. */
unsigned guard_finish(const struct arena *a);
/* The same by a process that has nothing to do with it: session and guard are dead, the arena's lock is ours. */
unsigned guard_take_over(struct arena *a);
/* All arenas that the dead have left. Before arena_create(), which removes their files. */
void guard_clean_up(void);

#endif
