/* SPDX-License-Identifier: MIT */
/*
 * aggregate.c - a stream added up by call path
 *
 * Each task has a stack of its open calls, each with its node. An entry looks for the child of the node above
 * it: first the one that was called last, then by hash. An exit adds its duration to its node.
 *
 * These sums are exact:
 *   - the sum of self over all nodes is the sum of total over the outermost ones, to the ns, unless events
 *     are lost or selected
 *   - a call that was left (longjmp, exception, stack switch) counts up to that moment; if it returns after all,
 *     nothing is added
 *   - a call that is open when its process ends counts up to the last record of the process; a call that is open at the
 *     end of the recording counts up to the last event; nopen counts both
 *   - an exit whose entry is not in the stream (the call began before the selected range) counts with its self time
 *     only, because its callees were counted without it; if its duration is unknown, it counts as a call without time
 *   - calls that were recorded without entries (tracing_thresh) have no path: they are outermost, and may nest
 * Flat tables and histograms of durations need no paths. If one thread adds them up, a node is a function of a group
 * instead, because functions are fewer than paths. A function's total is the time of its calls that are not within
 * another call of the same function by the task; the group's total is the time of its outermost calls. Bounds:
 * AGG_NODES paths; further paths are one node `[more paths]` below each of them, whose total is the time of its
 * outermost calls. Memory: 110 bytes a path and 128 for each octave of its durations. Speed: see bench/micro/output.c;
 * memory is allocated only when something new is met.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/emit.h"
#include "output/report/aggregate_build.h"
#include "symbol/array.h"
#include "symbol/hash_index.h"
#include "symbol/keyed_hash.h"

#define MORE_KEY	"\001more"
#define NOPEN_KEPT	1024u		/* functions that a task without open calls remembers */

/* ---- Tables ---- */

uint32_t agg_func_get(struct agg *a, const char *key, const char *name, const char *object)
{
	struct agg_build *b = a->build;
	const uint64_t hash = hash_text(key);
	uint32_t found = HASH_FIND(i, &b->by_key, hash,
				   !strcmp(a->func[i].key, key) && !strcmp(a->func[i].name, name));
	struct agg_func f;

	if (found != HASH_NONE)
		return found;
	f = (struct agg_func){ .name = strdup(name), .object = strdup(object), .key = strdup(key) };
	if (!f.name || !f.object || !f.key || array_reach(a->func, b->cap_funcs, a->nfuncs) ||
	    hash_index_add(&b->by_key, hash, a->nfuncs)) {
		free(f.name);
		free(f.object);
		free(f.key);
		return AGG_NOWHERE;
	}
	a->func[a->nfuncs] = f;
	return a->nfuncs++;
}

/* ---- Nodes ---- */

uint32_t agg_node_new(struct agg *a, uint32_t parent, uint32_t func)
{
	struct agg_build *b = a->build;
	uint32_t i = a->nnodes, cap = b->cap_nodes;

	if (array_reach(b->link, cap, i) < 0 ||
	    array_reach(a->node, b->cap_nodes, i) < 0)
		return AGG_NOWHERE;
	a->node[i] = (struct agg_node){ .parent = parent, .func = func, .min = UINT64_MAX };
	b->link[i] = (struct agg_link){ .func = func };
	a->nnodes++;
	return i;
}

/* The node for all further paths below @parent, so that their time stays within their callers' time. */
static uint32_t more_paths(struct agg *a, uint32_t parent)
{
	uint32_t func = agg_func_get(a, MORE_KEY, "[more paths]", ""), i;

	if (func == AGG_NOWHERE)
		return AGG_NOWHERE;
	i = agg_child(a, parent, func);
	if (i != AGG_NOWHERE)
		a->node[i].is_more = 1;
	return i;
}

uint32_t agg_find_child(const struct agg *a, uint32_t parent, uint32_t func)
{
	return HASH_FIND(i, &a->build->by_path, hash_words(parent, func),
			 a->node[i].parent == parent && a->node[i].func == func);
}

