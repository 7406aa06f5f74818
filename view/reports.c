/* SPDX-License-Identifier: MIT */
/* reports.c - call trees and latencies of a part of a recording, each by a pass over it */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/report/aggregate.h"
#include "view/recording_internal.h"

#define TREE_NODES 20000u

static int open_range(struct recording *r, struct view_range range, uint32_t tid, struct uft_stream **st)
{
	struct uft_select sel = {
		.from_ns = range.from,
		.to_ns = range.to,
		.tids = &tid,
		.ntids = tid != 0,
		.no_parents = 1,
	};
	int ret = recording_stream(r, &sel, st);

	if (!ret && r->index)
		uft_stream_seek_selection(*st, r->index);
	return ret;
}

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
	json_raw(j, "]");
}

/* In the order of the tree, largest first; what is smaller than a pixel of a large screen is left out, and counted. */
static void put_tree(struct json *j, const struct agg *a)
{
	uint32_t *stack = malloc((a->nnodes + 1u) * sizeof(*stack)), *depth = malloc((a->nnodes + 1u) * sizeof(*depth)),
		 n = 0, put = 0;
	uint64_t total = 0, least, left = 0;

	for (uint32_t i = a->nnodes ? a->node[0].child : 0; i; i = a->node[i].next)
		total += a->node[i].total;
	least = total / 8000;
	json_raw(j, "{\"state\":\"done\",\"nodes\":[");
	/* a node's siblings are below it on the stack, its children above */
	if (stack && depth && a->nnodes && a->node[0].child) {
		stack[n] = a->node[0].child;
		depth[n++] = 0;
	}
	while (n) {
		uint32_t i = stack[--n], d = depth[n];

		if (a->node[i].next) {
			stack[n] = a->node[i].next;
			depth[n++] = d;
		}
		if (a->node[i].total < least || put >= TREE_NODES) {
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
	json_raw(j, "]");
	json_key_u(j, "total", total);
	json_key_u(j, "left_out", left);
	json_key_u(j, "lost", a->lost);
	json_key_u(j, "unknown", a->unknown);
	json_raw(j, "}");
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

void report_make(struct recording *r, struct report *p)
{
	struct json answer = {0};
	struct agg a = {0};
	struct uft_stream *st = NULL;
	int ret = agg_init(&a);

	if (!ret)
		ret = open_range(r, p->range, p->tid, &st);
	if (!ret)
		ret = agg_add(&a, st, UFT_BY_NONE);
	if (!ret) {
		agg_finish(&a);
		if (p->is_histogram)
			ret = put_histogram(&answer, &a, p->func);
		else
			put_tree(&answer, &a);
		ret = ret ? ret : answer.err;
	}
	uft_stream_close(st);
	agg_free(&a);
	pthread_mutex_lock(&r->lock);
	if (ret) {
		json_free(&answer);
		p->error = ret;
		p->made = MADE_FAILED;
	} else if (p->made == MADE_WORKING) {
		p->answer = answer;
		p->made = MADE_DONE;
	}
	pthread_mutex_unlock(&r->lock);
}

void report_clear(struct report *p)
{
	free(p->func);
	json_free(&p->answer);
	*p = (struct report){0};
}

static struct report *get_report(struct recording *r, struct view_range range, uint32_t tid, const char *func)
{
	struct report *p = NULL;
	char *copy;

	for (uint32_t i = 0; i < REPORTS; i++) {
		struct report *q = &r->report[i];

		if (q->is_used && q->range.from == range.from && q->range.to == range.to && q->tid == tid &&
		    q->is_histogram == !!func && (!func || !strcmp(q->func, func))) {
			q->used = ++r->clock;
			return q;
		}
		if (q->made != MADE_WORKING && (!p || !q->is_used || (p->is_used && q->used < p->used)))
			p = q;
	}
	copy = func ? strdup(func) : NULL;
	if (!p || (func && !copy))
		return NULL;
	report_clear(p);
	*p = (struct report){
		.is_used = 1, .is_histogram = !!func, .range = range, .tid = tid, .func = copy, .used = ++r->clock};
	pthread_cond_broadcast(&r->ordered);
	return p;
}

static int answer_report(struct recording *r, struct view_range range, uint32_t tid, const char *func, struct json *j)
{
	struct report *p;
	int ret = 0;

	pthread_mutex_lock(&r->lock);
	if (!r->index) { /* it would read from the start */
		view_is_made(&r->view[0], j);
		goto out;
	}
	p = get_report(r, range, tid, func);
	if (!p)
		ret = -ENOMEM;
	else if (p->made == MADE_DONE)
		json_raw(j, p->answer.p);
	else if (p->made == MADE_FAILED)
		put_failed(j, p->error);
	else
		put_working(j, p->progress);
out:
	pthread_mutex_unlock(&r->lock);
	return ret ? ret : j->err;
}

int recording_tree(struct recording *r, struct view_range range, uint32_t tid, struct json *j, const char **why)
{
	*why = NULL;
	return answer_report(r, range, tid, NULL, j);
}

int recording_histogram(struct recording *r, struct view_range range, uint32_t tid, const char *func, struct json *j,
			const char **why)
{
	*why = NULL;
	return answer_report(r, range, tid, func, j);
}
