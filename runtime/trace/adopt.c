/* SPDX-License-Identifier: MIT */
/*
 * adopt.c - a fork child becomes a target of its own
 *
 * The child finds its state word wiped (ring/ring.c): the first thread with a slow event there swaps it to
 * RING_ADOPTING, claims a free slice by compare-and-swap, points the rings at it and finishes what the parent's
 * agent was doing. All signals are blocked, so no handler sees the half-way state; other threads of the child wait
 * (thread.c). A child that is not followed stays RING_REFUSED, decided once: its hooked frames return, its calls
 * are declined. Its own children decide for themselves.
 *
 * Whoever detaches finds processes without an agent: children that had no event yet or were not followed, and those whose
 * agent ended because both session and guard were killed. It sends a thread of theirs into trace_rejoin().
 *
 * A free slice is all zero but for what is set here: the session clears it before it sets it free.
 */
#include "runtime/trace/trace.h"

#define CLAIM_WAIT_MS	200

static struct uft_slice *adopt_slice(uint32_t index)
{
	return rt_slice(index);
}

/* Will the session set this slice free soon? It drains it, or has not seen yet that its process is over. */
static int adopt_is_ending(const struct uft_slice *s)
{
	uint32_t pid = uft_load(&s->pid);

	if (uft_load(&s->state) == UFT_SLICE_DEAD)
		return 1;
	return pid && plat_is_process_gone(pid);
}

/* Returns its index, or -ENOSPC. Where children come faster than the session can follow they wait for it a little. */
static int64_t adopt_claim(void)
{
	const struct uft_arena *a = uft_rt.arena;

	for (int ms = 0;; ms++) {
		int ending = 0;

		for (uint32_t i = 0; i < a->nslices; i++) {
			uint32_t *state = &adopt_slice(i)->state;

			if (uft_load(state) == UFT_SLICE_FREE && uft_cas(state, UFT_SLICE_FREE, UFT_SLICE_LIVE))
				return i;
			ending |= ms < CLAIM_WAIT_MS && !ending && adopt_is_ending(adopt_slice(i));
		}
		if (!ending || uft_load(&a->closed))
			return -ENOSPC;
		plat_nap(1000000);
	}
}

static void adopt_fill(struct uft_slice *s, uint32_t pid)
{
	s->ppid = uft_rt.slice->pid;
	s->parent_slice = uft_rt.slice_index;
	s->agent_tid = 0;
	s->flags = trace_other_ns() ? UFT_SLICE_OTHER_NS : 0;
	s->ring_flags = uft_load(&uft_rt.slice->ring_flags);
	s->on_cpus = uft_load(&uft_rt.slice->on_cpus);
	s->tid_offset = uft_load(&uft_rt.slice->tid_offset);
	s->no_sharers = uft_load(&uft_rt.slice->no_sharers);
	s->cmd_seq = s->cmd_done = 0;
	s->cmd_result = 0;
	s->clock_start = arch_clock();
	s->debug = uft_rt.slice->debug;
	for (int i = 0; i < UFT_NCOUNTERS; i++)
		s->counter[i] = 0;
	uft_store_release(&s->pid, pid);
}

static void adopt_take(uint32_t index)
{
	uft_rt.slice = adopt_slice(index);
	uft_rt.slice_index = index;
}

int trace_claim_slice(void)
{
	int64_t index = adopt_claim();

	if (index < 0)
		return (int)index;
	adopt_fill(adopt_slice((uint32_t)index), (uint32_t)plat_pid());
	adopt_take((uint32_t)index);
	uft_rt.slice->ppid = 0;
	uft_rt.slice->parent_slice = ~0u;
	return 0;
}

int trace_other_ns(void)
{
	uint64_t its = uft_load(&uft_rt.arena->pid_ns), ours = its ? plat_pid_ns() : 0;

	return ours && ours != its;
}

static int adopt(struct trace_task *t, int is_forced)
{
	int64_t index = -ENOSPC;

	int is_denied = plat_is_denied(UFT_DENIED_CHILDREN | UFT_DENIED_ASK);

	t->pid = is_denied ? 0 : (uint32_t)plat_pid();
	t->tid = (uint32_t)plat_quiet_tid();
	t->th = thread_find(arch_thread_pointer());
	params_forked(t->th);
	thread_forked(t);
	if (is_denied)
		return -EPERM;
	if (!is_forced && (!(uft_load(&uft_rt.arena->children) & UFT_CHILDREN_FOLLOW) || uft_load(&uft_rt.arena->closed)))
		return -EPERM;
	index = adopt_claim();
	if (index < 0) {
		trace_count(UFT_CNT_NO_SLICE, 1);
		return (int)index;
	}
	adopt_fill(adopt_slice((uint32_t)index), t->pid);
	adopt_take((uint32_t)index);
	/* Who was interrupted inside the parent's table by the handler that forked goes on there. */
	if (ARCH_HAS_OWN && own_init())
		uft_rt.slice->tid_offset = 0;
	ring_attach();
	return 0;
}

int trace_adopt_child(void)
{
	uint64_t mask, arg;
	uint32_t *state = ring_state();
	struct trace_task t = { .mute = 1, .blocked = 1 };
	int ret = -EBUSY;

	plat_signals_block(&mask);
	if (!uft_cas(state, RING_FRESH, RING_ADOPTING))
		goto out;
	ret = adopt(&t, 0);
	/* The batch that the parent's agent had in hand is ours now, followed or not. */
	patch_after_fork();
	if (ret) {
		uft_store_release(state, RING_REFUSED);
		goto out;
	}
	/* Without one the child can be told something only while it waits for an answer (agent/request.c): agent_tid stays 0. qemu 7.2
	 * ends by an assertion when the child of a process that had threads makes one. */
	if (!uft_rt.is_emulated)
		agent_start();
	arg = uft_rt.slice_index;
	agent_request(UFT_REQ_FORKED, &arg, 1, 0);
	uft_store_release(state, RING_LIVE);
out:
	plat_signals_restore(&mask);
	return ret;
}

int trace_rejoin(void)
{
	uint64_t mask;
	uint32_t *state = ring_state();
	struct trace_task t = { .mute = 1, .blocked = 1 };
	int ret = 0;

	plat_signals_block(&mask);
	if (uft_load_acquire(state) != RING_LIVE) {
		ret = -EBUSY;
		if (uft_cas(state, RING_FRESH, RING_ADOPTING) || uft_cas(state, RING_REFUSED, RING_ADOPTING)) {
			ret = adopt(&t, 1);
			patch_after_fork();
			uft_store_release(state, ret ? RING_REFUSED : RING_LIVE);
		}
	} else if (uft_load(&uft_rt.slice->state) != UFT_SLICE_LIVE || uft_load(&uft_rt.slice->pid) != (uint32_t)plat_pid()) {
		ret = -ESTALE;
	}
	if (!ret)
		ret = agent_start();
	plat_signals_restore(&mask);
	return ret;
}