static uint32_t child_by_hash(struct agg *a, uint32_t parent, uint32_t func)
{
	struct agg_build *b = a->build;
	uint32_t i = agg_find_child(a, parent, func);

	if (i == AGG_NOWHERE) {
		if (a->node[parent].is_more)
			return parent;
		if (a->nnodes >= a->max_nodes && a->func[func].key[0] != MORE_KEY[0])
			return more_paths(a, parent);
		i = agg_node_new(a, parent, func);
		if (i == AGG_NOWHERE || hash_index_add(&b->by_path, hash_words(parent, func), i))
			return AGG_NOWHERE;
	}
	b->link[parent].last = i;
	return i;
}

static inline uint32_t get_child(struct agg *a, uint32_t parent, uint32_t func)
{
	const struct agg_link *link = a->build->link;
	uint32_t last = link[parent].last;

	return last && link[last].func == func ? last : child_by_hash(a, parent, func);
}

uint32_t agg_child(struct agg *a, uint32_t parent, uint32_t func)
{
	return get_child(a, parent, func);
}

/* ---- Histograms: blocks of the octaves from the first to the last that is needed, side by side ---- */

/* Room for @blocks that are zero; AGG_NOWHERE: no memory. */
static uint32_t hist_take(struct agg_build *b, unsigned blocks)
{
	uint32_t at = b->unused[blocks];

	if (at) {
		at--;
		b->unused[blocks] = b->pool[at][0];
	} else {
		at = b->npool;
		if (array_reach(b->pool, b->cap_pool, at + blocks - 1) < 0)
			return AGG_NOWHERE;
		b->npool += blocks;
	}
	memset(b->pool[at], 0, blocks * sizeof(*b->pool));
	return at;
}

static void hist_leave(struct agg_build *b, uint32_t at, unsigned blocks)
{
	b->pool[at][0] = b->unused[blocks];
	b->unused[blocks] = at + 1;
}

static int hist_widen(struct agg *a, struct agg_node *n, unsigned octave)
{
	struct agg_build *b = a->build;
	unsigned first = n->hist_n && n->hist_first < octave ? n->hist_first : octave;
	unsigned last = n->hist_n && n->hist_first + n->hist_n - 1u > octave ? n->hist_first + n->hist_n - 1u : octave;
	uint32_t at = hist_take(b, last - first + 1);

	if (at == AGG_NOWHERE)
		return -ENOMEM;
	if (n->hist_n) {
		memcpy(b->pool[at + n->hist_first - first], b->pool[n->hist], n->hist_n * sizeof(*b->pool));
		hist_leave(b, n->hist, n->hist_n);
	}
	n->hist = at;
	n->hist_first = (uint8_t)first;
	n->hist_n = (uint8_t)(last - first + 1);
	return 0;
}

static inline int hist_count_in(struct agg *a, struct agg_node *n, uint64_t v, uint32_t calls)
{
	unsigned octave = hist_octave(v), at = octave - n->hist_first;
	uint32_t *count;

	if (__builtin_expect(at >= n->hist_n, 0)) {
		if (hist_widen(a, n, octave) < 0)
			return -ENOMEM;
		at = octave - n->hist_first;
	}
	count = &a->build->pool[n->hist + at][hist_bucket(v, octave)];
	*count = *count + calls >= calls ? *count + calls : UINT32_MAX;
	return 0;
}

uint64_t agg_rank(const struct agg *a, const struct agg_node *n, unsigned percent)
{
	uint64_t rank = n->timed - n->timed * (100 - percent) / 100, v = n->max;

	if (rank >= n->timed)
		return n->max;
	for (unsigned i = 0; i < n->hist_n; i++)
		for (unsigned k = 0; k < HIST_SUB; k++) {
			uint32_t count = a->build->pool[n->hist + i][k];

			if (count && rank <= count) {
				v = hist_value(n->hist_first + i, k);
				return v < n->min ? n->min : v > n->max ? n->max : v;
			}
			rank -= count;
		}
	return v;
}

