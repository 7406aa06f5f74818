/* SPDX-License-Identifier: MIT */
/*
 * aggregate_parts.c - a stream added up by call path, by several threads
 *
 * Each thread adds up one part (parts_sum.c). A part begins with calls open. Each of them gets a node of its own there
 * (open_calls()), which only calls below that frame use; its sums are added to the frame's node in the whole. All other
 * nodes are looked up by their path. Nodes and functions are added in the order in which the part met them, so they get
 * the same numbers as with one thread, and equal rows are sorted alike.
 *
 * Parts do not fit if
 *   - the calls open at the border are not those of the whole: the stream did not show some ends
 *   - there are calls without an entry on one side of a border, and calls that were left on the other
 *   - there are more paths than AGG_NODES: the order decides which ones are kept
 *   - switches were recorded: the time without a CPU reaches over borders
 * The threads find the last two while they add up, and all stop at once. A sum that may be flat (agg.may_be_flat) needs
 * no paths with one thread: it begins again then, instead of going on with paths.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/report/aggregate_build.h"
#include "output/report/parts_sum.h"
#include "symbol/array.h"

#define BEFORE		UINT64_MAX	/* start of a frame: before the part */
#define COST_READ	172u		/* of an event, as parts.c counts: decoding and adding up by path */
#define COST_SCAN	22u		/* and of uft_stream_info(), which the first thread calls */

/* ---- One part ------------------------------------------------------------------------------------------------ */

/* Frames for the calls that are open when the part begins, each with a node that no path leads to. */
static int open_calls(void *sum, const struct uft_part *part)
{
	struct agg *a = sum;
	const struct uft_task *task;
	size_t ntask = uft_stream_tasks(part->st, &task);
	const struct uft_sym *sym;

	for (uint32_t i = 0; i < ntask; i++)
		for (uint32_t depth = 0; (sym = uft_part_open_call(part, i, depth)) != NULL; depth++) {
			struct agg_task *t = agg_task_get(a->build, i);
			uint32_t func = agg_func_of(a, sym), node;

			if (!t || func == AGG_NOWHERE || array_reach(t->frame, t->cap, t->n) < 0)
				return -ENOMEM;
			node = agg_node_new(a, depth ? t->frame[depth - 1].node : AGG_NOWHERE, func);
			if (node == AGG_NOWHERE)
				return -ENOMEM;
			t->first = depth ? t->first : node;
			t->frame[t->n++] = (struct agg_frame){ node, func, depth, BEFORE, 0 };
			t->nbefore = t->n;
		}
	return 0;
}

/* ---- Putting parts together ---------------------------------------------------------------------------------- */

/* The numbers that functions, nodes and tasks of a part have in the whole. */
struct joint {
	struct agg *all;
	const struct agg *part;
	const struct uft_part *of;
	struct uft_stream *st;
	const struct uft_sym **sym;	/* by uft_sym.index of the part */
	uint32_t *func, *node, *task;
};

static int has_been_used(const struct agg_task *t)
{
	return t->n || t->nbefore || t->root;
}

static int has_left(const struct agg_build *b, uint32_t nfuncs)
{
	for (uint32_t i = 0; i < nfuncs && i < b->cap_left; i++)
		if (b->nleft[i])
			return 1;
	return 0;
}

/* Adds the tasks and functions of the part, in the order in which the part met them. 0 or -ENOMEM. */
static int join_names(struct joint *j)
{
	const struct agg_build *b = j->part->build;

	for (uint32_t i = 0; i < b->ntasks; i++)
		if (has_been_used(&b->task[i])) {
			j->task[i] = uft_part_task(j->of, i, j->st);
			if (!agg_task_get(j->all->build, j->task[i]))
				return -ENOMEM;
		}
	memset(j->func, 0xff, j->part->nfuncs * sizeof(*j->func));
	for (uint32_t i = 0; i < b->nmet; i++) {
		uint32_t func = agg_func_of(j->all, j->sym[b->met[i]]);

		if (func == AGG_NOWHERE)
			return -ENOMEM;
		j->func[b->func_of[b->met[i]] - 1] = func;
	}
	for (uint32_t i = 0; i < j->part->nfuncs; i++) {	/* groups */
		const struct agg_func *f = &j->part->func[i];

		if (j->func[i] == AGG_NOWHERE)
			j->func[i] = agg_func_get(j->all, f->key, f->name, f->object);
		if (j->func[i] == AGG_NOWHERE)
			return -ENOMEM;
	}
	return 0;
}

