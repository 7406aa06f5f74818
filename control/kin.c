// SPDX-License-Identifier: MIT
/*
 * kin.c - the option function-fork: who is on a list of pids because the process that made it is
 *
 * A fork child's runtime knows by itself (runtime/trace/params.c), from its first call on. But a program that is executed has a new
 * one, and so has whoever is told anew: so the session notes it when a process or program becomes a target. What was noted while
 * the lists had another number does not count any more.
 */
#include "control/inspect.h"
#include "control/internal.h"

#include <stdlib.h>

static struct kin *find(const struct uft_session *s, pid_t pid)
{
	for (size_t i = 0; i < s->nkin; i++)
		if (s->kin[i].pid == pid)
			return &s->kin[i];
	return NULL;
}

uint32_t kin_lists(const struct uft_session *s, pid_t pid)
{
	const struct spec *sp = s->spec;
	const struct kin *k;

	if (!sp || !(sp->params.has_pids & UFT_PIDS_FORK) || sp->params.kin != s->kin_number)
		return 0;
	k = find(s, pid);
	return k ? k->lists : 0;
}

static int is_in(const uint32_t *pids, size_t n, pid_t pid)
{
	for (size_t i = 0; i < n; i++)
		if (pids[i] == (uint32_t)pid)
			return 1;
	return 0;
}

/* All that name it, and those of its own parent. */
static uint32_t lists_of(const struct uft_session *s, pid_t pid)
{
	const struct uft_tracer_params *p = &s->spec->params;

	return kin_lists(s, pid) | (is_in(p->pids, p->npids, pid) ? UFT_PIDS_ONLY : 0) |
	       (is_in(p->pids + p->npids, p->nnot_pids, pid) ? UFT_PIDS_NOT : 0);
}

void kin_note(struct uft_session *s, pid_t pid, pid_t ppid)
{
	struct kin *k, *grown;
	uint32_t lists;

	if (!s->spec || !(s->spec->params.has_pids & UFT_PIDS_FORK))
		return;
	if (s->kin_number != s->spec->params.kin) {
		s->kin_number = s->spec->params.kin;
		s->nkin = 0;
	}
	k = find(s, pid);
	lists = lists_of(s, ppid);
	if (k && target_by_pid(s, pid))		/* of what it executes, as of itself */
		lists |= k->lists;
	if (!k && !lists)
		return;
	if (!k) {
		grown = realloc(s->kin, (s->nkin + 1) * sizeof(*grown));
		if (!grown)
			return;
		s->kin = grown;
		k = &s->kin[s->nkin++];
	}
	*k = (struct kin){ pid, lists };
}

void uft_session_kin(struct uft_session *s, int is_not, void (*fn)(void *arg, pid_t pid), void *arg)
{
	for (size_t i = 0; i < s->nkin; i++)
		if (kin_lists(s, s->kin[i].pid) & (is_not ? UFT_PIDS_NOT : UFT_PIDS_ONLY) && target_by_pid(s, s->kin[i].pid))
			fn(arg, s->kin[i].pid);
}
