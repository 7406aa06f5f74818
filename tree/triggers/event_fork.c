/* SPDX-License-Identifier: MIT */
/*
 * event_fork.c - options/event-fork: children of the tasks in set_event_pid and set_event_notrace_pid join these lists,
 * until they end
 *
 * Order. The session passes each event of the kernel on as it reads it, the events of one task in order
 * (control/events/observe.c). Each event is judged by the lists of that moment, and then changes them, as in the
 * kernel: at a fork the child joins, at an exit the task leaves. The buffer gets the clock of each event that passes,
 * and shows no other event of that type (stream/live/choices.c). Events that functions switch are handled in the same
 * way.
 *
 * Two lists of each kind. The settings keep what the user wrote. The lists here begin as a copy of it when the instance
 * gets the option for the first time. From then on they decide, also after the option is cleared: the tasks in them
 * stay. They decide nothing while the user's list is empty, since an empty list selects every task.
 *
 * Events that wait. Where functions switch a type, or the type has triggers, an event that passes waits until
 * trigger_event.c looks at it (@passed). Events that programs write reach the tap (trigger.c) later than forks and
 * exits from the kernel. The tap judges them by the lists and by the tasks that have left them since (@left).
 *
 * Everything here belongs to the thread that owns the tree.
 *
 * A program in another pid namespace writes its events under pids of that namespace; the lists have the pids in the
 * session's namespace (@tid and @pid of struct uft_task).
 */
#include "symbol/array.h"
#include "symbol/sorted.h"
#include "tree/core/tree_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sorted { uint64_t *v; size_t n, cap; };

/* A task that has left a list, and when. */
struct left { uint64_t tid, clock; };

/*
 * @list: set_event_pid, set_event_notrace_pid. @left: ended tasks with events that may not have been looked at.
 * @passed: clocks of events that passed and wait.
 */
struct event_fork {
	struct sorted list[2], passed;
	struct { struct left *v; uint32_t n, cap; } left[2];
};

/* The index of @value, or where it would be inserted. */
static size_t place_of(const struct sorted *s, uint64_t value)
{
	return SORTED_FIRST(i, s->n, s->v[i] >= value);
}

static int is_in(const struct sorted *s, uint64_t value)
{
	size_t i = place_of(s, value);

	return i < s->n && s->v[i] == value;
}

static int put_in(struct sorted *s, uint64_t value)
{
	size_t i = place_of(s, value);

	if (array_reserve(s->v, s->cap, s->n + 1))
		return -ENOMEM;
	if (i < s->n && s->v[i] == value)
		return 0;
	memmove(&s->v[i + 1], &s->v[i], (s->n++ - i) * sizeof(*s->v));
	s->v[i] = value;
	return 0;
}

static void take_out(struct sorted *s, uint64_t value)
{
	size_t i = place_of(s, value);

	if (i < s->n && s->v[i] == value)
		memmove(&s->v[i], &s->v[i + 1], (--s->n - i) * sizeof(*s->v));
}

/* ---- The lists ------------------------------------------------------------------------------- */

int event_fork_begin(struct instance *in)
{
	int ret = 0;

	if (in->set.has_event_fork)
		return 0;
	event_fork_free(in);
	in->event_fork = calloc(1, sizeof(*in->event_fork));
	for (int i = 0; i < 2 && in->event_fork && !ret; i++)
		ret = event_fork_write(in, PIDS_EVENT_ONLY + i, &in->set.pids[PIDS_EVENT_ONLY + i], 1);
	return in->event_fork ? ret : -ENOMEM;
}

int event_fork_write(struct instance *in, enum pid_list which, const struct pids *list, int is_anew)
{
	struct sorted *s = in->event_fork && which >= NPIDS ? &in->event_fork->list[which - PIDS_EVENT_ONLY] : NULL;
	int ret = 0;

	if (s && is_anew)
		s->n = in->event_fork->left[which - PIDS_EVENT_ONLY].n = 0;
	for (size_t i = 0; s && i < list->n && !ret; i++)
		ret = put_in(s, list->pid[i]);
	return ret;
}

int event_fork_show(const struct instance *in, enum pid_list which, struct tree_text *out)
{
	const struct sorted *s;

	if (!in->set.has_event_fork || which < NPIDS || !in->set.pids[which].n)
		return 0;
	s = &in->event_fork->list[which - PIDS_EVENT_ONLY];
	for (size_t i = 0; i < s->n; i++)
		text_printf(out, "%llu\n", (unsigned long long)s->v[i]);
	return 1;
}

