/* SPDX-License-Identifier: MIT */
/* report_diff.c - compare two whole recordings (A and B) by call path */
#include <errno.h>
#include <stdlib.h>

#include "output/report/diff.h"
#include "view/recording_internal.h"

#define DIFF_NODES 20000u

static int add(struct uft_diff *d, int side, struct recording *r)
{
	struct uft_select all = {.ends = 1, .no_parents = 1};
	struct uft_stream *st;
	int ret = recording_stream_of(r, &all, &st);

	if (ret)
		return ret;
	ret = uft_diff_add(d, side, st);
	ret = ret ? ret : uft_stream_check_file(st, NULL);
	uft_stream_close(st);
	return ret;
}

/* [depth, name, calls in A, in B, total in A, in B, self in A, in B, blocked in A, in B, runnable in A, in B] */
static void put_pair(struct json *j, const struct agg *const side[2], uint32_t i, uint32_t depth)
{
	const struct agg_node *a = &side[0]->node[i], *b = &side[1]->node[i];
	const uint64_t v[] = {a->calls, b->calls, a->total, b->total, a->self, b->self,
			      a->blocked, b->blocked, a->runnable, b->runnable};

	json_comma(j);
	json_raw(j, "[");
	json_u(j, depth);
	json_comma(j);
	json_str(j, side[0]->func[a->func].name);
	json_raw(j, ",");
	json_numbers(j, v, sizeof(v) / sizeof(v[0]), 0);
	json_raw(j, "]");
}

/* The value of the larger side. */
static uint64_t larger(const struct agg *const side[2], uint32_t i)
{
	return side[0]->node[i].total > side[1]->node[i].total ? side[0]->node[i].total : side[1]->node[i].total;
}

/* Writes the nodes, which both sides have in common; their children are linked in the order of side 1. */
static int put_pairs(struct json *j, const struct agg *const side[2])
{
	uint32_t nnodes = side[0]->nnodes, n = 0, put = 0;
	uint32_t *stack = malloc((nnodes + 1u) * sizeof(*stack)), *depth = malloc((nnodes + 1u) * sizeof(*depth));
	uint64_t *calls[2] = {agg_calls_below(side[0]), agg_calls_below(side[1])};
	uint64_t total[2] = {0, 0}, least, left = 0;

	if (!stack || !depth || !calls[0] || !calls[1]) {
		free(stack);
		free(depth);
		free(calls[0]);
		free(calls[1]);
		return -ENOMEM;
	}
	for (uint32_t i = nnodes ? side[1]->node[0].child : 0; i; i = side[1]->node[i].next)
		for (int k = 0; k < 2; k++)
			total[k] += side[k]->node[i].total;
	least = (total[0] > total[1] ? total[0] : total[1]) / 8000;
	json_raw(j, "{\"state\":\"done\",\"nodes\":[");
	if (nnodes && side[1]->node[0].child) {
		stack[n] = side[1]->node[0].child;
		depth[n++] = 0;
	}
	while (n) {
		uint32_t i = stack[--n], d = depth[n];
		int is_rare = calls[0][i] <= calls[0][0] / 8000 && calls[1][i] <= calls[1][0] / 8000;

		if (side[1]->node[i].next) {
			stack[n] = side[1]->node[i].next;
			depth[n++] = d;
		}
		if ((larger(side, i) < least && is_rare) || put >= DIFF_NODES) {
			left++;
			continue;
		}
		put_pair(j, side, i, d);
		put++;
		if (side[1]->node[i].child) {
			stack[n] = side[1]->node[i].child;
			depth[n++] = d + 1;
		}
	}
	json_raw(j, "]");
	json_key_u(j, "total_a", total[0]);
	json_key_u(j, "total_b", total[1]);
	json_key_u(j, "left_out", left);
	json_key_u(j, "lost", side[0]->lost + side[1]->lost);
	json_raw(j, "}");
	free(stack);
	free(depth);
	free(calls[0]);
	free(calls[1]);
	return j->err;
}

int report_diff(struct report *p)
{
	struct uft_diff *d = uft_diff_new();
	int ret = d ? add(d, 0, p->q.other) : -ENOMEM;

	if (!ret)
		ret = add(d, 1, p->of.file[0]);
	if (!ret) {
		const struct agg *side[2] = {uft_diff_side(d, 0), uft_diff_side(d, 1)};

		ret = put_pairs(&p->answer, side);
	}
	uft_diff_free(d);
	return ret;
}
