/* SPDX-License-Identifier: MIT */
/*
 * settings.c - functions of one instance's settings alone
 */
#include "tree/core/tree_internal.h"

int pids_have(const struct pids *list, uint32_t pid)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->pid[i] == pid)
			return 1;
	return 0;
}

int event_pids_want(const struct settings *set, uint32_t pid, uint32_t tid)
{
	const struct pids *only = &set->pids[PIDS_EVENT_ONLY], *not = &set->pids[PIDS_EVENT_NOT];

	return (!only->n || pids_have(only, pid) || pids_have(only, tid)) && !pids_have(not, pid) &&
	       !pids_have(not, tid);
}

struct uft_event_tasks event_tasks(const struct settings *set)
{
	const struct pids *only = &set->pids[PIDS_EVENT_ONLY], *not = &set->pids[PIDS_EVENT_NOT];

	if (event_fork_is_asked(set) || event_fork_counts(set))
		return (struct uft_event_tasks){ 0 };
	return (struct uft_event_tasks){ only->pid, not->pid, only->n, not->n };
}

