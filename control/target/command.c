// SPDX-License-Identifier: MIT
/*
 * command.c - commands to the agent of a target (arena/channel.c), and a target whose agent does not answer
 *
 * The session waits COMMAND_TIMEOUT_MS for an answer, twice that if the agent gets no CPU, and FROZEN_MS if its
 * control group is frozen. An agent that does not answer in time (SIGSTOP stopped all tasks, or it was killed) makes
 * its target stuck. A stuck target gets no more commands, because the agent may still read the area, and the result of
 * the last command is not known; the user is told once. When the agent answers after all, the session brings it up to
 * date (unresponsive.c); a detach asks for that last answer again (command_is_unanswered). What the agent writes back
 * is data from a target: indices into our own tables are never taken from it.
 */
#include "control/proc/cgroup.h"
#include "control/target/target.h"

#include <errno.h>
#include <stdio.h>

#define FROZEN_MS	1000	/* all others wait meanwhile */
#define AGAIN_MS	2000	/* for one that may have come to itself */
#define STARVED_MS	500	/* a part of the time in which one may wait for a CPU instead */

int command_post(struct uft_session *s, struct target *t)
{
	if (!target_takes_commands(t))
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

/* For how long its agent has waited for a CPU, by the kernel's account. */
static uint64_t starved_ns(const struct target *t)
{
	pid_t agent = target_agent_pid(t);

	return agent > 0 ? proc_starved_ns(agent) : 0;
}

/*
 * As await_answer(), in the time that an agent has. An agent that gets no CPU is waited for as long again, and what it
 * waited for one is not its fault.
 */
static int await_in_time(const struct uft_session *s, const struct target *t)
{
	const uint64_t since = now_ns();
	const uint32_t ms = (uint32_t)(patience_ns(s->command_ms) / 1000000), soon = ms < SLOW_MS ? ms : SLOW_MS;
	int ret = await_answer(s, t, soon);
	uint64_t begin, before, now;
	char group[200];

	if (ret)
		return ret;
	begin = starved_ns(t);
	ret = await_answer(s, t, ms - soon);
	now = starved_ns(t);
	for (uint32_t more = 0; !ret && more < ms && ms > STARVED_MS && !cgroup_is_frozen(t->pid, group, sizeof(group));
	     more += STARVED_MS) {
		before = now;
		ret = await_answer(s, t, STARVED_MS);
		now = starved_ns(t);
		if (now - before < STARVED_MS * 1000000ull / 2)
			break;
	}
	patience_use(since + (now > begin ? now - begin : 0), !ret);
	return ret;
}

int command_wait(struct uft_session *s, struct target *t)
{
	int ret = await_in_time(s, t);
	char group[200];
	int is_frozen;

	if (ret > 0)
		return command_result(&s->arena, t->slice);
	if (ret < 0) {
		if (target_agent_ended(t))
			t->has_agent = 0;
		else
			/* its process is over, and the agent may read on for a moment */
			unresponsive_begin(s, t);
		return ret;
	}
	unresponsive_begin(s, t);
	is_frozen = cgroup_is_frozen(t->pid, group, sizeof(group));
	session_warn_of(s, t->slice, "process %d does not answer%s: its tracing cannot be changed until it does (%s)",
			t->pid,
		     is_frozen ? ", as it is frozen" : "", is_frozen ? "thaw its cgroup" :
		     "is it stopped, or short of CPU time?");
	return -ETIMEDOUT;
}

int command_is_unanswered(struct uft_session *s, const struct target *t)
{
	const uint64_t since = now_ns();
	int is_stuck = t->is_stuck && await_answer(s, t, (uint32_t)(patience_ns(AGAIN_MS) / 1000000)) == 0;

	patience_use(since, is_stuck);
	return is_stuck;
}

struct uft_cmd uft_shared *command_begin(struct uft_session *s, struct target *t, uint32_t op, uint32_t n,
					 uint32_t object)
{
	return channel_begin(&s->arena, t->slice, op, n, object);
}

size_t command_room(struct uft_session *s, const struct target *t, size_t bytes)
{
	const size_t most = s->arena.map->cmd_bytes - UFT_CMD_PAYLOAD;
	const uintptr_t page = UFT_PAGE,
			at = (uintptr_t)shared_address(channel_payload(arena_cmd(&s->arena, t->slice)));
	const uintptr_t from = (at + CMD_ROOM) & -page;

	bytes = bytes < most ? bytes : most;
	if (bytes <= CMD_ROOM /* GUARD(command_pages, 1) */ ||
	    !arena_reserve((void *)from, ((at + bytes + page - 1) & -page) - from))
		return bytes;
	return CMD_ROOM;
}

int command_send(struct uft_session *s, struct target *t)
{
	int ret = command_post(s, t);

	return ret ? ret : command_wait(s, t);
}

int command_run_on(struct uft_session *s, struct target *t, uint32_t op, uint32_t object)
{
	if (!target_takes_commands(t))
		return -ESRCH;
	command_begin(s, t, op, 0, object);
	return command_send(s, t);
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
