/* SPDX-License-Identifier: MIT */
/*
 * aggregate_some.c - the tree of some calls only, as a filter shows them
 *
 * The end of a call decides whether it counts, but its begin needs a node. So all calls have nodes, and each open call
 * keeps the sums of the counting calls below it apart: if the call itself does not count, its node gets only these. A
 * call that counts has the same times as without a filter: hidden calls below it are neither taken from its total nor
 * added to its self.
 */
#include <errno.h>

#include "output/report/aggregate_build.h"
#include "symbol/array.h"

int agg_some_enter(struct agg *a, struct agg_task *t, const struct uft_event *ev)
{
	if (array_reach(t->some, t->cap_some, t->n) < 0)
		return -ENOMEM;
	t->some[t->n] = (struct agg_some){ .is_begin = a->counts(a->counts_of, ev) != 0 };
	return 0;
}

/* Calls of the node for all further paths lie within each other: the outermost has the total. */
static int is_within_itself(const struct agg *a, const struct agg_task *t, uint32_t node)
{
	return t->n && a->node[node].is_more && t->frame[t->n - 1].node == node;
}

void agg_some_leave(struct agg *a, struct agg_task *t, uint32_t node, uint64_t ns, int counts)
{
	const struct agg_some *s = &t->some[t->n];
	struct agg_some *up = t->n ? &t->some[t->n - 1] : NULL;
	struct agg_node *n = &a->node[node];
	const uint64_t total = counts ? ns : s->below_ns, *off = counts ? s->off : s->off_below;

	n->calls -= !counts;
	if (counts) {
		n->blocked += s->own_off[0];
		n->runnable += s->own_off[1];
	}
	if (!is_within_itself(a, t, node)) {
		n->total += total;
		n->all_blocked += off[0];
		n->all_runnable += off[1];
	}
	if (!up)
		return;
	up->below_ns += total;
	for (int i = 0; i < 2; i++) {
		up->off[i] += s->off[i];
		up->off_below[i] += off[i];
	}
}

void agg_some_charge(struct agg_task *t, int is_ready, uint64_t ns)
{
	struct agg_some *s = &t->some[t->n - 1];

	s->own_off[is_ready != 0] += ns;
	s->off[is_ready != 0] += ns;
}