void agg_each_bucket(const struct agg *a, const struct agg_node *n,
		     void (*put)(void *ctx, uint64_t from, uint64_t to, uint64_t calls), void *ctx)
{
	for (unsigned i = 0; i < n->hist_n; i++)
		for (unsigned k = 0; k < HIST_SUB; k++) {
			unsigned octave = n->hist_first + i;
			uint64_t width = octave ? 1ull << (octave - 1) : 1, from = octave ? (HIST_SUB + k) * width : k;
			uint32_t count = a->build->pool[n->hist + i][k];

			if (count)
				put(ctx, from, from + width - 1, count);
		}
}

int agg_merge(struct agg *a, uint32_t to, const struct agg *from, const struct agg_node *n, int is_outer)
{
	struct agg_node *t = &a->node[to];

	t->calls += n->calls;
	t->timed += n->timed;
	t->total += is_outer ? n->total : 0;
	t->all_blocked += is_outer ? n->all_blocked : 0;
	t->all_runnable += is_outer ? n->all_runnable : 0;
	t->self += n->self;
	t->blocked += n->blocked;
	t->runnable += n->runnable;
	t->sum += n->sum;
	t->nopen += n->nopen;
	t->is_more |= n->is_more;
	t->min = n->min < t->min ? n->min : t->min;
	t->max = n->max > t->max ? n->max : t->max;
	for (unsigned i = 0; i < n->hist_n; i++)
		for (unsigned k = 0; k < HIST_SUB; k++) {
			uint32_t count = from->build->pool[n->hist + i][k];

			if (count && hist_count_in(a, t, hist_value(n->hist_first + i, k), count) < 0)
				return -ENOMEM;
		}
	return 0;
}

uint64_t *agg_calls_below(const struct agg *a)
{
	uint64_t *calls = malloc((a->nnodes + 1u) * sizeof(*calls));

	if (!calls)
		return NULL;
	for (uint32_t i = 0; i < a->nnodes; i++)
		calls[i] = a->node[i].calls;
	for (uint32_t i = a->nnodes; i-- > 1;) /* a node comes behind its parent */
		calls[a->node[i].parent] += calls[i];
	return calls;
}

/* ---- Groups ---- */

static uint32_t group_of(struct agg *a, const struct uft_event *ev)
{
	const struct uft_task *t = ev->task;
	char name[300], key[304];
	uint32_t func, i;

	switch (a->build->by) {
	case UFT_BY_TASK:
		snprintf(name, sizeof(name), "task %.64s-%u", t->comm && *t->comm ? t->comm : "<...>", t->tid);
		break;
	case UFT_BY_PROCESS:
		snprintf(name, sizeof(name), "process %u (%.200s)", t->pid, t->program);
		break;
	case UFT_BY_PROGRAM:
		snprintf(name, sizeof(name), "program %.250s", t->program);
		break;
	case UFT_BY_OBJECT:
		snprintf(name, sizeof(name), "object %.250s",
			 ev->sym->object && *ev->sym->object ? ev->sym->object : "?");
		break;
	case UFT_BY_CPU:
		snprintf(name, sizeof(name), "cpu %u", ev->cpu);
		break;
	default:
		return 0;
	}
	snprintf(key, sizeof(key), "\001%s", name);
	func = agg_func_get(a, key, name, "");
	i = func == AGG_NOWHERE ? AGG_NOWHERE : agg_child(a, 0, func);
	if (i != AGG_NOWHERE)
		a->node[i].is_group = AGG_GROUP;
	return i;
}

/* Node of the group that an outermost call belongs to. */
static uint32_t root_of(struct agg *a, struct agg_task *t, const struct uft_event *ev)
{
	uint32_t root;

	if (a->build->by == UFT_BY_NONE)
		return 0;
	if (t->root)
		return t->root - 1;
	root = group_of(a, ev);
	if (root != AGG_NOWHERE && a->build->by != UFT_BY_OBJECT && a->build->by != UFT_BY_CPU)
		t->root = root + 1;		/* it stays that */
	return root;
}

/* ---- Calls ---- */

