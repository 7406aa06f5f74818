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
 */
#include "runtime/trace/trace.h"

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

void profile_add(uint32_t id, uint64_t duration, uint64_t self)
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