void event_fork_free(struct instance *in)
{
	if (in->event_fork) {
		free(in->event_fork->list[0].v);
		free(in->event_fork->list[1].v);
		free(in->event_fork->left[0].v);
		free(in->event_fork->left[1].v);
		free(in->event_fork->passed.v);
	}
	free(in->event_fork);
	in->event_fork = NULL;
}

/* ---- Events as they come -------------------------------------------------------------------- */

static int has(const struct instance *in, int i, const struct uft_told_event *e)
{
	return in->set.pids[PIDS_EVENT_ONLY + i].n &&
	       (is_in(&in->event_fork->list[i], e->pid) || is_in(&in->event_fork->list[i], e->tid));
}

static int is_let_through(const struct instance *in, const struct uft_told_event *e)
{
	return (!in->set.pids[PIDS_EVENT_ONLY].n || has(in, 0, e)) && !has(in, 1, e);
}

static int was_in(const struct instance *in, int i, const struct uft_task *task, uint64_t clock)
{
	const struct event_fork *f = in->event_fork;

	if (!in->set.pids[PIDS_EVENT_ONLY + i].n)
		return 0;
	if (is_in(&f->list[i], task->pid) || is_in(&f->list[i], task->tid))
		return 1;
	for (uint32_t k = f->left[i].n; k && f->left[i].v[k - 1].clock >= clock; k--)
		if (f->left[i].v[k - 1].tid == task->pid || f->left[i].v[k - 1].tid == task->tid)
			return 1;
	return 0;
}

/* Notes that the task of @e leaves list @i. Events come in the order of time, and so are the notes. */
static int take_left(struct event_fork *f, int i, const struct uft_told_event *e)
{
	if (array_reach(f->left[i].v, f->left[i].cap, f->left[i].n))
		return -ENOMEM;
	f->left[i].v[f->left[i].n++] = (struct left){ e->tid, e->clock };
	return 0;
}

/* Changes the lists by @e; the next event is the first that they judge. */
static int follow(struct instance *in, const struct uft_told_event *e)
{
	int ret = 0;

	for (int i = 0; i < 2; i++) {
		struct sorted *s = &in->event_fork->list[i];

		if (e->id == UFT_EVENT_SCHED_EXIT && is_in(s, e->tid)) {
			ret = take_left(in->event_fork, i, e) ? -ENOMEM : ret;
			take_out(s, e->tid); /* GUARD(event_fork_follow_take_out) */
		} else if (e->id == UFT_EVENT_SCHED_FORK && has(in, i, e)) {
			ret = put_in(s, e->child) ? -ENOMEM : ret;
		}
	}
	return ret;
}

static int take_event(struct instance *in, const struct uft_told_event *e)
{
	uint32_t index = e->id - UFT_EVENT_FREE;
	int ret = 0;

	if (!event_fork_counts(&in->set))
		return 0;
	if (is_let_through(in, e)) {
		int is_switched = trigger_switches(in, index);

		if (is_switched || trigger_wants_event(in, index))
			ret = put_in(&in->event_fork->passed, e->clock);
		if (!is_switched && uft_event_set_has(&in->set.events, index))
			uft_live_show_one(in->live, e->clock);
	}
	return event_fork_is_asked(&in->set) && follow(in, e) ? -ENOMEM : ret;
}

void event_fork_take(struct uft_tree *t, const struct uft_told_event *e)
{
	int ret = 0;

	for (struct instance *in = t->instances; in; in = in->next)
		ret = take_event(in, e) ? -ENOMEM : ret;
	if (ret && t->opts.warning)
		t->opts.warning(t->opts.arg,
				"No memory to follow the children of set_event_pid: events of some are missing");
}

int event_fork_passes(const struct instance *in, const struct uft_event *e, uint64_t clock)
{
	if (!event_fork_counts(&in->set))
		return 1;
	if (e->type->tasks)
		return is_in(&in->event_fork->passed, clock);
	return (!in->set.pids[PIDS_EVENT_ONLY].n || was_in(in, 0, e->task, clock)) && !was_in(in, 1, e->task, clock);
}

void event_fork_forget(struct instance *in, uint64_t clock)
{
	struct sorted *s = in->event_fork ? &in->event_fork->passed : NULL;
	size_t gone = s ? place_of(s, clock) : 0;

	for (int i = 0; s && i < 2; i++) {
		struct left *v = in->event_fork->left[i].v;
		uint32_t n = 0;

		while (n < in->event_fork->left[i].n && v[n].clock < clock)
			n++;
		if (n)
			memmove(v, v + n, (in->event_fork->left[i].n -= n) * sizeof(*v));
	}
	if (!gone)
		return;
	memmove(s->v, s->v + gone, (s->n - gone) * sizeof(*s->v));
	s->n -= gone;
}