static int add_time(struct agg *a, uint32_t i, uint64_t ns, uint64_t total, uint64_t self)
{
	struct agg_node *n = &a->node[i];

	n->timed++;
	n->total += total;
	n->self += self;
	n->sum += ns;
	n->min = ns < n->min ? ns : n->min;
	n->max = ns > n->max ? ns : n->max;
	return hist_count_in(a, n, ns, 1);
}

static uint32_t func_new(struct agg *a, const struct uft_sym *sym)
{
	struct agg_build *b = a->build;
	uint32_t func = agg_func_get(a, sym->raw ? sym->raw : sym->name, sym->name, sym->object ? sym->object : "");

	if (func == AGG_NOWHERE || array_reach(b->func_of, b->nfunc_of, sym->index) < 0 ||
	    array_reach(b->nleft, b->cap_left, func) < 0)
		return AGG_NOWHERE;
	if (array_reach(b->met, b->cap_met, b->nmet) < 0)
		return AGG_NOWHERE;
	b->met[b->nmet++] = sym->index;
	b->func_of[sym->index] = func + 1;
	a->func[func].of = sym->of;
	a->func[func].vaddr = sym->vaddr;
	return func;
}

static inline uint32_t func_of(struct agg *a, const struct uft_sym *sym)
{
	const struct agg_build *b = a->build;

	if (__builtin_expect(sym->index < b->nfunc_of && b->func_of[sym->index], 1))
		return b->func_of[sym->index] - 1;
	return func_new(a, sym);
}

uint32_t agg_func_of(struct agg *a, const struct uft_sym *sym)
{
	return func_of(a, sym);
}

/* Flat: the counter of open calls of a node's function; NULL: no memory. */
static uint32_t *nopen_of(const struct agg *a, struct agg_task *t, uint32_t node)
{
	uint32_t func = a->node[node].func;

	return array_reach(t->nopen, t->cap_nopen, func) < 0 ? NULL : &t->nopen[func];
}

/* Drops entries whose exits were lost: the stream has gone on without them, and their time is unknown. */
static void drop_stale(struct agg *a, struct agg_task *t, uint32_t depth)
{
	while (t->n && t->frame[t->n - 1].depth >= depth) {
		t->n--;
		if (a->counts) {
			int counts = t->some[t->n].is_begin;

			agg_some_leave(a, t, t->frame[t->n].node, counts ? t->some[t->n].below_ns : 0, counts);
			a->unknown += (uint64_t)counts;
			continue;
		}
		a->unknown++;
		if (a->build->is_flat)
			t->nopen[a->node[t->frame[t->n].node].func]--;
	}
}

/* Flat: the node of the function in the caller's group. The last callee is remembered, as with paths. */
static uint32_t flat_node(struct agg *a, uint32_t caller, uint32_t func)
{
	uint32_t last = a->build->link[caller].last, i;

	if (last && a->build->link[last].func == func)
		return last;
	i = child_by_hash(a, a->node[caller].parent, func);
	if (i != AGG_NOWHERE)
		a->build->link[caller].last = i;
	return i;
}

static uint32_t node_at(struct agg *a, struct agg_task *t, const struct uft_event *ev, uint32_t func)
{
	uint32_t parent = t->n ? t->frame[t->n - 1].node : root_of(a, t, ev);

	if (parent != AGG_NOWHERE && t->n && a->build->is_flat)
		return flat_node(a, parent, func);
	return parent == AGG_NOWHERE ? AGG_NOWHERE : get_child(a, parent, func);
}

static int enter_flat(struct agg *a, struct agg_task *t, uint32_t node)
{
	uint32_t *nopen = nopen_of(a, t, node);

	if (!nopen)
		return -ENOMEM;
	++*nopen;
	if (!t->n)
		a->node[a->node[node].parent].calls++;
	return 0;
}

/* Ends a call that has been popped from the stack. Returns its addition to the node's total. */
static uint64_t leave_flat(struct agg *a, struct agg_task *t, uint32_t node, uint64_t ns)
{
	uint32_t nopen = --t->nopen[a->node[node].func];

	if (!t->n)
		a->node[a->node[node].parent].total += ns;
	if (!t->n && t->cap_nopen > NOPEN_KEPT) {
		free(t->nopen);
		t->nopen = NULL;
		t->cap_nopen = 0;
	}
	return nopen ? 0 : ns;
}

