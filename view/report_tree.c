/* SPDX-License-Identifier: MIT */
/* report_tree.c - the call tree of a part, of the calls that a filter shows and their callers */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/report/aggregate.h"
#include "view/recording_internal.h"

#define TREE_NODES 20000u

static void put_node(struct json *j, const struct agg *a, uint32_t i, uint32_t depth)
{
	const struct agg_node *n = &a->node[i];
	const uint64_t numbers[] = { n->calls, n->total, n->self, n->timed ? n->max : 0, n->nopen, n->blocked,
		n->runnable, n->all_blocked, n->all_runnable };

	json_comma(j);
	json_raw(j, "[");
	json_u(j, depth);
	json_comma(j);
	json_str(j, a->func[n->func].name);
	json_raw(j, ",");
	json_numbers(j, numbers, sizeof(numbers) / sizeof(numbers[0]), 0);
	json_raw(j, "]");
}

/*
 * Writes the nodes in the order of the tree, largest first. Nodes smaller than a pixel of a large screen, whether
 * widths are times or calls, are left out, and counted.
 */
static int put_tree(struct json *j, const struct agg *a)
{
	uint32_t *stack = malloc((a->nnodes + 1u) * sizeof(*stack)), *depth = malloc((a->nnodes + 1u) * sizeof(*depth)),
		 n = 0, put = 0;
	uint64_t total = 0, least, left = 0, *calls = agg_calls_below(a);

	if (!stack || !depth || !calls) {
		free(stack);
		free(depth);
		free(calls);
		return -ENOMEM;
	}
	for (uint32_t i = a->nnodes ? a->node[0].child : 0; i; i = a->node[i].next)
		total += a->node[i].total;
	least = total / 8000;
	json_raw(j, "{\"state\":\"done\",\"nodes\":[");
	/* a node's siblings are below it on the stack, its children above */
	if (a->nnodes && a->node[0].child) {
		stack[n] = a->node[0].child;
		depth[n++] = 0;
	}
	while (n) {
		uint32_t i = stack[--n], d = depth[n];

		if (a->node[i].next) {
			stack[n] = a->node[i].next;
			depth[n++] = d;
		}
		if (!calls[i]) /* the filter hides it and all below it */
			continue;
		if ((a->node[i].total < least && calls[i] <= calls[0] / 8000) || put >= TREE_NODES) {
			left++;
			continue;
		}
		put_node(j, a, i, d);
		put++;
		if (a->node[i].child) {
			stack[n] = a->node[i].child;
			depth[n++] = d + 1;
		}
	}
	free(stack);
	free(depth);
	free(calls);
	json_raw(j, "]");
	json_key_u(j, "total", total);
	json_key_u(j, "left_out", left);
	json_key_u(j, "lost", a->lost);
	json_key_u(j, "unknown", a->unknown);
	json_raw(j, "}");
	return j->err;
}

static int is_shown(const void *filter, const struct uft_event *ev)
{
	return view_filter_match(filter, ev);
}

int report_tree(struct report *p)
{
	struct report_sources from = {.p = p};
	struct agg a = {0};
	int ret = agg_init(&a);

	a.counts = p->filter ? is_shown : NULL;
	a.counts_of = p->filter;
	while (!ret && (ret = report_next(&from)) > 0)
		ret = agg_add(&a, from.st, UFT_BY_NONE);
	if (!ret) {
		agg_finish(&a);
		ret = put_tree(&p->answer, &a);
	}
	report_end(&from);
	agg_free(&a);
	return ret;
}
