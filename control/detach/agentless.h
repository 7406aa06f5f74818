/* SPDX-License-Identifier: MIT */
/* agentless.h - detach from processes that have the runtime but no agent. Context: control, as detach.h */
#ifndef UFT_CONTROL_AGENTLESS_H
#define UFT_CONTROL_AGENTLESS_H

#include "control/arena/arena.h"
#include "control/detach/detach.h"

#define AGENTLESS_NO_MEMORY	"no memory to look for fork children without an agent: what uft mapped in them remains; run uft detach PID"

/*
 * Detaches from every process that has the arena mapped and does not share memory with one of @known; or from @only.
 * The caller is the arena's session or guard, or one of them lives. @is_saved: the records in their rings will be
 * saved, so their slices become DEAD instead of FREE. Returns how many processes remain; why[] has the reason of the
 * last.
 */
unsigned agentless_detach(const struct arena *a, pid_t only, int is_saved, const pid_t *known, uint32_t nknown,
			  char *why, size_t size);
/* Gives a target whose agent was killed a new one. Returns 0 or -errno. */
int agentless_rejoin(const struct arena *a, uint32_t slice, pid_t pid);

#endif
