/* SPDX-License-Identifier: MIT */
/* report_tree.c - the call tree of a part, and the latencies of a function in it */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/report/aggregate.h"
#include "view/recording_internal.h"

#define TREE_NODES 20000u

static void put_node(struct json *j, const struct agg *a, uint32_t i, uint32_t depth)
{
	const struct agg_node *n = &a->node[i];

	json_comma(j);
	json_raw(j, "[");
	json_u(j, depth);
	json_comma(j);
	json_str(j, a->func[n->func].name);
	json_raw(j, ",");
	json_u(j, n->calls);
	json_raw(j, ",");
	json_u(j, n->total);
	json_raw(j, ",");
	json_u(j, n->self);
	json_raw(j, ",");
	json_u(j, n->timed ? n->max : 0);
	json_raw(j, ",");
	json_u(j, n->nopen);
	json_raw(j, ",");
	json_u(j, n->blocked);
	json_raw(j, ",");
	json_u(j, n->runnable);
	json_raw(j, ",");
	json_u(j, n->all_blocked);
	json_raw(j, ",");
	json_u(j, n->all_runnable);
	json_raw(j, "]");
}

/*
 * In the order of the tree, largest first; what is smaller than a pixel of a large screen, whether widths are times
 * or calls, is left out, and counted.
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

static void put_bucket(void *arg, uint64_t from, uint64_t to, uint64_t calls)
{
	struct json *j = arg;

	json_comma(j);
	json_raw(j, "[");
	json_u(j, from);
	json_raw(j, ",");
	json_u(j, to);
	json_raw(j, ",");
	json_u(j, calls);
	json_raw(j, "]");
}

/* Function by function: names are compared as they are shown, not as patterns. */
static int put_histogram(struct json *j, const struct agg *a, const char *func)
{
	struct agg sum = {0};
	uint32_t node = UINT32_MAX, f;
	int ret = agg_init(&sum);

	for (uint32_t i = 1; i < a->nnodes && !ret; i++) {
		if (a->node[i].is_group || strcmp(a->func[a->node[i].func].name, func))
			continue;
		if (node == UINT32_MAX) {
			f = agg_func_get(&sum, func, func, "");
			node = f == UINT32_MAX ? f : agg_child(&sum, 0, f);
			if (node == UINT32_MAX)
				ret = -ENOMEM;
		}
		if (!ret)
			ret = agg_merge(&sum, node, a, &a->node[i], 1);
	}
	if (!ret) {
		json_raw(j, "{\"state\":\"done\"");
		json_key_str(j, "func", func);
		if (node != UINT32_MAX) {
			const struct agg_node *n = &sum.node[node];

			json_key_u(j, "calls", n->calls);
			json_key_u(j, "min", n->timed ? n->min : 0);
			json_key_u(j, "max", n->timed ? n->max : 0);
			json_key_u(j, "p50", agg_rank(&sum, n, 50));
			json_key_u(j, "p99", agg_rank(&sum, n, 99));
			json_key(j, "buckets");
			json_raw(j, "[");
			agg_each_bucket(&sum, n, put_bucket, j);
			json_raw(j, "]");
		} else {
			json_key_u(j, "calls", 0);
			json_key(j, "buckets");
			json_raw(j, "[]");
		}
		json_raw(j, "}");
	}
	agg_free(&sum);
	return ret ? ret : j->err;
}

static int report_calls(struct report *p, int (*put)(struct report *p, const struct agg *a))
{
	struct report_sources from = {.p = p};
	struct agg a = {0};
	int ret = agg_init(&a);

	while (!ret && (ret = report_next(&from)) > 0)
		ret = agg_add(&a, from.st, UFT_BY_NONE);
	if (!ret) {
		agg_finish(&a);
		ret = put(p, &a);
	}
	report_end(&from);
	agg_free(&a);
	return ret;
}

static int put_whole_tree(struct report *p, const struct agg *a)
{
	return put_tree(&p->answer, a);
}

static int put_one_function(struct report *p, const struct agg *a)
{
	return put_histogram(&p->answer, a, p->q.text);
}

int report_tree(struct report *p)
{
	return report_calls(p, put_whole_tree);
}

int report_histogram(struct report *p)
{
	return report_calls(p, put_one_function);
}