/* Finds the nodes of the calls that were open. 1; 0: the part began with other open calls than the whole has there. */
static int join_open_calls(struct joint *j)
{
	const struct agg_build *part = j->part->build, *all = j->all->build;
	uint64_t nopen = 0;

	for (uint32_t i = 0; i < all->ntasks; i++)
		nopen += all->task[i].n;
	for (uint32_t i = 0; i < part->ntasks; i++) {
		const struct agg_task *from = &part->task[i];
		const struct agg_task *to = has_been_used(from) ? &all->task[j->task[i]] : NULL;

		if (!to)
			continue;
		if (to->n != from->nbefore)
			return 0;
		nopen -= to->n;
		for (uint32_t d = 0; d < to->n; d++) {
			if (to->frame[d].depth != d ||
			    to->frame[d].func != j->func[j->part->node[from->first + d].func])
				return 0;
			j->node[from->first + d] = to->frame[d].node;
		}
		if (to->root && from->root && strcmp(j->all->func[j->all->node[to->root - 1].func].key,
						     j->part->func[j->part->node[from->root - 1].func].key))
			return 0;
	}
	return !nopen;
}

/* Counts the nodes of the whole tree; afterwards the part's own nodes are known. */
static uint64_t find_nodes(struct joint *j)
{
	uint64_t n = j->all->nnodes;

	for (uint32_t i = 1; i < j->part->nnodes; i++) {
		const struct agg_node *of = &j->part->node[i];

		if (j->node[i] == AGG_NOWHERE && j->node[of->parent] != AGG_NOWHERE)
			j->node[i] = agg_find_child(j->all, j->node[of->parent], j->func[of->func]);
		n += j->node[i] == AGG_NOWHERE;
	}
	return n;
}

/* Adds the nodes of the part. 1; 0: there are too many paths, and nothing has changed; -ENOMEM. */
static int join_nodes(struct joint *j)
{
	if (find_nodes(j) >= j->all->max_nodes)
		return 0;
	for (uint32_t i = 1; i < j->part->nnodes; i++) {
		const struct agg_node *n = &j->part->node[i];

		if (j->node[i] == AGG_NOWHERE)
			j->node[i] = agg_child(j->all, j->node[n->parent], j->func[n->func]);
		if (j->node[i] == AGG_NOWHERE)
			return -ENOMEM;
		j->all->node[j->node[i]].is_group |= n->is_group;
		if (agg_merge(j->all, j->node[i], j->part, n, 1) < 0)
			return -ENOMEM;
	}
	return 1;
}

/* Takes over the calls that are open where the part ends. 0 or -ENOMEM. */
static int join_task(struct joint *j, struct agg_task *to, const struct agg_task *from)
{
	uint32_t kept = 0;

	to->tid = from->tid ? from->tid : to->tid;
	to->root = to->root || !from->root ? to->root : j->node[from->root - 1] + 1;
	for (; kept < from->n && from->frame[kept].start == BEFORE; kept++)
		to->frame[kept].child_ns += from->frame[kept].child_ns;
	to->n = kept;
	for (uint32_t d = kept; d < from->n; d++) {
		const struct agg_frame *f = &from->frame[d];

		if (array_reach(to->frame, to->cap, to->n) < 0)
			return -ENOMEM;
		to->frame[to->n] = *f;
		to->frame[to->n].node = j->node[f->node];
		to->frame[to->n++].func = j->func[f->func];
	}
	return 0;
}

