// SPDX-License-Identifier: MIT
/*
 * no_ptrace.c - detach where tasks are not stopped by ptrace (ptrace/no_ptrace.c): agents of preloaded targets remove
 * their own memory, and do so by themselves when the session is killed (agent/agent.c).
 */
#include "control/detach/agentless.h"
#include "control/detach/detach.h"

#include <errno.h>

/* A function has the parameters of its twin with ptrace, and needs none of most. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

void detach_targets(struct detaching *l, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		l[i].may_stay = 0;
		l[i].is_asked = 0;
	}
}

void detach_finish(const struct arena *a, struct detach_notes *n)
{
}

unsigned agentless_detach(const struct arena *a, pid_t only, int is_saved, const pid_t *known, uint32_t nknown,
			  char *why, size_t size)
{
	if (size)
		why[0] = '\0';
	return 0;
}

int agentless_rejoin(const struct arena *a, uint32_t slice, pid_t pid)
{
	return -EOPNOTSUPP;
}
