/* SPDX-License-Identifier: MIT */
/*
 * fork_child.c - a fork child becomes a target of its own
 *
 * The child finds its state word wiped (ring/ring.c). The first thread with a slow event there swaps it to
 * RING_ADOPTING, gets a slice, points the rings at it and finishes the parent's agent's patching. All signals are
 * blocked, so no handler sees a half-made state; other threads of the child wait (thread.c). A child that is not
 * followed stays RING_REFUSED: its hooked frames return, its calls are declined. Its own children decide for
 * themselves.
 *
 * Memory. The child does not have its parent's family, because it may give up rights that the parent has, and another
 * program may take it over later. It has inherited a spare one, whose slice it claims by compare-and-swap
 * (agent/spare.c). After a fork that no hook saw it has none. Then its agent, which has descriptors of its own and
 * which a filter may end without harm, opens one and maps it (boot_take_spare()): at the same address, because code
 * that the forking handler interrupted has addresses of the parent's rings; or elsewhere, where that code ends in the
 * memory that stands in for the family. Under an emulator the child does so itself. doc/design/trust.md.
 *
 * A session or guard that detaches finds processes without an agent: children that had no event yet or are not
 * followed, and processes whose agent ended because both session and guard were killed. It sends one of their threads
 * into trace_rejoin().
 *
 * All of a free slice is zero except for the fields that are set here: the session clears it before it sets it free.
 */
#include "runtime/trace/hooks/hooks.h"

#define SPARE_WAIT_MS	50	/* how long a child waits until the session has prepared another spare */

/* Progress of getting memory for this process, by its agent or by the thread that waits for the agent. */
enum claim_state { CLAIM_NONE, CLAIM_BEGUN, CLAIM_DONE, CLAIM_FAILED };
static struct {
	uint32_t state;
	uint32_t pid;
	uint32_t is_forced;		/* also if children are not followed */
	int error;			/* the reason why the first way failed */
} claim;

/* The session may have closed the family before the claim. 1: it has, and the claim is void. */
static int adopt_is_void(uint32_t *state)
{
	if (!uft_load(&uft_rt.mail->closed))
		return 0;
	uft_store(state, UFT_SLICE_FREE);
	return 1;
}

/*
 * The number and slice of this process, and the session's facts of its libc: what a child that does not have its
 * parent's memory knows of its parent.
 */
struct heritage {
	uint32_t pid, index, no_sharers;
	int32_t tid_offset;
	uint64_t debug;
};
static struct heritage self;

void adopt_note_self(void)
{
	self.pid = uft_load(&uft_rt.slice->pid);
	self.index = uft_rt.slice_index;
	self.debug = uft_rt.slice->debug;
}

void trace_note_libc(void)
{
	self.tid_offset = uft_load(&uft_rt.slice->tid_offset);
	self.no_sharers = uft_load(&uft_rt.slice->no_sharers);
}

void trace_note_heir(void)
{
	uft_store(&uft_rt.slice->ppid, self.pid);
	uft_store(&uft_rt.slice->parent_slice, self.index);
}

/* Fills a slice. Facts that the session writes into each slice are there already. */
static void adopt_fill(struct uft_slice *s, const struct heritage *h, uint32_t pid)
{
	s->ppid = h->pid;
	s->parent_slice = h->index;
	s->agent_tid = 0;
	s->spare_fd = 0;
	s->flags = trace_other_ns() ? UFT_SLICE_OTHER_NS : 0;
	s->tid_offset = h->tid_offset;
	s->no_sharers = h->no_sharers;
	s->cmd_seq = s->cmd_done = 0;
	s->cmd_result = 0;
	s->clock_start = arch_clock();
	s->debug = h->debug;
	for (int i = 0; i < UFT_NCOUNTERS; i++)
		s->counter[i] = 0;
	uft_store_release(&s->pid, pid);
}

/* @at: where to map it; 0: anywhere. 0 or -errno; then nothing has changed. */
static int adopt_spare(uint64_t at, uint32_t pid, const struct heritage *h)
{
	int ret;

	if (uft_load(&uft_rt.arena->is_full) && !claim.is_forced)
		return -ENOSPC;
	for (int ms = 0;
	     (ret = boot_take_spare(at)) == -EAGAIN && ms < SPARE_WAIT_MS && !uft_load(&uft_rt.arena->closed); ms++) {
		plat_wake((uint32_t *)&uft_rt.arena->bell, 0x7fffffff);
		plat_nap(1000000);
	}
	if (ret < 0 && claim.is_forced && !uft_rt.is_emulated)
		ret = boot_ask_family(at);
	if (ret < 0)
		return ret;
	uft_rt.slice_index = (uint32_t)ret * uft_rt.arena->per_file;
	uft_rt.slice = rt_slice(0);
	adopt_fill(uft_rt.slice, h, pid);
	return 0;
}

int trace_claim_spare(void)
{
	const struct heritage none = { .index = ~0u };

	return adopt_spare(0, (uint32_t)plat_pid(), &none);
}

static void claim_by(int (*how)(void))
{
	uint32_t was = uft_load(&claim.state);
	int ret;

	if (was == CLAIM_DONE || !uft_cas(&claim.state, was, CLAIM_BEGUN))
		return;
	ret = how();
	if (ret) {
		claim.error = claim.error ? claim.error : ret;
		uft_store_release(&claim.state, CLAIM_FAILED);
		return;
	}
	agent_note_slice();
	uft_store_release(&claim.state, CLAIM_DONE);
}