static inline int enter(struct agg *a, struct agg_task *t, const struct uft_event *ev)
{
	uint32_t func = func_of(a, ev->sym), node;

	if (__builtin_expect(t->n && t->frame[t->n - 1].depth >= ev->depth, 0))
		drop_stale(a, t, ev->depth);
	if (__builtin_expect(!t->cap, 0)) {
		t->tid = ev->task->tid;
		a->build->ncalled++;
	}
	if (func == AGG_NOWHERE || array_reach(t->frame, t->cap, t->n) < 0)
		return -ENOMEM;
	node = node_at(a, t, ev, func);
	if (node == AGG_NOWHERE)
		return -ENOMEM;
	if (a->build->is_flat && enter_flat(a, t, node) < 0)
		return -ENOMEM;
	if (a->counts && agg_some_enter(a, t, ev) < 0)
		return -ENOMEM;
	a->node[node].calls++;
	t->frame[t->n++] = (struct agg_frame){ .node = node, .func = func, .depth = ev->depth, .start = ev->ts_ns };
	return 0;
}

/* Ends the innermost call. */
static inline int leave(struct agg *a, struct agg_task *t, uint64_t ns, uint64_t self, int counts)
{
	uint32_t node = t->frame[--t->n].node;
	uint64_t total = ns;

	if (__builtin_expect(a->counts != NULL, 0)) {
		agg_some_leave(a, t, node, ns, counts);
		if (t->n)
			t->frame[t->n - 1].child_ns += ns;
		return counts ? add_time(a, node, ns, 0, self) : 0;
	}
	if (t->n) {
		t->frame[t->n - 1].child_ns += ns;
		if (__builtin_expect(a->node[node].is_more && t->frame[t->n - 1].node == node, 0))
			total = 0;
	}
	if (a->build->is_flat)
		total = leave_flat(a, t, node, ns);
	return add_time(a, node, ns, total, self);
}

static inline int does_count(const struct agg *a, const struct uft_event *ev)
{
	return __builtin_expect(!a->counts, 1) || a->counts(a->counts_of, ev);
}

/* Counts an exit without its entry. */
static int leave_alone(struct agg *a, struct agg_task *t, const struct uft_event *ev, uint32_t func)
{
	uint64_t total = ev->flags & UFT_EVF_CALL ? ev->duration_ns : ev->self_ns;
	uint32_t node, *nopen;

	if (!a->build->nleft[func] && !(ev->flags & (UFT_EVF_CALL | UFT_EVF_ORPHAN)))
		a->build->has_alone = 1;
	if (a->build->nleft[func] && !(ev->flags & (UFT_EVF_CALL | UFT_EVF_ORPHAN))) {
		a->build->nleft[func]--;	/* counted when it was left */
		return 0;
	}
	if (!does_count(a, ev))
		return 0;
	node = node_at(a, t, ev, func);
	if (node == AGG_NOWHERE)
		return -ENOMEM;
	a->node[node].calls++;
	if (a->build->is_flat && !t->n)
		a->node[a->node[node].parent].calls++;
	if (ev->flags & UFT_EVF_ORPHAN) {
		a->unknown++;
		return 0;
	}
	a->has_thresh |= (ev->flags & UFT_EVF_CALL) != 0;
	if (a->counts && t->n)
		t->some[t->n - 1].below_ns += total;
	if (a->build->is_flat) {
		nopen = nopen_of(a, t, node);
		if (!nopen)
			return -ENOMEM;
		if (!t->n)
			a->node[a->node[node].parent].total += total;
		total = *nopen ? 0 : total;
	}
	return add_time(a, node, ev->duration_ns, total, ev->self_ns);
}

