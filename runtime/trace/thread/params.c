/* SPDX-License-Identifier: MIT */
/*
 * params.c - the parameters of armed sites, set by the agent and read by every event
 *
 * The parameters in force are one pointer to one of a few copies. The agent fills the next copy and moves the pointer,
 * then starts a new generation, so that every thread takes its slow path once and decides anew whether its events may
 * be fast. A thread that was preempted between the pointer and the copy for NCOPIES changes may see a mixture; each
 * field alone is valid.
 */
#include "runtime/trace/thread/thread.h"

#define NCOPIES 16
#define MAX_PIDS (sizeof(((struct uft_tracer_params *)0)->pids) / sizeof(uint32_t))

struct graph_limits uft_graph_limits;
static struct uft_tracer_params params_copies[NCOPIES];
static uint32_t params_current;	/* written by trace_set_params() only */

/*
 * 1: the numbers in force are of another pid namespace: they are inherited from a parent outside. The session sends
 * each target the numbers of its own namespace (command_params()).
 */
static uint32_t has_foreign_pids;

const struct uft_tracer_params *trace_params(void)
{
	return &params_copies[uft_load_acquire(&params_current)];
}

void trace_set_params(const struct uft_tracer_params *p)
{
	uint32_t next = (params_current + 1) % NCOPIES;
	struct uft_tracer_params *n = &params_copies[next];
	/* Each word is read once, because others may write there. */
	uint32_t npids = uft_load(&p->npids), nnot_pids = uft_load(&p->nnot_pids),
		 nstack_ids = uft_load(&p->nstack_ids);
	uint32_t nactions = uft_load(&p->nactions);

	n->tracer = p->tracer;
	n->max_depth = p->max_depth;
	n->thresh = p->thresh;
	n->has_roots = p->has_roots;
	n->has_pids = p->has_pids;
	n->has_events = p->has_events;
	n->stacks = ARCH_HAS_STACKS ? uft_load(&p->stacks) : 0;
	n->nstack_ids = nstack_ids < UFT_NSTACK_IDS ? nstack_ids : UFT_NSTACK_IDS;
	for (uint32_t i = 0; i < n->nstack_ids; i++)
		n->stack_ids[i] = p->stack_ids[i];
	n->clocks_per_ns = p->clocks_per_ns;
	n->kin = p->kin;
	n->kin_lists = p->kin_lists;
	n->graph_turn = p->graph_turn;
	n->counts = p->counts;
	n->npids = npids < MAX_PIDS ? npids : MAX_PIDS;
	n->nnot_pids = nnot_pids < MAX_PIDS - n->npids ? nnot_pids : MAX_PIDS - n->npids;
	for (uint32_t i = 0; i < n->npids + n->nnot_pids; i++)
		n->pids[i] = p->pids[i];
	n->nactions = nactions < UFT_NACTIONS ? nactions : UFT_NACTIONS;
	for (uint32_t i = 1; i < n->nactions; i++)	/* number 0 is never written: it has no action */
		n->action[i] = p->action[i];
	uft_store(&uft_graph_limits.depth, (n->max_depth ? n->max_depth : UINT32_MAX) * sizeof(struct fg_entry));
	uft_store(&uft_graph_limits.thresh, n->thresh);
	if (n->has_events & (UFT_EVENTS_HANDLERS | UFT_EVENTS_NO_HANDLERS))
		signal_forget();
	uft_store(&has_foreign_pids, 0u);
	uft_store_release(&params_current, next);	/* the copy is complete; partner: trace_params() */
	ring_new_generation(); /* GUARD(trace_set_params_ring_new_generation) */
}

/* Are the action's ops its number? Fast paths look at the number, not at the table. */
static int is_its_ops(const struct uft_tracer_params *p, uint32_t number)
{
	return number < p->nactions && p->action[number].ops == number;
}

/* The path if a second tracer wants calls, too. */
static enum graph_path path_beside(const struct uft_tracer_params *p)
{
	if (!ARCH_HAS_BESIDE || p->max_depth || p->thresh || p->counts || !is_its_ops(p, UFT_ACT_FUNC) ||
	    !is_its_ops(p, UFT_ACT_PROFILE))
		return GRAPH_SLOW;
	if (p->has_events == UFT_EVENTS_FUNC)
		return p->tracer == UFT_TRACER_PROFILE ? PROFILE_FUNC : GRAPH_FUNC;
	return p->has_events == UFT_EVENTS_PROFILE && p->tracer == UFT_TRACER_GRAPH ? GRAPH_SUMS : GRAPH_SLOW;
}

