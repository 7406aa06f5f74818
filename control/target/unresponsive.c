// SPDX-License-Identifier: MIT
/*
 * unresponsive.c - a target whose agent did not answer in time, and what is done when it does after all
 *
 *	live -> stuck (command_wait(): stopped, frozen, starved) -> its last command is done -> live, all of it
 *	told anew
 *
 * A process that is over before its agent has answered counts as stuck, too, until the session parts with it.
 *
 * Until the agent says that it is through with that command nothing is written to the area, since it may
 * still be read. What became of it is not asked for: whose sites it was about is not known any more, and by
 * then other ones may be wanted. So each site that may have been armed unseen counts as touched (IDLE: what
 * is wanted of it differs, or is said once more), and then everything is sent with force, as to a fork child.
 */
#include "control/target/target.h"

/* Not those of an object that the agent does not know: no list of such a one was ever sent. */
static void mark_unknown(struct target *t)
{
	for (uint32_t i = 0; i < t->nobj && i < t->space->nobj; i++) {
		const uint16_t *want = t->space->obj[i].want;

		for (uint32_t k = 0; t->obj[i].is_sent && want && k < t->obj[i].nstate; k++)
			if (want[k] != WANT_NOT && t->obj[i].state[k] == WANT_NOT)
				site_note_state(t, i, k, UFT_IDLE);
	}
}

void unresponsive_begin(struct uft_session *s, struct target *t)
{
	t->is_stuck = 1;
	t->stuck_seq = SHARED_LOAD(&arena_slice(&s->arena, t->slice)->cmd_seq);
	mark_unknown(t);
}

int unresponsive_ends(struct uft_session *s, struct target *t)
{
	const struct uft_slice uft_shared *sl = arena_slice(&s->arena, t->slice);

	/* Another number: it was asked to leave since, and may have done so. */
	if (!t->is_stuck || t->is_over || t->remote || !t->has_agent || SHARED_LOAD(&sl->cmd_seq) != t->stuck_seq ||
	    SHARED_LOAD_ACQUIRE(&sl->cmd_done) != t->stuck_seq || target_agent_ended(t) || !target_is_running(t))
		return 0;
	t->is_stuck = 0;
	session_warn_of(s, t->slice, "process %d answers again", t->pid);
	return 1;
}
