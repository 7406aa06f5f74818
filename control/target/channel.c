// SPDX-License-Identifier: MIT
/*
 * channel.c - what agents are told: one command at a time through the slice's command area
 *
 * An agent that does not answer within COMMAND_TIMEOUT_MS (stopped by SIGSTOP to all, killed), or FROZEN_MS if its control
 * group is frozen, makes its target stuck: it gets no more commands, since the area may still be read, and what became of the
 * last one is not known; the user is told once. When it answers after all it is brought up to date (unresponsive.c); when it is to be left
 * it is asked for that last answer again (command_is_stuck).
 * What the agent writes back is data from a target: indices into our own tables are never taken from it.
 */
#include "control/proc/cgroup.h"
#include "control/target/target.h"

#include <errno.h>
#include <time.h>

#define FROZEN_MS	1000	/* all others wait meanwhile */
#define AGAIN_MS	2000	/* for one that may have come to itself */

void command_post_slice(struct uft_slice *sl)
{
	__atomic_store_n(&sl->cmd_seq, __atomic_load_n(&sl->cmd_seq, __ATOMIC_RELAXED) + 1, __ATOMIC_RELEASE);
	futex(&sl->cmd_seq, 1 /* FUTEX_WAKE */, INT32_MAX, NULL);
}

int command_post(struct uft_session *s, struct target *t)
{
	struct uft_slice *sl = arena_slice(&s->arena, t->slice);

	if (t->is_over || t->is_stuck || !t->has_agent)
		return -ESRCH;
	command_post_slice(sl);
	return 0;
}

/* 1: it was carried out; 0: not within @ms, or soon if the target is frozen; -ESRCH: nobody is there any more. */
static int await_answer(const struct uft_session *s, const struct target *t, uint32_t ms)
{
	struct uft_slice *sl = arena_slice(&s->arena, t->slice);
	uint32_t seq = __atomic_load_n(&sl->cmd_seq, __ATOMIC_RELAXED);
	uint64_t now = session_now_ns(), bearable = now + FROZEN_MS * 1000000ull, deadline = now + ms * 1000000ull;
	char group[200];

	for (;;) {
		struct timespec part = { .tv_nsec = 20000000 };
		uint32_t done = __atomic_load_n(&sl->cmd_done, __ATOMIC_ACQUIRE);

		if (done == seq)
			return 1;
		/* Asked before the first sleep: one that ended since its last command would cost all others a part of it. */
		if (target_agent_ended(t) || !target_is_running(t))
			return __atomic_load_n(&sl->cmd_done, __ATOMIC_ACQUIRE) == seq ? 1 : -ESRCH;
		now = session_now_ns();
		if (now > deadline || (now > bearable && cgroup_is_frozen(t->pid, group, sizeof(group))))
			return 0;
		futex(&sl->cmd_done, 0 /* FUTEX_WAIT */, done, &part);
	}
}

int command_wait(struct uft_session *s, struct target *t)
{
	int ret = await_answer(s, t, s->command_ms);
	char group[200];

	if (ret > 0)
		return arena_slice(&s->arena, t->slice)->cmd_result;
	if (ret < 0) {
		if (target_agent_ended(t))
			t->has_agent = 0;
		return ret;
	}
	stuck_begin(s, t);
	session_warn(s, "process %d does not answer%s: it is left as it is", t->pid,
		     cgroup_is_frozen(t->pid, group, sizeof(group)) ? ", as it is frozen; uft detach leaves it when it is thawed" : "");
	return -ETIMEDOUT;
}

int command_is_stuck(const struct uft_session *s, const struct target *t)
{
	return t->is_stuck && await_answer(s, t, AGAIN_MS) == 0;
}

struct uft_cmd *command_begin(struct uft_session *s, struct target *t, uint32_t op, uint32_t n, uint32_t object)
{
	struct uft_cmd *c = arena_cmd(&s->arena, t->slice);

	*c = (struct uft_cmd){ .op = op, .n = n, .object = object };
	return c;
}

void *command_payload(struct uft_cmd *c)
{
	return (uint8_t *)c + UFT_CMD_PAYLOAD;
}

int command_run_on(struct uft_session *s, struct target *t, uint32_t op, uint32_t object)
{
	int ret;

	if (t->is_over || t->is_stuck || !t->has_agent)
		return -ESRCH;
	command_begin(s, t, op, 0, object);
	ret = command_post(s, t);
	return ret ? ret : command_wait(s, t);
}

int command_run(struct uft_session *s, struct target *t, uint32_t op)
{
	return command_run_on(s, t, op, 0);
}
