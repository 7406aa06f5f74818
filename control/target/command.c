// SPDX-License-Identifier: MIT
/*
 * command.c - commands to the agent of a target (arena/channel.c), and a target whose agent does not answer
 *
 * An agent that does not answer within COMMAND_TIMEOUT_MS (stopped by SIGSTOP to all, killed), or FROZEN_MS
 * if its control group is frozen, makes its target stuck: it gets no more commands, since the area may still
 * be read, and what became of the last one is not known; the user is told once. When it answers after all it
 * is brought up to date (unresponsive.c); when it is to be left it is asked for that last answer again
 * (command_is_unanswered). What the agent writes back is data from a target: indices into our own tables are never
 * taken from it.
 */
#include "control/proc/cgroup.h"
#include "control/target/target.h"

#include <errno.h>

#define FROZEN_MS	1000	/* all others wait meanwhile */
#define AGAIN_MS	2000	/* for one that may have come to itself */

int command_post(struct uft_session *s, struct target *t)
{
	if (t->is_over || t->is_stuck || !t->has_agent)
		return -ESRCH;
	channel_post(&s->arena, t->slice);
	return 0;
}

static int gives_up(const void *arg, uint64_t waited_ns)
{
	const struct target *t = arg;
	char group[200];

	if (target_agent_ended(t) || !target_is_running(t))
		return -ESRCH;
	return waited_ns > FROZEN_MS * 1000000ull && cgroup_is_frozen(t->pid, group, sizeof(group));
}

/*
 * 1: it was carried out; 0: not within @ms, or soon if the target is frozen; -ESRCH: the agent or its process
 * has ended.
 */
static int await_answer(const struct uft_session *s, const struct target *t, uint32_t ms)
{
	return channel_await(&s->arena, t->slice, ms, gives_up, t);
}

int command_wait(struct uft_session *s, struct target *t)
{
	int ret = await_answer(s, t, s->command_ms);
	char group[200];
	int is_frozen;

	if (ret > 0)
		return arena_slice(&s->arena, t->slice)->cmd_result;
	if (ret < 0) {
		if (target_agent_ended(t))
			t->has_agent = 0;
		return ret;
	}
	unresponsive_begin(s, t);
	is_frozen = cgroup_is_frozen(t->pid, group, sizeof(group));
	session_warn(s, "process %d does not answer%s: its tracing cannot be changed until it does (%s)", t->pid,
		     is_frozen ? ", as it is frozen" : "", is_frozen ? "thaw its cgroup" : "is it stopped, or short of CPU time?");
	return -ETIMEDOUT;
}

int command_is_unanswered(const struct uft_session *s, const struct target *t)
{
	return t->is_stuck && await_answer(s, t, AGAIN_MS) == 0;
}

struct uft_cmd *command_begin(struct uft_session *s, struct target *t, uint32_t op, uint32_t n, uint32_t object)
{
	return channel_begin(&s->arena, t->slice, op, n, object);
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

int target_restore_code(struct uft_session *s, struct target *t)
{
	int left = 0;

	if (!t->is_put_back) {
		left = command_run(s, t, UFT_CMD_LEAVE);
		t->is_put_back = 1;
	}
	if (left >= 0)
		left += command_run(s, t, UFT_CMD_UNHOOK) < 0;
	return left;
}
