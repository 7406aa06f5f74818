// SPDX-License-Identifier: MIT
/*
 * journal.c - notes of a session's unfinished work, in memory that its guard maps as well
 *
 * It is written before the thing is done, and cleared when that is undone or known by other means. If the
 * session is killed, its guard reads it and finishes what was begun (detach/guard.c).
 */
#include "control/arena/journal.h"

#include <sys/mman.h>

struct guard_notes *guard_notes(void)
{
	static struct guard_notes alone;	/* without shared memory; no guard reads it */
	static struct guard_notes *notes;

	if (!notes)
		notes = mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (notes == MAP_FAILED)
		notes = &alone;
	return notes;
}

void guard_note_hurried(pid_t tid, int nice)
{
	struct guard_notes *n = guard_notes();
	uint32_t i = n->nhurried;

	if (i == sizeof(n->hurried) / sizeof(n->hurried[0]))
		return;
	n->hurried[i].tid = tid;
	n->hurried[i].nice = nice;
	__atomic_store_n(&n->nhurried, i + 1, __ATOMIC_RELEASE);
}

void guard_forget_hurried(pid_t tid)
{
	struct guard_notes *n = guard_notes();

	for (uint32_t i = 0; i < n->nhurried; i++)
		if (n->hurried[i].tid == tid) {
			n->hurried[i] = n->hurried[n->nhurried - 1];
			__atomic_store_n(&n->nhurried, n->nhurried - 1, __ATOMIC_RELEASE);
			return;
		}
}
