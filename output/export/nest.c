/* SPDX-License-Identifier: MIT */
/* nest.c - a stream as calls that are strictly nested; see nest.h. Memory: the open calls of each task. */
#include <stdlib.h>
#include <string.h>

#include "output/export/nest.h"
#include "symbol/array.h"

struct nest_task {
	const struct uft_task *task;
	struct nest_call *call;
	uint32_t n, cap;
	uint64_t last_ns;
};

struct nest {
	const struct nest_ops *ops;
	void *ctx;
	struct nest_result *result;
	struct nest_task *task;
	uint32_t ntasks;
	uint64_t first_ns;
	struct export_event event;
};

static struct nest_task *get_task(struct nest *n, const struct uft_task *task)
{
	if (array_reach(n->task, n->ntasks, task->index))
		return NULL;
	n->task[task->index].task = task;
	return &n->task[task->index];
}

static int end_call(struct nest *n, struct nest_task *t, enum nest_end how)
{
	const struct nest_call *call = &t->call[--t->n];

	if (t->n)
		t->call[t->n - 1].child_ns += t->last_ns - call->begin_ns;
	return n->ops->end ? n->ops->end(n->ctx, t->task, call, t->last_ns, how) : 0;
}

static int begin_call(struct nest *n, struct nest_task *t, const struct uft_event *ev)
{
	int ret = 0;

	while (t->n && t->call[t->n - 1].depth >= ev->depth && !ret)
		ret = end_call(n, t, NEST_LEFT);	/* its exit is not in the stream */
	if (ret)
		return ret;
	if (array_reserve(t->call, t->cap, t->n + 1))
		return -ENOMEM;
	t->call[t->n] = (struct nest_call){ .sym = ev->sym, .id = ++n->result->calls,
		.parent = t->n ? t->call[t->n - 1].id : 0,
		.begin_ns = t->last_ns, .level = t->n, .depth = ev->depth };
	t->n++;
	return n->ops->begin ? n->ops->begin(n->ctx, t->task, &t->call[t->n - 1]) : 0;
}

static int exit_call(struct nest *n, struct nest_task *t, const struct uft_event *ev)
{
	int ret = 0;

	while (t->n && t->call[t->n - 1].depth > ev->depth && !ret)
		ret = end_call(n, t, NEST_LEFT);
	if (ret)
		return ret;
	if (!t->n || t->call[t->n - 1].depth != ev->depth || t->call[t->n - 1].sym != ev->sym ||
	    ev->flags & (UFT_EVF_CALL | UFT_EVF_ORPHAN)) {
		n->result->without_entry++;
		return 0;
	}
	if (ev->flags & UFT_EVF_OPEN) {
		n->result->open++;
		return end_call(n, t, NEST_OPEN);
	}
	return end_call(n, t, ev->kind == UFT_EV_LEFT ? NEST_LEFT : NEST_RETURNED);
}

static int put_event(struct nest *n, struct nest_task *t, const struct uft_event *ev)
{
	n->result->events++;
	if (!n->ops->event)
		return 0;
	export_event_make(&n->event, ev);
	return n->ops->event(n->ctx, t->task, t->n ? &t->call[t->n - 1] : NULL, t->last_ns, &n->event, ev);
}

static int add_event(struct nest *n, const struct uft_event *ev)
{
	uint64_t ns = ev->ts_ns > n->first_ns ? ev->ts_ns - n->first_ns : 0;
	struct nest_task *t;

	n->result->end_ns = ns > n->result->end_ns ? ns : n->result->end_ns;
	if (ev->kind == UFT_EV_LOST) {
		n->result->lost += ev->lost;
		return n->ops->lost ? n->ops->lost(n->ctx, ev->task, ns, ev->lost) : 0;
	}
	if (ev->kind != UFT_EV_ENTRY && ev->kind != UFT_EV_EXIT && ev->kind != UFT_EV_LEFT && !export_is_event(ev))
		return 0;
	t = get_task(n, ev->task);
	if (!t)
		return -ENOMEM;
	t->last_ns = ns > t->last_ns ? ns : t->last_ns;
	if (export_is_event(ev))
		return put_event(n, t, ev);
	return ev->kind == UFT_EV_ENTRY ? begin_call(n, t, ev) : exit_call(n, t, ev);
}

/*
 * Ends open calls, of the youngest task first: an exec makes another task of the same thread, whose calls are within
 * those of the older task.
 */
static int close_open(struct nest *n)
{
	int ret = 0;

	for (uint32_t i = n->ntasks; i-- > 0;)
		for (struct nest_task *t = &n->task[i]; t->n && !ret;) {
			t->last_ns = n->result->end_ns;
			n->result->open++;
			ret = end_call(n, t, NEST_OPEN);
		}
	return ret;
}

int nest_run(struct uft_stream *st, const struct nest_ops *ops, void *ctx, struct nest_result *result)
{
	struct nest *n = calloc(1, sizeof(*n));
	struct emit_source *src = malloc(sizeof(*src));
	const struct uft_event *ev;
	int ret = src && n ? 0 : -ENOMEM;

	*result = (struct nest_result){ 0 };
	if (n) {
		n->ops = ops;
		n->ctx = ctx;
		n->result = result;
	}
	if (src)
		emit_source_init(src, st);
	while (!ret && (ev = emit_source_next(src))) {
		n->first_ns = n->first_ns ? n->first_ns : ev->ts_ns;
		ret = add_event(n, ev);
	}
	if (!ret)
		ret = close_open(n);
	for (uint32_t i = 0; n && i < n->ntasks; i++)
		free(n->task[i].call);
	if (n)
		free(n->task);
	free(n);
	free(src);
	return ret;
}
