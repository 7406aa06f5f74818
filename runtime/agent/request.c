// SPDX-License-Identifier: MIT
/*
 * request.c - requests of a target's threads to the session, by a mailbox in the arena
 *
 *	FREE -CAS-> CLAIMED -> POSTED (bell) -session-> DONE -> FREE
 *
 * The bell is a futex in memory that the target can only read: a wake that comes while the session does not wait is
 * lost. So the thread repeats the wake for a moment until it has woken a waiter. A thread that waits for an answer
 * repeats it in each part of its wait.
 *
 * Signals are blocked from the claim to the end, so that no handler can leave a claimed slot behind by a longjmp. A
 * thread that is killed in between leaves one: the session answers the request, and frees the slot if the answer is not
 * taken. A thread whose wait timed out takes its slot back; the session, which may be working on the request, does not
 * answer then. The wait is cut into parts, because a session that dies wakes no thread.
 *
 * In a process without an agent (trace/hooks/fork_child.c: fork children under an emulator) the waiting thread carries
 * out commands. Only one thread waits at a time there: the thread that holds the loader's lock.
 */
#include "runtime/agent/agent.h"

#include "runtime/arch/arch.h"
#include "runtime/platform/platform.h"

#define PART_MS		50
#define SELF_MS		1	/* in a process without an agent: commands come meanwhile */
#define RINGS		20
#define RING_NS		20000
/* wait for a slot, for requests without an answer: hundreds of forks fill all slots */
#define CLAIM_MS	200

static int ring_bell(void)
{
	return plat_wake((uint32_t *)&uft_rt.arena->bell, 0x7fffffff);
}

static void post(struct uft_request *r)
{
	uft_store_release(&r->state, UFT_REQ_POSTED);
	uft_store_release(&uft_rt.mail->posted, 1u);
	for (int i = 0; i < RINGS && !ring_bell() && uft_load(&r->state) == UFT_REQ_POSTED; i++)
		plat_nap(RING_NS);
}

static struct uft_request *claim(int wait)
{
	struct uft_mail *m = uft_rt.mail;

	for (int left_ms = wait ? UFT_REQ_TIMEOUT_MS : CLAIM_MS;; left_ms--) {
		for (int i = 0; i < UFT_NREQUESTS; i++)
			if (uft_load(&m->req[i].state) == UFT_REQ_FREE &&
			    uft_cas(&m->req[i].state, UFT_REQ_FREE, UFT_REQ_CLAIMED))
				return &m->req[i];
		if (left_ms <= 0 || agent_session_is_gone() || uft_load(&m->closed))
			return NULL;
		plat_nap(1000000);
	}
}

static int await(struct uft_request *r)
{
	int left_ms = r->kind == UFT_REQ_OBJECTS || r->kind == UFT_REQ_HELLO ? UFT_REQ_OBJECTS_MS : UFT_REQ_TIMEOUT_MS,
	    result;
	int is_alone = !uft_load(&uft_rt.slice->agent_tid), part_ms = is_alone ? SELF_MS : PART_MS;

	for (;;) {
		uint32_t state = uft_load_acquire(&r->state);

		if (state == UFT_REQ_DONE)
			break;
		if (left_ms <= 0 || agent_session_is_gone() || uft_load(&uft_rt.mail->closed)) {
			if (uft_cas(&r->state, UFT_REQ_POSTED, UFT_REQ_FREE))
				return -ETIMEDOUT;
			break;		/* the answer came just now */
		}
		if (is_alone && agent_poll())
			continue;
		if (plat_wait(&r->state, state, (uint64_t)part_ms * 1000000) == -ETIMEDOUT)
			left_ms -= part_ms;
		if (uft_load(&r->state) == UFT_REQ_POSTED)
			ring_bell();
	}
	result = uft_load(&r->result);
	uft_cas(&r->state, UFT_REQ_DONE, UFT_REQ_FREE);	/* unless the session took this thread for dead */
	return result;
}

int agent_request(uint32_t kind, const uint64_t *args, uint32_t nargs, int wait)
{
	uint64_t mask;
	struct uft_request *r;
	int ret = 0;

	if (agent_session_is_gone() || uft_load(&uft_rt.mail->closed))
		return -ETIMEDOUT;
	plat_signals_block(&mask);
	r = claim(wait);
	if (r) {
		r->kind = kind;
		r->pid = (uint32_t)plat_pid();
		r->tid = (uint32_t)plat_tid();
		r->slice = uft_rt.slice_index;
		r->no_wait = !wait;
		r->result = 0;
		for (uint32_t i = 0; i < 4; i++)
			r->arg[i] = i < nargs ? args[i] : 0;
		post(r);
		ret = wait ? await(r) : 0;
	}
	if (!r || ret == -ETIMEDOUT) {
		if (!agent_session_is_gone())
			trace_count(UFT_CNT_REQ_TIMEOUT, 1);
		ret = -ETIMEDOUT;
	}
	plat_signals_restore(&mask);
	return ret;
}
