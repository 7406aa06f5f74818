/* SPDX-License-Identifier: MIT */
/* channel.h - one command at a time to the agent of a slice; theory in channel.c. Context: control. */
#ifndef UFT_CONTROL_CHANNEL_H
#define UFT_CONTROL_CHANNEL_H

#include "control/arena/arena.h"

/* The header of the next command, in the slice's area; its payload comes behind it. Not while one is under way. */
struct uft_cmd uft_shared *channel_begin(const struct arena *a, uint32_t slice, uint32_t op, uint32_t n,
					 uint32_t object);
static inline void uft_shared *channel_payload(struct uft_cmd uft_shared *c)
{
	return (uint8_t uft_shared *)c + UFT_CMD_PAYLOAD;
}
void channel_post(const struct arena *a, uint32_t slice);	/* what stands in the area is to be carried out */
/*
 * Waits for the answer to what was posted last. @gives_up is asked now and then: 0 go on, 1 not any longer,
 * -errno there is no agent any more. Returns 1: it was carried out, and the result is in the slice; 0: not
 * within @ms, or given up; that -errno.
 */
int channel_await(const struct arena *a, uint32_t slice, uint32_t ms,
		  int (*gives_up)(const void *arg, uint64_t waited_ns), const void *arg);

/* What the agent says of the last command, bounded: a value, or an error number. */
int command_result(const struct arena *a, uint32_t slice);

#endif
