/* SPDX-License-Identifier: MIT */
/*
 * settings.c - what the settings of an instance say by themselves
 */
#include "tree/core/tree_internal.h"

int pids_have(const struct pids *list, uint32_t pid)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->pid[i] == pid)
			return 1;
	return 0;
}

/* @first: the list of those that are let in; the next one is of those that are not. */
static int want(const struct pids *first, uint32_t pid, uint32_t tid)
{
	const struct pids *only = first, *not = first + 1;

	return (!only->n || pids_have(only, pid) || pids_have(only, tid)) && !pids_have(not, pid) &&
	       !pids_have(not, tid);
}

int pids_want(const struct settings *set, uint32_t pid, uint32_t tid)
{
	return want(&set->pids[PIDS_ONLY], pid, tid);
}

int event_pids_want(const struct settings *set, uint32_t pid, uint32_t tid)
{
	return want(&set->pids[PIDS_EVENT_ONLY], pid, tid);
}

int event_fork_is_asked(const struct settings *set)
{
	return set->options & OPT_BIT(OPT_EVENT_FORK) && (set->pids[PIDS_EVENT_ONLY].n || set->pids[PIDS_EVENT_NOT].n);
}

int event_fork_counts(const struct settings *set)
{
	return set->has_event_fork && (set->pids[PIDS_EVENT_ONLY].n || set->pids[PIDS_EVENT_NOT].n);
}