static int exit_call(struct agg *a, struct agg_task *t, const struct uft_event *ev)
{
	uint32_t func = func_of(a, ev->sym);
	const struct agg_frame *top;
	int counts;

	if (func == AGG_NOWHERE)
		return -ENOMEM;
	if (t->n && t->frame[t->n - 1].depth > ev->depth)
		drop_stale(a, t, ev->depth + 1);
	top = t->n ? &t->frame[t->n - 1] : NULL;
	if (!top || top->depth != ev->depth || top->func != func || ev->flags & (UFT_EVF_CALL | UFT_EVF_ORPHAN))
		return leave_alone(a, t, ev, func);
	counts = does_count(a, ev);
	if (ev->flags & UFT_EVF_OPEN)
		a->node[top->node].nopen += (uint64_t)counts;
	else if (ev->kind == UFT_EV_LEFT)
		a->build->nleft[func]++;
	return leave(a, t, ev->duration_ns, ev->self_ns, counts);
}

struct agg_task *agg_task_get(struct agg_build *b, uint32_t index)
{
	if (__builtin_expect(index >= b->ntasks, 0) && array_reach(b->task, b->ntasks, index) < 0)
		return NULL;
	return &b->task[index];
}

static inline struct agg_task *task_of(struct agg_build *b, const struct uft_event *ev)
{
	return __builtin_expect(ev->task->index < b->ntasks, 1) ? &b->task[ev->task->index] :
								   agg_task_get(b, ev->task->index);
}

static int add_event(struct agg *a, const struct uft_event *ev)
{
	struct agg_build *b = a->build;
	struct agg_task *t;

	switch (ev->kind) {
	case UFT_EV_LOST:
		a->lost += ev->lost;
		return 0;
	case UFT_EV_ENTRY:
	case UFT_EV_EXIT:
	case UFT_EV_LEFT:
		break;
	case UFT_EV_DATA:
		return ev->data == UFT_EVENT_SWITCH	? agg_add_switch(a, ev)
		       : UFT_EVENT_IS_NAMED(ev->data) && ev->type ? agg_add_kernel_event(a, ev)
								  : 0;
	default:
		return 0;
	}
	t = task_of(b, ev);
	if (!t)
		return -ENOMEM;
	return ev->kind == UFT_EV_ENTRY ? enter(a, t, ev) : exit_call(a, t, ev);
}

/* Ends the calls that are open when the stream ends. */
int agg_close_open(struct agg *a)
{
	struct agg_build *b = a->build;

	agg_charge_rest(a);
	for (uint32_t i = 0; i < b->ntasks; i++)
		for (struct agg_task *t = &b->task[i]; t->n;) {
			const struct agg_frame *f = &t->frame[t->n - 1];
			uint64_t ns = a->last_ns > f->start ? a->last_ns - f->start : 0;
			int counts = !a->counts || t->some[t->n - 1].is_begin;

			a->node[f->node].nopen += (uint64_t)counts;
			if (leave(a, t, ns, ns > f->child_ns ? ns - f->child_ns : 0, counts) < 0)
				return -ENOMEM;
		}
	return 0;
}

void agg_forget_stream(struct agg_build *b)
{
	for (uint32_t i = 0; i < b->ntasks; i++) {
		free(b->task[i].frame);
		free(b->task[i].some);
		free(b->task[i].nopen);
	}
	free(b->task);
	free(b->func_of);
	free(b->nleft);
	free(b->met);
	agg_forget_off(b);
	b->task = NULL;
	b->func_of = b->nleft = b->met = NULL;
	b->ntasks = b->nfunc_of = b->cap_left = b->nmet = b->cap_met = 0;
}

/* 1: this part is of no use, because another part is not, or because this one met something that cannot be joined. */
static int is_stopped(const struct agg *a)
{
	int *stop = a->build->stop;

	if (__builtin_expect(!stop, 1))
		return 0;
	if (a->has_switches || a->nnodes >= a->max_nodes)
		__atomic_store_n(stop, 1, __ATOMIC_RELAXED);
	return __atomic_load_n(stop, __ATOMIC_RELAXED);
}

