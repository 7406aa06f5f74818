/* SPDX-License-Identifier: MIT */
/* event_stack.h - events that wait for their stacks. Theory: event_stack.c. Context: the owner */
#ifndef UFT_TREE_EVENT_STACK_H
#define UFT_TREE_EVENT_STACK_H

#include "stream/stream.h"

struct held_event { struct uft_event event; uint64_t clock, room; int is_there; _Alignas(8) uint8_t payload[]; };
struct event_stacks { struct held_event **of; uint32_t n; };	/* by uft_task.index */

/* Copies @e; what its thread held before is gone. 0, -ENOMEM. */
int event_stack_hold(struct event_stacks *s, const struct uft_event *e, uint64_t clock);
/* The event that the thread @task holds, of @task; valid until its next one. NULL: none. */
const struct held_event *event_stack_take(struct event_stacks *s, const struct uft_task *task);
void event_stacks_free(struct event_stacks *s);

#endif
