// SPDX-License-Identifier: MIT
/*
 * arbiter.c - which ops may run at once, and the one set of parameters that targets get for all of them
 *
 * A target has one set of parameters and writes one stream, so ops are joined: its sites are armed for all
 * (spec_select.c), its parameters are what all of them need, and each reader shows what its own ops asked for. What
 * cannot be joined is refused here and nowhere else: a row of conflicts[] for each reason, with the sentence that users
 * read. A kernel has an ftrace_ops or fgraph_ops for each of its users, and little that they share.
 *
 * Objects. A list of struct uft_ops is the caller's. spec_make() makes one struct spec for each, in the order of
 * enum rank; the first is the session's, and its params and own sources are joined of all. Of the others, which hang
 * at `beside`, only the functions count.
 *
 * Context: uft_ops_check() any thread, the others control.
 */
#include "control/plan/watch_list.h"
#include "control/state/state.h"
#include "control/plan/plan.h"
#include "symbol/tracer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The order in which sites are joined: those that need both ends of a call before those that need less. */
enum rank { RANK_GRAPH, RANK_EVENTS, RANK_PROFILE, RANK_FUNCTION, RANK_OWN, RANK_NOP };

static enum rank rank_of(const struct uft_ops *op)
{
	const struct uft_tracer_row *row = uft_tracer(op->tracer);

	if (row->kind == UFT_KIND_OWN)
		return RANK_OWN;
	if (row->kind != UFT_KIND_PLAIN)
		return RANK_EVENTS;
	return row->target == UFT_TRACER_GRAPH ? RANK_GRAPH : row->target == UFT_TRACER_PROFILE ? RANK_PROFILE :
	       row->target == UFT_TRACER_FUNCTION ? RANK_FUNCTION : RANK_NOP;
}

/* ---- Conflicts ------------------------------------------------------------------------------- */

static int is_same_list(const uint32_t *a, size_t na, const uint32_t *b, size_t nb)
{
	return na == nb && (!na || !memcmp(a, b, na * sizeof(*a)));
}

static int has_same_pids(const struct uft_ops *a, const struct uft_ops *b)
{
	return is_same_list(a->pids, a->npids, b->pids, b->npids) &&
	       is_same_list(a->not_pids, a->nnot_pids, b->not_pids, b->nnot_pids);
}

static int is_measuring(const struct uft_ops *op)
{
	return (op->stacks & UFT_STACKS_MAX) != 0;
}

/* Both sources are events that the kernel tells of threads, but of two kinds. */
static int watches_beside(const struct uft_ops *a, const struct uft_ops *b)
{
	int is_a = (uft_tracer(a->tracer)->takes & UFT_TAKES_MEMORY) != 0,
	    is_b = (uft_tracer(b->tracer)->takes & UFT_TAKES_MEMORY) != 0;

	return is_a != is_b && uft_tracer(is_a ? b->tracer : a->tracer)->is_of_threads;
}

/* A target follows its growing pid list by itself, and it has only one. */
static int forks_apart(const struct uft_ops *a, const struct uft_ops *b)
{
	return (a->is_forking || b->is_forking) && !has_same_pids(a, b);
}

static int sums_apart(const struct uft_ops *a, const struct uft_ops *b)
{
	return (rank_of(a) == RANK_PROFILE || rank_of(b) == RANK_PROFILE) && !has_same_pids(a, b);
}

/* initcall: every recorded call counts as a constructor's. */
static int inits_beside(const struct uft_ops *a, const struct uft_ops *b)
{
	const struct uft_tracer_row *of_a = uft_tracer(a->tracer), *of_b = uft_tracer(b->tracer);

	return of_a->target == UFT_TRACER_GRAPH && of_b->target == UFT_TRACER_GRAPH && of_a->is_inits != of_b->is_inits;
}

static int sums_beside(const struct uft_ops *a, const struct uft_ops *b)
{
	return rank_of(a) == RANK_PROFILE && rank_of(b) == RANK_PROFILE;
}

static int keeps_beside(const struct uft_ops *a, const struct uft_ops *b)
{
	return (a->keep && *a->keep && rank_of(b) != RANK_NOP) || (b->keep && *b->keep && rank_of(a) != RANK_NOP);
}

/* A thread's graph is on or off; its records do not tell for which of two ops. */
static int triggers_beside(const struct uft_ops *a, const struct uft_ops *b)
{
	return (a->graph_turn || b->graph_turn) && rank_of(a) <= RANK_EVENTS && rank_of(b) <= RANK_EVENTS;
}

/* Pairs that cannot run at once; the first row that applies gives the error. */
static const struct { int (*is)(const struct uft_ops *a, const struct uft_ops *b); const char *text; } conflicts[] = {
	{ watches_beside, "mmiotrace and the tracers of threads (sysprof, sched_switch) exclude each other" },
	{ forks_apart, "With function-fork all that is on has the same set_ftrace_pid" },
	{ inits_beside, "initcall and another tracer of calls and returns exclude each other" },
	{ triggers_beside,
		"The graph of triggers runs beside no other tracer of calls and returns, nor beside that of another instance" },
	{ sums_beside, "There is one profile at a time" },
	{ keeps_beside, "Slow calls are kept only where nothing else is traced" },
	{ sums_apart, "The profile is of the tasks of all that is on: set_ftrace_pid differs" },
};

int uft_ops_check(const struct uft_ops *ops, size_t nops, struct uft_error *err)
{
	for (size_t c = 0; c < sizeof(conflicts) / sizeof(conflicts[0]); c++)
		for (size_t i = 0; i < nops; i++)
			for (size_t k = i + 1; k < nops; k++)
				if (conflicts[c].is(&ops[i], &ops[k]))
					return uft_fail(err, -EBUSY, "%s", conflicts[c].text);
	return 0;
}

