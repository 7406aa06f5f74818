/* SPDX-License-Identifier: MIT */
/*
 * command.c - carry out the session's commands, from the slice's command area
 *
 *	session: fills uft_cmd, cmd_seq + 1, wakes		agent: does it, result, cmd_done = cmd_seq, wakes
 *
 * request.c is the other direction. Both use no host function except platform.h's: plat_wait() and plat_wake() on words
 * of the arena are all that a channel needs. On Linux the agent waits for commands (agent.c); a host without a task for
 * that polls (agent_poll()).
 *
 * Context: control, one caller at a time.
 */
#include "runtime/agent/agent.h"

#include "runtime/arch/arch.h"
#include "runtime/platform/platform.h"
#include "runtime/ring/ring.h"

static uint32_t has_left;	/* 1: requests are not answered any more; set by the agent, read by any thread */

int agent_session_is_gone(void)
{
	return uft_load(&has_left) || uft_load(&uft_rt.arena->closed);
}

int command_has_left(void)
{
	return (int)uft_load(&has_left);
}

void command_begin(void)
{
	uft_store(&has_left, 0u);
}

static int do_patch(struct uft_cmd *cmd, uint32_t n)
{
	struct uft_patch *p = (struct uft_patch *)((uint8_t *)cmd + UFT_CMD_PAYLOAD);
	uint32_t flags = uft_load(&cmd->flags), waiting = 0;
	long ret;

	patch_vouch(!!(flags & UFT_CMD_HELD));
	ret = patch_change(uft_load(&cmd->object), p, n, flags, &cmd->done);
	patch_vouch(0);
	for (uint32_t i = 0; flags & UFT_PATCH_TRY && i < n; i++)
		waiting += p[i].status == UFT_ST_LIVE;
	if (waiting)
		trace_count(UFT_CNT_SITE_LIVE, -(uint64_t)waiting);
	return ret < 0 ? (int)ret : 0;
}

/* Do the elements lie in the command area? A broken session may claim anything. */
static int fits(uint32_t n, size_t size)
{
	return (uint64_t)n * size <= uft_rt.arena->cmd_bytes - UFT_CMD_PAYLOAD;
}

/* Lists the stand-in area only if no thread pointer points to it any more, which is so when libc has started. */
static int list_mappings(struct uft_owned *own, uint32_t n)
{
	if (!fits(n, sizeof(*own)))
		return -E2BIG;
	for (uint32_t i = 0; i < n; i++) {
		if (uft_rt.rseq_offset)
			own[i].bytes &= ~UFT_OWNED_TP;
		if (patch_is_needed(own[i].at, own[i].bytes & ~(UFT_OWNED_TP | UFT_OWNED_NEEDED)))
			own[i].bytes |= UFT_OWNED_NEEDED;
	}
	return 0;
}

/*
 * Lists at most @most pieces; the area has memory for the pieces of its first page. *n: how many pieces there are. 0 or
 * -ENOMEM: not all are listed.
 */
static int list_owned(struct uft_owned *own, uint32_t most, uint32_t *n)
{
	const uint32_t there = (UFT_PAGE - UFT_CMD_PAYLOAD) / sizeof(*own);
	uintptr_t from = (uintptr_t)own + UFT_PAGE - UFT_CMD_PAYLOAD;

	*n = plat_list_owned(own, most < there ? most : there);
	if (*n <= there || *n > most)
		return 0;
	if (plat_reserve(from, (*n * sizeof(*own) + UFT_PAGE) & -(size_t)UFT_PAGE)) {
		*n = there;
		return -ENOMEM;
	}
	most = *n;
	*n = plat_list_owned(own, most);
	*n = *n < most ? *n : most;
	return 0;
}

/* Wakes the threads that wait in hooks for an answer. */
static void wake_waiting(void)
{
	struct uft_request *r = uft_rt.mail->req;

	for (int i = 0; i < UFT_NREQUESTS; i++)
		if (uft_load(&r[i].slice) == uft_rt.slice_index)
			plat_wake(&r[i].state, 0x7fffffff);
}

int command_leave(int is_held)
{
	uint32_t left;

	uft_store(&has_left, 1u);
	/* The mode stays, because the rings are still drained. */
	ring_close();
	uft_store(&uft_rt.slice->on_cpus, 0u);
	uft_store(&uft_rt.slice->ring_flags,
		  uft_load(&uft_rt.slice->ring_flags) & UFT_RING_OVERWRITE /* GUARD(end_overwrites, 0) */);
	trace_leave();
	wake_waiting();
	patch_vouch(is_held);
	trace_events_off();
	left = patch_disarm_sites();
	/*
	 * Before the hooks of unwinders: an exception needs either true return addresses or these hooks. While tasks
	 * are stopped one of them may have the lock; then an earlier call has unhooked.
	 */
	if (!is_held)
		trace_unhook();	/* GUARD(leave_unhooks_first) */
	left += patch_disarm_hooks(); /* GUARD(hooks_disarmed) */
	patch_vouch(0);
	return (int)left;
}