static int claim_spare(void)
{
	return adopt_spare(spare_place(), claim.pid, &self);
}

/* Claims the family that was inherited. */
static int claim_heir(void)
{
	struct uft_slice *s = uft_rt.slice;

	if (!uft_cas(&s->state, UFT_SLICE_HELD, UFT_SLICE_LIVE) || adopt_is_void(&s->state))
		return -ENOSPC;
	adopt_fill(s, &self, claim.pid);
	return 0;
}

int trace_claim_own(void)
{
	if (uft_load_acquire(&claim.state) == CLAIM_NONE)	/* else the wait for it was too long */
		claim_by(claim_spare);
	return uft_load_acquire(&claim.state) == CLAIM_DONE ? 0 : -ENOSPC;
}

/* The pid namespace of the process. It never changes, but the process's children may be born in another one. */
static uint64_t own_ns;

/*
 * In a new namespace a child sees no parent: its parent is outside, and so is a reaper in its parent's place. Only a
 * hooked fork, which gives a spare, has noted the namespace of the parent, @own_ns.
 */
static int is_born_elsewhere(void)
{
	return uft_rt.family != FAMILY_HEIR || !plat_parent();
}

int trace_other_ns(void)
{
	uint64_t its = uft_load(&uft_rt.arena->pid_ns), ours = uft_load(&own_ns);

	if (its && !ours) {
		ours = plat_pid_ns();
		uft_store(&own_ns, ours);
	}
	return its && ours && ours != its;
}

static void note_namespace(void)
{
	if (!is_born_elsewhere()) /* GUARD(fork_child_namespace, 1) */
		return;
	own_ns = 0;		/* it is the parent's */
	if (trace_other_ns())
		params_born_elsewhere();
}

/* Adopts the child, with an agent where there can be one. 0, -EPERM or -ENOSPC. */
static int adopt(struct trace_task *t, int is_forced)
{
	const int is_denied = plat_is_denied(UFT_DENIED_CHILDREN | UFT_DENIED_ASK);

	t->pid = is_denied ? 0 : (uint32_t)plat_pid();
	t->tid = (uint32_t)plat_quiet_tid();
	t->th = thread_find(arch_thread_pointer());
	params_forked(t->th);
	thread_forked(t);
	if (is_denied)
		return -EPERM;
	if (!is_forced &&
	    (!(uft_load(&uft_rt.arena->children) & UFT_CHILDREN_FOLLOW) || uft_load(&uft_rt.arena->closed)))
		return -EPERM;
	note_namespace();
	claim.state = CLAIM_NONE;
	claim.error = 0;
	claim.pid = t->pid;
	claim.is_forced = (uint32_t)is_forced;
	if (spare_is_void() && !is_forced)
		return -ENOSPC;
	if (uft_rt.family == FAMILY_HEIR)
		claim_by(claim_heir);
	else if (uft_rt.is_emulated)
		claim_by(claim_spare);
	/*
	 * A child without an agent takes commands only while it waits for an answer (agent/request.c): agent_tid stays
	 * 0. qemu 7.2 ends by an assertion when the child of a process that had threads makes a thread.
	 */
	if (!uft_rt.is_emulated && agent_start_child() == -ENOSYS)	/* a platform without agents */
		claim_by(claim_spare);
	if (uft_load_acquire(&claim.state) != CLAIM_DONE) { /* GUARD(claim_done, 1) */
		trace_count(UFT_CNT_NO_SLICE, 1);
		return claim.error ? claim.error : -ENOSPC;
	}
	/*
	 * Code that the forking signal handler interrupted inside the parent's table goes on in that table.
	 */
	if (ARCH_HAS_OWN && own_init())
		uft_rt.slice->tid_offset = 0;
	if (uft_rt.family == FAMILY_HEIR)
		uft_store_release(&uft_rt.family, (uint32_t)FAMILY_PRIVATE);
	event_rules_forked();
	adopt_note_self();
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
	spare_leave_family();
	if (!uft_cas(state, RING_FRESH, RING_ADOPTING))
		goto out;
	ret = adopt(&t, 0);
	/* This child finishes the batch of its parent's agent, whether it is followed or not. */
	patch_after_fork();
	if (ret) {
		uft_store_release(state, RING_REFUSED /* GUARD(refused_stays, RING_FRESH) */);
		goto out;
	}
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
	spare_leave_family();
	if (uft_load_acquire(state) != RING_LIVE) {
		ret = -EBUSY;
		if (uft_cas(state, RING_FRESH, RING_ADOPTING) || uft_cas(state, RING_REFUSED, RING_ADOPTING)) {
			ret = adopt(&t, 1);
			patch_after_fork();
			uft_store_release(state, ret ? RING_REFUSED : RING_LIVE);
		}
	} else if (uft_load(&uft_rt.slice->state) != UFT_SLICE_LIVE ||
		   uft_load(&uft_rt.slice->pid) != (uint32_t)plat_pid()) {
		ret = -ESTALE;
	}
	if (!ret)
		ret = agent_start();
	plat_signals_restore(&mask);
	return ret;
}