enum graph_path trace_graph_path(void)
{
	const struct uft_tracer_params *p = trace_params();

	if ((p->tracer != UFT_TRACER_GRAPH && p->tracer != UFT_TRACER_PROFILE) || p->has_roots ||
	    p->stacks & ~(uint32_t)UFT_STACKS_TRACEPOINT)
		return GRAPH_SLOW;
	if (p->has_events)
		return path_beside(p);
	if (p->tracer == UFT_TRACER_PROFILE)
		return ARCH_HAS_SUMS ? GRAPH_PROFILE : GRAPH_SLOW;
	if (!ARCH_HAS_LIMITS && (p->thresh || p->max_depth))
		return GRAPH_SLOW;
	return p->thresh ? GRAPH_THRESH : p->max_depth ? GRAPH_DEPTH : GRAPH_PLAIN;
}

int trace_counts(void)
{
	return ARCH_HAS_COUNTS && trace_params()->counts;
}

int trace_graph_is_fast(void)
{
	enum graph_path path = trace_graph_path();

	return path == GRAPH_PLAIN || path == GRAPH_FUNC || path == GRAPH_SUMS || path == GRAPH_DEPTH;
}

int trace_is_beside(void)
{
	enum graph_path path = trace_graph_path();

	return ARCH_HAS_BESIDE && (path == GRAPH_FUNC || path == GRAPH_SUMS || path == PROFILE_FUNC);
}

int trace_is_recording(void)
{
	return uft_load(&uft_rt.slice->ring_flags) & UFT_RING_ON;
}

static int is_listed(uint32_t tid, uint32_t pid, const uint32_t *pids, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (pids[i] == tid || pids[i] == pid)
			return 1;
	return 0;
}

/* The lists (enum uft_pid_lists) that have the task. */
static uint32_t lists_of(const struct uft_tracer_params *p, uint32_t tid, uint32_t pid)
{
	if (uft_load(&has_foreign_pids))
		return 0;
	return (p->has_pids & UFT_PIDS_ONLY && is_listed(tid, pid, p->pids, p->npids) ? UFT_PIDS_ONLY : 0) |
	       (p->has_pids & UFT_PIDS_NOT && is_listed(tid, pid, p->pids + p->npids, p->nnot_pids) ? UFT_PIDS_NOT : 0);
}

/*
 * The lists of number @number that have this process because they had its parent. Written in a fork child before its
 * first event.
 */
static struct { uint32_t number, lists; } kin;

static uint32_t lists_of_kin(const struct uft_tracer_params *p)
{
	if (!(p->has_pids & UFT_PIDS_FORK))
		return 0;
	return p->kin_lists | (kin.number == p->kin ? kin.lists : 0);
}

void params_born_elsewhere(void)
{
	uft_store(&has_foreign_pids, 1u);
}

void params_forked(const struct uft_thread *th)
{
	const struct uft_tracer_params *p = trace_params();
	uint32_t lists = lists_of_kin(p);

	if (p->has_pids & UFT_PIDS_FORK)
		lists |= lists_of(p, th ? th->owner : 0, uft_load(&uft_rt.slice->pid));
	kin.lists = lists;
	kin.number = p->kin;
}

/* The answer is kept per thread and generation, except for a guest, because the thread is not its own. */
int trace_task_is_wanted(struct trace_task *t, const struct uft_tracer_params *p)
{
	uint32_t generation = (uint32_t)(t->key >> 48), lists = 0;
	int wanted;

	if (p->has_pids && !t->guest && t->th->pids_generation == generation)
		return !(t->th->flags & TH_FILTERED);
	if (p->has_pids)
		lists = lists_of(p, t->tid, t->pid) | lists_of_kin(p);
	if (p->has_pids & UFT_PIDS_FORK && t->guest)
		lists |= lists_of(p, t->th->owner, uft_load(&uft_rt.slice->pid));
	wanted = (!(p->has_pids & UFT_PIDS_ONLY) || lists & UFT_PIDS_ONLY) && !(lists & UFT_PIDS_NOT);
	if (!t->guest) {
		if (wanted)
			arch_local_clear32(&t->th->flags, TH_FILTERED);
		else
			arch_local_or32(&t->th->flags, TH_FILTERED);
		t->th->pids_generation = generation;
	}
	return wanted;
}