/* ---- The one specification for all targets --------------------------------------------------- */

/* Makes @op the next of the chain that ends at @last. */
static int add_functions(struct spec *first, struct spec **last, const struct uft_ops *op, struct uft_error *err)
{
	struct uft_tracer_params *p = &first->params;
	struct spec *sp;
	int ret = spec_make_one(op, &sp, err);

	if (ret)
		return ret;
	(*last)->beside = sp;
	*last = sp;
	sp->min_size = first->min_size;
	p->stacks |= sp->params.stacks;
	p->has_roots |= sp->params.has_roots;
	p->graph_turn |= sp->params.graph_turn;
	if (sp->tracer == UFT_TRACER_GRAPH)
		p->has_events |= sp->params.has_events;
	else if (sp->tracer == UFT_TRACER_PROFILE)
		p->has_events |= UFT_EVENTS_PROFILE | (sp->params.has_events & (UFT_EVENTS_SELF | UFT_EVENTS_CPU));
	else if (first->tracer != UFT_TRACER_FUNCTION)
		p->has_events |= UFT_EVENTS_FUNC;
	return 0;
}

/* Adds a source of the session itself; targets are not told. */
static int add_own(struct spec *first, const struct uft_ops *op, struct uft_error *err)
{
	struct spec *sp;
	int ret = spec_make_one(op, &sp, err);

	if (ret)
		return ret;
	first->own |= sp->own;
	if (spec_has_own(sp, UFT_TRACER_HWLAT))
		first->hwlat = sp->hwlat;
	if (spec_has_own(sp, UFT_TRACER_OSNOISE))
		first->osnoise = sp->osnoise;
	if (spec_has_own(sp, UFT_TRACER_SYSPROF))
		first->sample_ns = sp->sample_ns;
	first->has_stacks |= sp->has_stacks;
	first->has_switches |= sp->has_switches;
	if (sp->nwatch) {
		access_free(first->watch, first->nwatch);
		first->watch = sp->watch;
		first->nwatch = sp->nwatch;
		sp->watch = NULL;
		sp->nwatch = 0;
	}
	spec_free(sp);
	return 0;
}

/* Joins the lists of functions whose stacks are wanted. malloc'd; NULL: none, or no memory (*ret). */
static const char **join_stacks(const struct uft_ops *const *op, size_t n, int *ret)
{
	const char **all;
	size_t words = 0, k = 0;

	for (size_t i = 0; i < n; i++)
		for (const char *const *p = op[i]->stack_of; p && *p; p++)
			words++;
	all = words ? calloc(words + 1, sizeof(*all)) : NULL;
	if (words && !all)
		*ret = -ENOMEM;
	for (size_t i = 0; all && i < n; i++)
		for (const char *const *p = op[i]->stack_of; p && *p; p++)
			all[k++] = *p;
	return all;
}

/* A task that only some ops want is recorded, and left out by the readers of the others. */
static int is_for_all_tasks(const struct uft_ops *const *op, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (!has_same_pids(op[0], op[i]))
			return 1;
	return 0;
}

/* @op: all ops, in the order of their ranks; @n at least 1. */
static int join(const struct uft_trace_spec *in, const struct uft_ops *const *op, size_t n, struct spec **out,
		struct uft_error *err)
{
	struct uft_ops head = *op[0];
	struct spec *first = NULL, *last;
	int ret = 0;
	const char **stacks = join_stacks(op, n, &ret);

	head.stack_of = stacks;
	if (is_for_all_tasks(op, n))
		head.npids = head.nnot_pids = 0;
	for (size_t i = 0; i < n && !head.is_forking; i++) {
		head.is_forking = op[i]->is_forking;
		head.kin = op[i]->kin;
	}
	if (!ret)
		ret = spec_make_one(&head, &first, err);
	free(stacks);
	if (ret)
		return ret;
	first->min_size = in->min_size;
	first->limit = (struct budget_limit){ .share = in->budget_ppm / 1e6, .rate = (double)in->max_rate };
	first->tasks = in->tasks;
	ret = spec_copy_events(in, first);
	last = first;
	for (size_t i = 1; i < n && !ret; i++) {
		struct uft_ops next = *op[i];

		next.stack_of = NULL;
		ret = rank_of(op[i]) == RANK_OWN ? add_own(first, &next, err) : rank_of(op[i]) == RANK_NOP ? 0 :
			add_functions(first, &last, &next, err);
	}
	for (size_t i = 0; i < n; i++)
		if (first->params.stacks & UFT_STACKS_MAX && rank_of(op[i]) == RANK_FUNCTION && !is_measuring(op[i]))
			first->params.stacks |= UFT_STACKS_MAX_FUNC;
	if (ret)
		spec_free(first);
	else
		*out = first;
	return ret;
}

int spec_make(const struct uft_trace_spec *in, struct spec **out, struct uft_error *err)
{
	static const struct uft_ops nothing = { .tracer = UFT_TRACER_NOP };
	const struct uft_ops **op = calloc(in->nops + 1, sizeof(*op));
	size_t n = 0;
	int ret = op ? uft_ops_check(in->ops, in->nops, err) : -ENOMEM;

	for (int rank = RANK_GRAPH; rank <= RANK_NOP && !ret; rank++)
		for (size_t i = 0; i < in->nops; i++)
			if ((int)rank_of(&in->ops[i]) == rank)
				op[n++] = &in->ops[i];
	if (!ret && !n)
		op[n++] = &nothing;
	if (!ret)
		ret = join(in, op, n, out, err);
	if (!ret)	/* durations need a clock */
		(*out)->params.counts = in->counts && !(*out)->thresh_ns && !(*out)->nkeep;
	free(op);
	return ret;
}