/* Reads the order once, because any task of the program may write there. */
static int do_bits(struct uft_cmd *cmd, const struct uft_site_order *order, uint32_t n)
{
	uint64_t *word = (uint64_t *)((uint8_t *)cmd + UFT_CMD_PAYLOAD), nwords = ((uint64_t)n + 63) / 64;
	uint64_t bytes = nwords * sizeof(*word) + (order->form == UFT_SITES_FIRST ? n * sizeof(uint32_t) : 0);
	long ret;

	if (bytes > uft_rt.arena->cmd_bytes - UFT_CMD_PAYLOAD)
		return -E2BIG;
	ret = patch_bits(uft_load(&cmd->object), order, word, n, uft_load(&cmd->flags));
	return ret < 0 ? (int)ret : 0;
}

static int do_sites(struct uft_cmd *cmd, uint32_t n)
{
	struct uft_site_order order = *(const volatile struct uft_site_order *)&cmd->sites;

	if (order.form != UFT_SITES_LIST)
		return order.form <= UFT_SITES_FIRST ? do_bits(cmd, &order, n) : -EINVAL;
	return fits(n, sizeof(struct uft_patch)) ? do_patch(cmd, n) : -E2BIG;
}

/* The profile may count a site of the object as soon as it is armed. */
static int do_object(struct uft_cmd_object *o)
{
	int ret = patch_object(o);

	return ret ? ret : ring_profile_want(uft_load(&o->first_stub_id), uft_load(&o->nstubs));
}

static void object_gone(uint32_t object)
{
	trace_rows_gone(object);
	trace_events_gone(object);
	patch_calls_gone(object);
	patch_object_gone(object);
}

static int do_command(struct uft_cmd *cmd)
{
	void *payload = (uint8_t *)cmd + UFT_CMD_PAYLOAD;
	uint32_t n = uft_load(&cmd->n);
	int ret;

	switch (uft_load(&cmd->op)) {
	case UFT_CMD_NOP:
		return 0;
	case UFT_CMD_OBJECT:
		return do_object(payload);
	case UFT_CMD_PATCH:
		return do_sites(cmd, n);
	case UFT_CMD_CODE:
		return fits(n, sizeof(struct uft_code)) ? patch_code(uft_load(&cmd->object), payload, n, &cmd->done) :
			-E2BIG;
	case UFT_CMD_TRACER:
		trace_set_params(payload);
		patch_retarget();
		return 0;
	case UFT_CMD_HOOK:
		patch_vouch(!!(uft_load(&cmd->flags) & UFT_CMD_HELD));
		ret = fits(n, sizeof(struct uft_hook)) ? patch_hooks(payload, n) : -E2BIG;
		patch_vouch(0);
		return ret;
	case UFT_CMD_EVENTS:
		return fits(n, sizeof(struct uft_event_switch)) ? trace_events(uft_load(&cmd->object), payload, n) :
			-E2BIG;
	case UFT_CMD_RULES:
		return trace_rules(payload, n, uft_rt.arena->cmd_bytes - UFT_CMD_PAYLOAD);
	case UFT_CMD_TRACEPOINTS:
		return fits(n, sizeof(struct uft_call_switch)) ? patch_calls(uft_load(&cmd->object), payload, n) :
			-E2BIG;
	case UFT_CMD_DISARM:
	case UFT_CMD_AGENT_EXIT:
		trace_events_off();
		patch_disarm();
		return 0;
	case UFT_CMD_LEAVE:
		ret = command_leave(uft_load(&cmd->flags) & UFT_CMD_HELD);
		uft_store(&cmd->n, patch_stuck());
		return ret;
	case UFT_CMD_UNHOOK:
		return (int)trace_unhook();
	case UFT_CMD_MAPPINGS:
		n = (uint32_t)((uft_rt.arena->cmd_bytes - UFT_CMD_PAYLOAD) / sizeof(struct uft_owned));
		if (uft_load(&cmd->flags) & UFT_CMD_HELD)
			plat_limit_end();		/* the listed memory is unmapped next */
		ret = list_owned(payload, n, &n);
		uft_store(&cmd->n, n);
		return ret ? ret : list_mappings(payload, n);
	case UFT_CMD_ROWS:
		return (uint64_t)n * sizeof(struct uft_stack_row) + sizeof(struct uft_cmd_rows) <=
		       uft_rt.arena->cmd_bytes - UFT_CMD_PAYLOAD ? trace_rows(uft_load(&cmd->object), payload, n) :
		       -E2BIG;
	case UFT_CMD_OBJECT_GONE:
		object_gone(uft_load(&cmd->object));
		return 0;
	case UFT_CMD_OBJECT_ANEW:
		patch_object_anew(uft_load(&cmd->object));
		return 0;
	}
	return -EINVAL;
}

int command_serve(uint32_t seq)
{
	struct uft_slice *slice = uft_rt.slice;
	struct uft_cmd *cmd = (struct uft_cmd *)((uint8_t *)slice + uft_rt.arena->cmd_offset);
	int is_last = uft_load(&cmd->op) == UFT_CMD_AGENT_EXIT;

	uft_store(&slice->cmd_result, do_command(cmd));
	if (is_last)
		uft_store(&slice->agent_tid, 0u);
	uft_store_release(&slice->cmd_done, seq);
	plat_wake(&slice->cmd_done, 0x7fffffff);
	return is_last;
}

int agent_poll(void)
{
	uint32_t seq = uft_load_acquire(&uft_rt.slice->cmd_seq);

	if (seq == uft_load(&uft_rt.slice->cmd_done))
		return 0;
	command_serve(seq);
	return 1;
}
