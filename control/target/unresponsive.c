// SPDX-License-Identifier: MIT
/*
 * unresponsive.c - targets whose agents do not answer in time, until they do after all
 *
 *	live -> stuck (command_wait(): stopped, frozen, starved) -> its last command is done -> live, everything
 *	is sent anew
 *
 * A process that ends before its agent has answered counts as stuck, too, until the session removes the target.
 *
 * Until the agent has finished that command, nothing is written to the command area, since the agent may still read
 * it. The answer is not used: the sites of the command are not known any more, and other ones may be wanted by
 * then. So each site that the command may have armed counts as touched (IDLE), and then everything is sent with force,
 * as to a fork child.
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
