/* SPDX-License-Identifier: MIT */
/* channel.h - one command at a time to the agent of a slice; theory in channel.c. Context: control. */
#ifndef UFT_CONTROL_CHANNEL_H
#define UFT_CONTROL_CHANNEL_H

#include "control/arena/arena.h"

/* Begins the next command in the slice's area; its payload follows the header. Not while a command is under way. */
struct uft_cmd uft_shared *channel_begin(const struct arena *a, uint32_t slice, uint32_t op, uint32_t n,
					 uint32_t object);
static inline void uft_shared *channel_payload(struct uft_cmd uft_shared *c)
{
	return (uint8_t uft_shared *)c + UFT_CMD_PAYLOAD;
}
void channel_post(const struct arena *a, uint32_t slice);	/* starts the command in the area */
/*
 * Waits for the answer to the posted command. @gives_up is called now and then: 0: go on; 1: stop waiting; -errno: the
 * agent is gone. Returns 1: done, the result is in the slice; 0: no answer within @ms, or given up; or that -errno.
 */
int channel_await(const struct arena *a, uint32_t slice, uint32_t ms,
		  int (*gives_up)(const void *arg, uint64_t waited_ns), const void *arg);

/* The agent's result of the last command, checked for range: a value or -errno. */
int command_result(const struct arena *a, uint32_t slice);

#endif
