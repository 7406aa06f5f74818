/* SPDX-License-Identifier: MIT */
/*
 * profile.c - the profile tracer's sums
 *
 * One entry per function and CPU in the slice, added to by atomic instructions, so a thread that is moved to
 * another CPU half way costs a cache miss and nothing else. The reader sees the five sums at slightly different
 * times; each is exact.
 *
 * A call is counted when it begins, as the kernel's profiler does: one that is left by longjmp, an exception or the
 * end of the program counts too. Its time is added when it returns.
 *
 * Beside the graph (UFT_EVENTS_PROFILE) one entry of the shadow stack serves both. What the graph leaves out,
 * by its depth or its functions, has one that is silent (FG_NOT_GRAPH); what the profile leaves out hands the
 * time of its callees on (FG_PASS).
 */
#include "runtime/trace/tracers/tracers.h"

static uint32_t profile_cpu(void)
{
	uint32_t cpu;

	if (ring_has_rseq())
		return arch_rseq_cpu(uft_ring_fast.rseq_offset);
	cpu = plat_cpu();
	return cpu < uft_rt.arena->ncpus ? cpu : 0;
}

static void profile_max(uint64_t *at, uint64_t v)
{
	uint64_t old = uft_load(at);

	while (old < v && !uft_cas(at, old, v))
		old = uft_load(at);
}

/* NULL: no room for this function. */
static struct uft_profile *profile_entry(uint32_t id)
{
	const struct uft_arena *a = uft_rt.arena;
	struct uft_profile *p;

	if (id >= a->profile_ids)
		return 0;
	p = (struct uft_profile *)((char *)uft_rt.slice + a->profile_offset);
	return p + profile_cpu() * a->profile_ids + id;
}

void profile_hit(uint32_t id)
{
	struct uft_profile *p = profile_entry(id);

	if (p)
		uft_add(&p->hits, 1);
}

static void profile_add(uint32_t id, uint64_t duration, uint64_t self)
{
	uint64_t unit = duration >> UFT_PROFILE_SQ_SHIFT;
	struct uft_profile *p = profile_entry(id);

	if (!p)
		return;
	uft_add(&p->total, duration);
	uft_add(&p->self, self);
	uft_add(&p->squares, unit * unit);
	profile_max(&p->min, ~duration);
	profile_max(&p->max, duration);
}

void profile_exit(struct trace_task *t, const struct fg_entry *e, struct fg_entry *caller)
{
	const struct uft_tracer_params *p = trace_params();
	uint64_t took = e->child, self;

	if (p->tracer != UFT_TRACER_PROFILE && !(p->has_events & UFT_EVENTS_PROFILE))
		return;		/* it was switched off meanwhile */
	if (e->flags & FG_PROFILE) {
		took = event_duration(t, e);
		self = took - (e->child < took ? e->child : took);
		profile_add(fg_id(e), p->has_events & UFT_EVENTS_SELF ? self : took, self);
	}
	if (caller && caller->flags & (FG_PROFILE | FG_PASS))
		arch_local_add64(&caller->child, took);
}
