/* SPDX-License-Identifier: MIT */
/*
 * source.c - add debug information to a tree: places in the source, and inlined functions
 *
 * Both are looked up when the tree is complete, once for each function and each pair of caller and callee. An inlined
 * function is a node between the two. Its total is that of the recorded calls within it. Its own time cannot be told
 * from its caller's and stays with the caller, so the sum of self over all nodes does not change.
 */
#include <stdlib.h>
#include <string.h>

#include "output/report/aggregate.h"
#include "symbol/names.h"
#include "symbol/source.h"

static void note_object(void *ctx, const struct uft_object *obj, const char *why)
{
	const struct agg_source *source = ctx;

	if (source->note)
		source->note(source->ctx, uft_base_name(obj->path), why);
}

/* ---- Places ---- */

int agg_find_source(struct agg *a, const struct agg_source *source)
{
	struct uft_source_query q = { .func = calloc(a->nfuncs + 1, sizeof(*q.func)), .note = note_object,
		.ctx = (void *)source };
	uint32_t *of = malloc((a->nfuncs + 1) * sizeof(*of));
	int ret = q.func && of ? 0 : -ENOMEM;

	for (uint32_t i = 1; i < a->nfuncs && !ret; i++) {
		if (!a->func[i].of || a->func[i].file)
			continue;
		of[q.nfuncs] = i;
		q.func[q.nfuncs++] = (struct uft_source_func){ .obj = a->func[i].of, .vaddr = a->func[i].vaddr };
	}
	if (!ret)
		ret = uft_source_find(&q, source->err);
	for (size_t i = 0; i < q.nfuncs && !ret; i++) {
		a->func[of[i]].file = q.func[i].at.file;
		a->func[of[i]].line = q.func[i].at.line;
		q.func[i].at.file = NULL;
	}
	if (q.func)
		uft_source_free(&q);
	free(q.func);
	free(of);
	return ret;
}

/* ---- Inlined functions ---- */

struct pair { uint32_t caller, callee; };

static int by_pair(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	return x->caller != y->caller ? (x->caller > y->caller) - (x->caller < y->caller) :
		(x->callee > y->callee) - (x->callee < y->callee);
}

/* All pairs of caller and callee, sorted. NULL: no memory. */
static struct pair *find_pairs(const struct agg *a, size_t *n)
{
	struct pair *pair = malloc((a->nnodes + 1) * sizeof(*pair));
	size_t all = 0;

	*n = 0;
	for (uint32_t i = 1; pair && i < a->nnodes; i++) {
		struct pair p = { a->node[a->node[i].parent].func, a->node[i].func };

		if (a->func[p.caller].of && a->func[p.callee].of)
			pair[all++] = p;
	}
	if (pair)
		qsort(pair, all, sizeof(*pair), by_pair);
	for (size_t i = 0; i < all; i++)
		if (!i || by_pair(&pair[i], &pair[*n - 1]))
			pair[(*n)++] = pair[i];
	return pair;
}

/* The node of inlined function @f below *parent. */
static int put_inlined(struct agg *to, uint32_t *parent, const struct uft_source_inline *f, const struct agg_node *n)
{
	char *shown = uft_name_shown(f->name), *name, *key;
	int ret = -ENOMEM;
	uint32_t func, at;

	if (asprintf(&name, "%s (inlined)", shown ? shown : f->name) < 0)
		name = NULL;
	if (asprintf(&key, "%c%s", AGG_INLINED, f->name) < 0)
		key = NULL;
	free(shown);
	func = name && key ? agg_func_get(to, key, name, "") : UINT32_MAX;
	at = func == UINT32_MAX ? func : agg_child(to, *parent, func);
	if (at != UINT32_MAX) {
		if (!to->func[func].file && *f->at.file) {
			to->func[func].file = strdup(f->at.file);
			to->func[func].line = f->at.line;
		}
		to->node[at].is_inlined = 1;
		to->node[at].total += n->total;
		to->node[at].all_blocked += n->all_blocked;
		to->node[at].all_runnable += n->all_runnable;
		*parent = at;
		ret = 0;
	}
	free(name);
	free(key);
	return ret;
}

static int put_node(struct agg *to, uint32_t parent, const struct agg *a, uint32_t i, uint32_t *place)
{
	const struct agg_node *n = &a->node[i];
	const struct agg_func *f = &a->func[n->func];
	uint32_t func = agg_func_get(to, f->key, f->name, f->object),
		 at = func == UINT32_MAX ? func : agg_child(to, parent, func);

	if (at == UINT32_MAX)
		return -ENOMEM;
	to->func[func].of = f->of;
	to->func[func].vaddr = f->vaddr;
	to->node[at].is_group = n->is_group;
	*place = at;
	return n->is_group ? 0 : agg_merge(to, at, a, n, 1);
}

/* The answer for @caller and @callee; NULL: there is none. */
static const struct uft_source_call *find_call(const struct uft_source_query *q, const struct pair *pair,
					       uint32_t caller, uint32_t callee)
{
	const struct pair key = { caller, callee },
		*p = q->ncalls ? bsearch(&key, pair, q->ncalls, sizeof(*pair), by_pair) : NULL;

	return p ? &q->call[p - pair] : NULL;
}

static int put_nodes(struct agg *to, const struct agg *a, const struct uft_source_query *q, const struct pair *pair)
{
	uint32_t *place = calloc(a->nnodes, sizeof(*place));
	int ret = place ? 0 : -ENOMEM;

	for (uint32_t i = 1; i < a->nnodes && !ret; i++) {
		const struct agg_node *n = &a->node[i];
		const struct uft_source_call *c = find_call(q, pair, a->node[n->parent].func, n->func);
		uint32_t parent = place[n->parent];

		for (uint32_t k = 0; c && k < c->n && !ret; k++)
			ret = put_inlined(to, &parent, &c->inlined[k], n);
		if (!ret)
			ret = put_node(to, parent, a, i, &place[i]);
	}
	free(place);
	return ret;
}

static int put_all(struct agg *a, const struct uft_source_query *q, const struct pair *pair)
{
	struct agg to;
	int ret = agg_init(&to);

	if (ret)
		return ret;
	to.max_nodes = UINT32_MAX / 4;		/* @a is bounded; answers are */
	to.lost = a->lost;
	to.unknown = a->unknown;
	to.first_ns = a->first_ns;
	to.last_ns = a->last_ns;
	to.has_switches = a->has_switches;
	to.has_thresh = a->has_thresh;
	ret = put_nodes(&to, a, q, pair);
	if (ret) {
		agg_free(&to);
		return ret;
	}
	agg_finish(&to);
	agg_free(a);
	*a = to;
	return 0;
}

int agg_find_inlined(struct agg *a, const struct agg_source *source)
{
	struct uft_source_query q = { .note = note_object, .ctx = (void *)source };
	struct pair *pair = find_pairs(a, &q.ncalls);
	int ret = 0;

	q.call = calloc(q.ncalls + 1, sizeof(*q.call));
	if (!pair || !q.call)
		ret = -ENOMEM;
	for (size_t i = 0; i < q.ncalls && !ret; i++)
		q.call[i] = (struct uft_source_call){ .obj = a->func[pair[i].caller].of,
			.vaddr = a->func[pair[i].caller].vaddr,
						      .callee = a->func[pair[i].callee].key };
	if (!ret)
		ret = uft_source_find(&q, source->err);
	if (!ret)
		ret = put_all(a, &q, pair);
	if (q.call)
		uft_source_free(&q);
	free(q.call);
	free(pair);
	return ret;
}
