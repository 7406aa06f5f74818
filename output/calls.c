/* SPDX-License-Identifier: MIT */
/*
 * calls.c - the open calls of each task with their arguments
 *
 * The stream gives the depth of each ENTRY, EXIT and DATA, and keeps depths right over losses. So each task has an
 * array by depth, and a lost record shows as a call without arguments. One pass, one thread. Memory is bounded by the
 * tasks and by the depth that is kept.
 */
#include <stdlib.h>
#include <string.h>

#include "output/calls.h"
#include "symbol/array.h"

#define DEPTH_MAX	4096u		/* calls that are deeper are not ours */
#define TASKS_MAX	(1u << 20)

struct call_task *calls_task(struct calls *c, const struct uft_task *task)
{
	if (task->index >= TASKS_MAX || array_reach(c->task, c->ntask, task->index))
		return NULL;
	return &c->task[task->index];
}

static uint8_t role_of(struct calls *c, const struct uft_sym *sym)
{
	if (!sym || array_reach(c->role, c->nrole, sym->index))
		return UFT_ROLE_NONE;
	if (!c->role[sym->index])
		c->role[sym->index] = (uint8_t)(1 + uft_tracer_role(c->tracer, sym->name, NULL));
	return (uint8_t)(c->role[sym->index] - 1);
}

static struct call *enter(struct calls *c, struct call_task *t, const struct uft_event *ev)
{
	struct call *call;

	if (ev->depth >= DEPTH_MAX || array_reach(t->call, t->cap, ev->depth))
		return NULL;
	/* calls in between belong to another tracer and are not shown */
	for (uint32_t i = t->n; i < ev->depth; i++)
		t->call[i] = (struct call){ 0 };
	call = &t->call[ev->depth];
	*call = (struct call){
		.sym = ev->sym, .start_ns = ev->ts_ns, .role = role_of(c, ev->sym), .image = ev->task->image
	};
	if (ev->depth && ev->depth <= t->n)
		call->parent = call[-1].sym;
	call->in_handler = ev->depth && ev->depth <= t->n && call[-1].in_handler;
	t->n = ev->depth + 1;
	return call;
}

static void take_data(struct call_task *t, struct call *call, const struct uft_event *ev)
{
	switch (ev->data) {
	case UFT_EVENT_CALL:
		memcpy(call->arg, ev->word, sizeof(call->arg));
		call->has_args = 1;
		return;
	case UFT_EVENT_RETURN:
		break;
	case UFT_EVENT_PARENT:
		call->from = ev->parent;
		call->from_addr = ev->parent_addr;
		return;
	case UFT_EVENT_HANDLER:
		call->is_handler = call->in_handler = 1;
		return;
	default:
		return;
	}
	call->result = ev->word[0];
	call->has_result = 1;
	if (ev->flags & UFT_EVF_MASK)
		t->mask = ev->word[1];
	if (ev->word[2]) {		/* 0 would be SCHED_OTHER with a real-time priority */
		t->policy = (uint32_t)ev->word[2];
		t->priority = (uint32_t)(ev->word[2] >> 32);
		t->has_state = 1;
	}
}

const struct call *calls_feed(struct calls *c, const struct uft_event *ev)
{
	struct call_task *t;

	if (ev->kind != UFT_EV_ENTRY && ev->kind != UFT_EV_EXIT && ev->kind != UFT_EV_LEFT && ev->kind != UFT_EV_DATA)
		return NULL;
	t = calls_task(c, ev->task);
	if (!t)
		return NULL;
	if (ev->kind == UFT_EV_DATA && ev->data == UFT_EVENT_STACK) {
		if (t->n && !(ev->flags & UFT_EVF_TRACEPOINT))
			t->call[t->n - 1].stack = ev->stack;
		return NULL;
	}
	if (ev->kind == UFT_EV_ENTRY)
		return enter(c, t, ev);
	/* a number of the task: its depth is beyond the calls that are kept here */
	if (ev->kind == UFT_EV_DATA && ev->data == UFT_EVENT_OVERRUN) {
		t->overruns = ev->word[0];
		return NULL;
	}
	if (ev->depth >= t->n || t->call[ev->depth].sym != ev->sym)
		return NULL;
	if (ev->kind == UFT_EV_DATA) {
		take_data(t, &t->call[ev->depth], ev);
		return &t->call[ev->depth];
	}
	t->n = ev->depth;
	c->ended = t->call[ev->depth];
	c->ended.is_left = ev->kind == UFT_EV_LEFT;
	return &c->ended;
}

void calls_free(struct calls *c)
{
	for (uint32_t i = 0; i < c->ntask; i++)
		free(c->task[i].call);
	free(c->task);
	free(c->role);
}