int agg_add_events(struct agg *a, struct uft_stream *st)
{
	struct emit_source *src = malloc(sizeof(*src));
	int ret = src ? 0 : -ENOMEM;

	if (src)
		emit_source_init(src, st);
	while (!ret && !is_stopped(a) && emit_source_next(src)) {
		a->first_ns = a->first_ns ? a->first_ns : src->ev[0].ts_ns;
		for (size_t i = 0; i < src->n && !ret; i++)
			ret = add_event(a, &src->ev[i]);
		a->last_ns = src->ev[src->n - 1].ts_ns > a->last_ns ? src->ev[src->n - 1].ts_ns : a->last_ns;
		src->next = src->n;
	}
	free(src);
	return ret;
}

int agg_add(struct agg *a, struct uft_stream *st, enum uft_by by)
{
	int ret;

	a->build->by = by;
	ret = agg_add_events(a, st);
	if (!ret)
		ret = agg_close_open(a);
	agg_forget_stream(a->build);
	return ret;
}

/* ---- The whole ---- */

int agg_init(struct agg *a)
{
	*a = (struct agg){ .max_nodes = AGG_NODES, .build = calloc(1, sizeof(*a->build)) };
	if (!a->build || agg_func_get(a, "\001all", "[all]", "") == AGG_NOWHERE ||
	    agg_node_new(a, 0, 0) == AGG_NOWHERE) {
		agg_free(a);
		return -ENOMEM;
	}
	return 0;
}

void agg_free(struct agg *a)
{
	if (a->build) {
		agg_forget_stream(a->build);
		free(a->build->link);
		hash_index_free(&a->build->by_path);
		hash_index_free(&a->build->by_key);
		free(a->build->pool);
	}
	for (uint32_t i = 0; i < a->nfuncs; i++) {
		free(a->func[i].name);
		free(a->func[i].object);
		free(a->func[i].key);
		free(a->func[i].file);
	}
	free(a->build);
	free(a->func);
	free(a->node);
	*a = (struct agg){ 0 };
}

/* Does node @i come before its sibling @k? The one with the longest total is the first. */
static int is_before(const struct agg *a, uint32_t i, uint32_t k)
{
	const struct agg_node *n = &a->node[i], *m = &a->node[k];
	int by_name;

	if (n->total != m->total)
		return n->total > m->total;
	if (n->calls != m->calls)
		return n->calls > m->calls;
	by_name = strcmp(a->func[n->func].name, a->func[m->func].name);
	return by_name ? by_name < 0 : i < k;
}

static uint32_t merge(struct agg *a, uint32_t x, uint32_t y)
{
	uint32_t first, *to = &first;

	while (x && y) {
		uint32_t *next = is_before(a, x, y) ? &x : &y;

		*to = *next;
		to = &a->node[*next].next;
		*next = *to;
	}
	*to = x ? x : y;
	return first;
}

/* Sorts siblings in place, because a table whose order depends on memory would be another one. Returns the first. */
static uint32_t sort_siblings(struct agg *a, uint32_t first)
{
	uint32_t run[32] = { 0 }, one, i;	/* run[i]: 0, or 2^i sorted nodes */

	while ((one = first)) {
		first = a->node[one].next;
		a->node[one].next = 0;
		for (i = 0; run[i]; i++) {
			one = merge(a, run[i], one);
			run[i] = 0;
		}
		run[i] = one;
	}
	for (i = 0; i < 32; i++)
		first = merge(a, first, run[i]);
	return first;
}

void agg_finish(struct agg *a)
{
	for (uint32_t i = a->nnodes; i-- > 1;) {
		struct agg_node *n = &a->node[i], *up = &a->node[n->parent];

		if (a->build->is_flat ? n->is_group : up->is_group == AGG_GROUP || !n->parent) {
			up->total += n->total;
			up->all_blocked += n->all_blocked;
			up->all_runnable += n->all_runnable;
			up->calls += n->calls;
		}
	}
	for (uint32_t i = 1; i < a->nnodes; i++) {
		struct agg_node *up = &a->node[a->node[i].parent];

		a->node[i].next = up->child;
		up->child = i;
	}
	for (uint32_t i = 0; i < a->nnodes; i++)
		a->node[i].child = sort_siblings(a, a->node[i].child);
}