static int join_rest(struct joint *j)
{
	const struct agg *part = j->part;
	struct agg *all = j->all;
	int ret = 0;

	for (uint32_t i = 0; i < part->build->ntasks && !ret; i++)
		if (has_been_used(&part->build->task[i]))
			ret = join_task(j, &all->build->task[j->task[i]], &part->build->task[i]);
	for (uint32_t i = 0; i < part->nfuncs && i < part->build->cap_left; i++)
		if (part->build->nleft[i])
			all->build->nleft[j->func[i]] += part->build->nleft[i];
	all->build->has_alone |= part->build->has_alone;
	all->lost += part->lost;
	all->unknown += part->unknown;
	all->has_thresh |= part->has_thresh;
	all->first_ns = all->first_ns ? all->first_ns : part->first_ns;
	all->last_ns = part->last_ns > all->last_ns ? part->last_ns : all->last_ns;
	return ret;
}

static int join(void *whole, struct uft_stream *st, const void *sum, const struct uft_part *of)
{
	const struct agg *part = sum;
	struct agg *all = whole;
	struct joint j = { .all = all, .part = part, .of = of, .st = st };
	int ret = -ENOMEM;

	uft_part_symbols(of, st, &j.sym);
	j.func = malloc((part->nfuncs + 1) * sizeof(*j.func));
	j.node = malloc((part->nnodes + 1) * sizeof(*j.node));
	j.task = calloc(part->build->ntasks + 1, sizeof(*j.task));
	if (j.sym && j.func && j.node && j.task) {
		memset(j.node, 0xff, part->nnodes * sizeof(*j.node));
		j.node[0] = 0;
		ret = part->build->has_alone && (all->build->has_alone || has_left(all->build, all->nfuncs)) ?
			PARTS_APART : PARTS_JOINED;
		if (ret > 0)
			ret = join_names(&j) < 0 ? -ENOMEM : join_open_calls(&j);
		if (ret > 0)
			ret = join_nodes(&j);
		if (ret > 0)
			ret = join_rest(&j) < 0 ? -ENOMEM : PARTS_JOINED;
	}
	free(j.sym);
	free(j.func);
	free(j.node);
	free(j.task);
	return ret;
}

/* ---- The whole ------------------------------------------------------------------------------------------------ */

static void *make(const void *all)
{
	const struct agg *like = all;
	struct agg *a = malloc(sizeof(*a));

	if (!a || agg_init(a) < 0) {
		free(a);
		return NULL;
	}
	a->max_nodes = like->max_nodes;
	a->build->by = like->build->by;
	return a;
}

static void release(void *sum)
{
	agg_free(sum);
	free(sum);
}

static void watch(void *sum, int *stop)
{
	struct agg *a = sum;

	a->build->stop = stop;
}

static int add(void *sum, struct uft_stream *st)
{
	return agg_add_events(sum, st);
}

/* Makes the sum as agg_init() made it. */
static int clear(void *all)
{
	struct agg *a = all;
	uint32_t max_nodes = a->max_nodes;
	enum uft_by by = a->build->by;
	int may_be_flat = a->may_be_flat, ret;

	agg_free(a);
	ret = agg_init(a);
	a->max_nodes = max_nodes;
	a->may_be_flat = may_be_flat;
	if (!ret)
		a->build->by = by;
	return ret;
}

int agg_add_threads(struct agg *a, struct uft_stream *st, enum uft_by by, unsigned threads)
{
	static const struct parts_ops ops = {
		make, release, watch, open_calls, add, join, clear, { .read = COST_READ, .before = COST_SCAN },
	};
	int ret;

	a->build->by = by;
	ret = parts_sum(&ops, a, st, a->nnodes == 1 ? threads : 1, a->may_be_flat);
	if (ret < 0)
		return ret;
	a->nthreads = ret ? (unsigned)ret : 1;
	if (!ret) {
		a->build->is_flat = 1;
		a->max_nodes *= 2;
		return agg_add(a, st, by);
	}
	ret = agg_close_open(a);
	agg_forget_stream(a->build);
	return ret;
}
