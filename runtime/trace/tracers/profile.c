/* SPDX-License-Identifier: MIT */
/*
 * profile.c - the profile tracer's sums
 *
 * One entry per function and CPU in the slice (struct uft_profile). Where there are rseq sections each addition is one:
 * it is made by one instruction on the CPU that the entry is for, or begun again, so it needs no lock prefix and is
 * exact under signals and migration. Tasks that sections do not protect add atomically to entries of their own, because
 * to other CPUs a section's load and store are two steps. The longest and the shortest call seldom change: they are set
 * by compare-and-swap everywhere. The reader sees the sums at slightly different times; each is exact.
 *
 * If only the profile wants calls, and each call needs no further decision (GRAPH_PROFILE), calls take fast paths of
 * trace.S, which push and pop the same entries as this file and add to the same sums.
 *
 * A call is counted when it begins, as the kernel's profiler does: one that is left by longjmp, an exception or the
 * end of the program counts too. Its time is added when it returns.
 *
 * Beside the graph (UFT_EVENTS_PROFILE) one entry of the shadow stack serves both, also that of fast paths
 * (GRAPH_SUMS). A call that the graph leaves out, by its depth or its functions, has a silent entry (FG_NOT_GRAPH); a
 * call that the profile leaves out passes the time of its callees on (FG_PASS).
 */
#include "runtime/trace/tracers/tracers.h"

/* trace.S: adds @v to the word at @offset of this CPU's block. 0: it has none. */
int uft_asm_profile_add(uint64_t offset, uint64_t v);

/* The function's entry in the block for atomic additions. NULL: the block has no memory. */
static struct uft_profile *atomic_entry(uint32_t id)
{
	const struct uft_arena *a = uft_rt.arena;
	uint32_t block = a->ncpus;

	if (!ARCH_HAS_SUMS || !uft_load(&uft_ring_fast.rseq_offset)) {
		block = ring_has_rseq() ? arch_rseq_cpu(uft_ring_fast.rseq_offset) : plat_cpu();
		if (block >= a->ncpus)
			block = 0;
	}
	if (!ring_profile_open(block))
		return NULL;
	return (struct uft_profile *)((char *)uft_rt.slice + a->profile_offset) + block * a->profile_ids + id;
}

/*
 * Opens this CPU's block. trace.S calls it, too, outside of any section. 1: make the addition again. @is_hit: else a
 * call is lost, which is counted. Context: probe, with rseq.
 */
int uft_profile_open(int is_hit);
int uft_profile_open(int is_hit)
{
	uint32_t cpu;

	if (uft_load(ring_state()) != RING_LIVE || !ring_has_rseq())
		return 0;
	cpu = arch_rseq_cpu(uft_ring_fast.rseq_offset);
	if (cpu < uft_rt.arena->ncpus && ring_profile_open(cpu))
		return 1;
	if (is_hit)
		trace_count(UFT_CNT_NO_RING, 1);
	return 0;
}

static int profile_add_here(uint64_t offset, uint64_t v)
{
	return uft_asm_profile_add(offset, v) || (uft_profile_open(0) && uft_asm_profile_add(offset, v));
}

static void profile_sum(const struct trace_task *t, uint32_t id, uint64_t field, uint64_t v)
{
	struct uft_profile *p;

	if (ARCH_HAS_SUMS && t->rseq && profile_add_here(id * sizeof(struct uft_profile) + field, v))
		return;
	p = atomic_entry(id);
	if (p)
		uft_add((uint64_t *)((char *)p + field), v);
	else if (field == PR_HITS)
		trace_count(UFT_CNT_NO_RING, 1);
}

static void profile_max(uint64_t *at, uint64_t v)
{
	uint64_t old = uft_load(at);

	while (old < v && !uft_cas(at, old, v))
		old = uft_load(at);
}

static void profile_extreme(struct uft_profile *p, uint64_t duration)
{
	profile_max(&p->min, ~duration);
	profile_max(&p->max, duration);
}

/* Called by trace.S, too. @offset: of the function's entry in a block. Context: probe, with rseq. */
void uft_profile_extreme(uint64_t offset, uint64_t duration);
void uft_profile_extreme(uint64_t offset, uint64_t duration)
{
	struct uft_profile *block =
		ring_has_rseq() ? uft_ring_fast.cpu[arch_rseq_cpu(uft_ring_fast.rseq_offset)].profile : NULL;

	if (block)
		profile_extreme((struct uft_profile *)((char *)block + offset), duration);
}

void profile_hit(const struct trace_task *t, uint32_t id)
{
	if (id < uft_rt.arena->profile_ids)
		profile_sum(t, id, PR_HITS, 1);
}

static void profile_add(const struct trace_task *t, uint32_t id, uint64_t duration, uint64_t self)
{
	uint64_t unit = duration >> UFT_PROFILE_SQ_SHIFT;
	struct uft_profile *p;

	if (id >= uft_rt.arena->profile_ids)
		return;		/* the block has no room for this function */
	profile_sum(t, id, PR_TOTAL, duration);
	profile_sum(t, id, PR_SELF, self);
	profile_sum(t, id, PR_SQUARES, unit * unit);
	if (ARCH_HAS_SUMS && t->rseq)
		uft_profile_extreme(id * sizeof(struct uft_profile), duration);
	else if ((p = atomic_entry(id)))
		profile_extreme(p, duration);
}

void profile_exit(struct trace_task *t, const struct fg_entry *e, struct fg_entry *caller)
{
	const struct uft_tracer_params *p = trace_params();
	uint64_t took = e->child, self;

	if (p->tracer != UFT_TRACER_PROFILE && !(p->has_events & UFT_EVENTS_PROFILE))
		return;		/* the profile was switched off meanwhile */
	if (e->flags & FG_PROFILE) {
		took = event_duration(t, e);
		self = took - (e->child < took ? e->child : took);
		profile_add(t, fg_id(e), p->has_events & UFT_EVENTS_SELF ? self : took, self);
	}
	if (caller && caller->flags & (FG_PROFILE | FG_PASS))
		arch_local_add64(&caller->child, took);
}
