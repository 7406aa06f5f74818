// SPDX-License-Identifier: MIT
/*
 * share.c - the part of the CPUs that a kernel session has
 *
 * Where the kernel groups tasks by their sessions (sched_autogroup(7)) a priority counts only inside of the group. A thread that
 * stands for us, in a terminal beside busy others, gets to its stop and goes on again when its group's turn comes, whatever its
 * own priority is; and so do we. So while threads stand both groups have the highest, for milliseconds.
 *
 * What is borrowed is given back, by the guard if we are killed. So our own group is meant by its leader, who stays when we are gone;
 * without one it is not touched. Nor is one that is raised already: somebody else who records does that, and gives back what
 * he found. Without CAP_SYS_ADMIN the kernel takes a change only each tenth of a second, and the way back would come too late.
 */
#include "control/share.h"

#include "control/guard.h"

#include <stdio.h>
#include <unistd.h>

#define HIGHEST		(-20)
#define SYS_ADMIN_BIT	(1l << 21)

int share_set(pid_t pid, int nice)
{
	char path[64];
	FILE *f;
	int ret;

	snprintf(path, sizeof(path), "/proc/%d/autogroup", pid);
	f = fopen(path, "we");
	if (!f)
		return -1;
	ret = fprintf(f, "%d", nice) < 0 ? -1 : 0;
	return fclose(f) ? -1 : ret;
}

static int read_group(pid_t pid, unsigned long *group, int *nice)
{
	char text[64];

	return peek_file(pid, "autogroup", text, sizeof(text)) > 0 && sscanf(text, "/autogroup-%lu nice %d", group, nice) == 2;
}

static void raise_group(pid_t pid, unsigned long *group)
{
	struct share_notes *s = &guard_notes()->share;
	unsigned long other = *group;
	int nice;

	if (pid <= 0 || !read_group(pid, group, &nice) || *group == other || nice == HIGHEST)
		return;
	s->group[s->n].pid = pid;
	s->group[s->n].nice = nice;
	__atomic_store_n(&s->n, s->n + 1, __ATOMIC_RELEASE);
	if (share_set(pid, HIGHEST))
		s->n--;
}

void share_raise(pid_t pid)
{
	unsigned long group = 0;

	if (guard_notes()->share.n || !(peek_status(getpid(), "CapEff", 16) & SYS_ADMIN_BIT))
		return;
	raise_group(pid, &group);
	raise_group(getsid(0), &group);
}

void share_give_back_noted(const struct share_notes *s)
{
	for (int i = 0; i < s->n && i < 2; i++)
		share_set(s->group[i].pid, s->group[i].nice);
}

void share_give_back(void)
{
	share_give_back_noted(&guard_notes()->share);
	guard_notes()->share.n = 0;
}
