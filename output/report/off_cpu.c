/* SPDX-License-Identifier: MIT */
/*
 * off_cpu.c - the parts of calls in which their threads had no CPU
 *
 * The sources are the session's own switches and, in a trace.dat, the kernel's sched_switch and sched_wakeup. They name
 * threads by number: in a recording the session's events have a task of their own, in a trace.dat one event is about
 * two tasks. A thread without a CPU calls nothing, so its time without a CPU belongs to self of the innermost call and
 * to the total of each open call. A time that has not ended counts up to the end of the stream.
 */
#include <errno.h>
#include <stdlib.h>

#include "output/report/aggregate_build.h"
#include "output/sched_events.h"
#include "symbol/array.h"
#include "symbol/hash_index.h"
#include "symbol/keyed_hash.h"

struct agg_off {
	uint64_t since; /* it left its CPU then; 0: it has one, as far as is known */
	uint32_t tid;
	uint32_t is_ready; /* it would go on if there were a CPU */
	uint32_t calls_of, ncalled; /* the task with its calls, + 1, as it was when so many had called */
};

static struct agg_off *off_of(struct agg_build *b, uint32_t tid)
{
	const uint64_t hash = hash_words(tid, 0);
	uint32_t found = HASH_FIND(i, &b->off_by_tid, hash, b->off[i].tid == tid);

	if (found != HASH_NONE)
		return &b->off[found];
	if (array_reach(b->off, b->cap_off, b->noff) || hash_index_add(&b->off_by_tid, hash, b->noff))
		return NULL;
	b->off[b->noff] = (struct agg_off){ .tid = tid };
	return &b->off[b->noff++];
}

/* The task whose calls of the thread are open: an exec makes another task of the same thread. */
static struct agg_task *callers_of(struct agg_build *b, struct agg_off *o)
{
	if (o->ncalled != b->ncalled) {
		o->ncalled = b->ncalled;
		o->calls_of = 0;
		for (uint32_t i = b->ntasks; i-- > 0 && !o->calls_of;)
			if (b->task[i].cap && b->task[i].tid == o->tid)
				o->calls_of = i + 1;
	}
	return o->calls_of ? &b->task[o->calls_of - 1] : NULL;
}

static void add_to_total(struct agg_node *n, int is_ready, uint64_t ns)
{
	*(is_ready ? &n->all_runnable : &n->all_blocked) += ns;
}

/* Adds the time up to @now, when another time begins. */
static void charge(struct agg *a, struct agg_off *o, uint64_t now)
{
	struct agg_task *t = o->since ? callers_of(a->build, o) : NULL;
	const struct agg_frame *top = t && t->n ? &t->frame[t->n - 1] : NULL;
	uint64_t from = top && top->start > o->since ? top->start : o->since;

	if (!top || now <= from)
		return;
	if (t->some) {
		agg_some_charge(t, (int)o->is_ready, now - from);
		return;
	}
	*(o->is_ready ? &a->node[top->node].runnable : &a->node[top->node].blocked) += now - from;
	a->build->ncharged++;
	for (uint32_t i = 0; i < t->n; i++) {
		struct agg_node *n = &a->node[t->frame[i].node];

		if (n->charged != a->build->ncharged) /* calls of one node within each other have one total */
			add_to_total(n, o->is_ready, now - from);
		n->charged = a->build->ncharged;
	}
	if (a->build->is_flat)
		add_to_total(&a->node[a->node[t->frame[0].node].parent], o->is_ready, now - from);
}

static int set_state(struct agg *a, uint32_t tid, uint64_t now, uint64_t since, int is_ready)
{
	struct agg_off *o = off_of(a->build, tid);

	if (!o)
		return -ENOMEM;
	a->has_switches = 1;
	charge(a, o, now);
	o->since = since;
	o->is_ready = is_ready != 0;
	return 0;
}

int agg_add_switch(struct agg *a, const struct uft_event *ev)
{
	uint64_t how = ev->word[0];

	return set_state(a, ev->task->tid, ev->ts_ns, how & (UFT_SWITCH_IN | UFT_SWITCH_ENDED) ? 0 : ev->ts_ns,
			 (how & UFT_SWITCH_PREEMPTED) != 0);
}

int agg_add_kernel_event(struct agg *a, const struct uft_event *ev)
{
	struct agg_build *b = a->build;
	struct sched_change c;
	enum sched_kind kind;
	int ret = 0;

	if (array_reach(b->sched, b->nsched, ev->type->index) < 0)
		return -ENOMEM;
	if (!b->sched[ev->type->index])
		b->sched[ev->type->index] = (uint8_t)(sched_kind_of(ev->type) + 1);
	kind = b->sched[ev->type->index] - 1u;
	if (kind != SCHED_SWITCH && kind != SCHED_WAKEUP)
		return 0;
	sched_read(ev, kind, &c);
	if (kind == SCHED_WAKEUP) {
		const struct agg_off *o = c.pid ? off_of(b, c.pid) : NULL;

		return o && o->since ? set_state(a, c.pid, ev->ts_ns, ev->ts_ns, 1) : o || !c.pid ? 0 : -ENOMEM;
	}
	if (c.prev)
		ret = set_state(a, c.prev, ev->ts_ns, c.has_ended ? 0 : ev->ts_ns, c.is_preempted);
	return ret || !c.pid ? ret : set_state(a, c.pid, ev->ts_ns, 0, 0);
}

void agg_charge_rest(struct agg *a)
{
	for (uint32_t i = 0; i < a->build->noff; i++)
		charge(a, &a->build->off[i], a->last_ns);
}

void agg_forget_off(struct agg_build *b)
{
	free(b->off);
	hash_index_free(&b->off_by_tid);
	free(b->sched);
	b->off = NULL;
	b->sched = NULL;
	b->noff = b->cap_off = b->nsched = 0;
}
