/* SPDX-License-Identifier: MIT */
/* agent.h - inside runtime/agent/ */
#ifndef UFT_AGENT_H
#define UFT_AGENT_H

#include "runtime/runtime.h"

extern struct uft_boot uft_boot;	/* boot.c; the session writes into it */

/* The session has gone (agent: set once, before it ends): nobody answers requests any more. */
int agent_session_is_gone(void);

/* creds.c: the agent's credentials follow the target's. */
struct agent_creds {
	int status_fd;			/* /proc/PID/status of the target; -1 none */
	uint64_t digest;		/* of the lines last seen */
};
void creds_open(struct agent_creds *c, int pid);	/* while both have the same */
int creds_follow(struct agent_creds *c);	/* 0, or -errno: the agent has more rights than the target */

long uft_asm_clone(unsigned long flags, void *stack_top, void (*fn)(void));	/* entry.S */

#endif
