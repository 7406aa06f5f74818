/* SPDX-License-Identifier: MIT */
/* agentless.h - processes that have our runtime but no agent are left as well. Context: control, as detach.h */
#ifndef UFT_CONTROL_AGENTLESS_H
#define UFT_CONTROL_AGENTLESS_H

#include "control/arena/arena.h"
#include "control/detach/detach.h"

#define AGENTLESS_NO_MEMORY	"no memory to look for fork children without an agent: what uft mapped in them remains; run uft detach PID"

/*
 * Finds every process that has the arena mapped, but for those that share memory with one of @known, and
 * leaves it; or just @only. The arena's session or guard must live, or be us. @is_saved: what is in their
 * rings will be; their slices are DEAD then, else FREE. Returns how many could not be left, why[] says why
 * the last.
 */
unsigned agentless_detach(const struct arena *a, pid_t only, int is_saved, const pid_t *known, uint32_t nknown,
			  char *why, size_t size);
/* A target whose agent was ended gets another one. 0 or -errno. */
int agentless_rejoin(const struct arena *a, uint32_t slice, pid_t pid);

#endif
