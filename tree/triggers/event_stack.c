/* SPDX-License-Identifier: MIT */
/*
 * event_stack.c - events whose triggers need the stack, until it comes
 *
 * A target writes the stack of a tracepoint's event as the next record of the same thread. In between, the tap returns
 * events of other threads, and a round may end. So such an event is copied here, one for each thread, until the next
 * record of its thread. That record is the stack, or another event if the ring had no room for the stack.
 */
#include "symbol/array.h"
#include "tree/triggers/event_stack.h"


#include <stdlib.h>
#include <string.h>

int event_stack_hold(struct event_stacks *s, const struct uft_event *e, uint64_t clock)
{
	struct held_event *h;

	if (array_reach(s->of, s->n, e->task->index))
		return -ENOMEM;
	h = s->of[e->task->index];
	if (!h || h->room < e->payload_bytes) {
		h = realloc(h, sizeof(*h) + e->payload_bytes);
		if (!h)
			return -ENOMEM;
		h->room = e->payload_bytes;
		s->of[e->task->index] = h;
	}
	h->event = *e;
	h->clock = clock;
	memcpy(h->payload, e->payload, e->payload_bytes);
	h->event.payload = h->payload;
	h->is_there = 1;
	return 0;
}

const struct held_event *event_stack_take(struct event_stacks *s, const struct uft_task *task)
{
	struct held_event *h = task->index < s->n ? s->of[task->index] : NULL;

	if (!h || !h->is_there)
		return NULL;
	h->is_there = 0;
	h->event.task = task;
	return h;
}

void event_stacks_free(struct event_stacks *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		free(s->of[i]);
	free(s->of);
	*s = (struct event_stacks){ NULL, 0 };
}
