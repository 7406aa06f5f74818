/* SPDX-License-Identifier: MIT */
/* journal.h - the unfinished work of a session, for its guard; theory in journal.c. Context: control. */
#ifndef UFT_CONTROL_JOURNAL_H
#define UFT_CONTROL_JOURNAL_H

#include "control/proc/procinfo.h"

/*
 * A target whose agent is unmapping our memory, for the guard that continues if we are killed meanwhile: the agent then
 * sleeps, with the address of the last range that it unmapped in rdi.
 */
struct detach_notes {
	pid_t pid, agent;		/* pid 0: none */
	uint32_t slice, nown;
	uint64_t park;			/* remote_park(); 0 none */
	struct uft_owned own[4096];
};

/*
 * The unfinished work of the session, for its guard, in memory that only these two map. A note is written before the
 * work begins, and cleared when it is undone or known by other means.
 */
struct guard_notes {
	struct procinfo attach;		/* ->pid 0: no attach is under way */
	uint32_t slice;
	uint64_t at;			/* where the blob is in it; 0 nowhere yet */
	uint64_t way_back, way_back_bytes;	/* escape_code.c's code in it; 0 none */
	uint32_t nhurried;		/* tasks that have a better priority for a moment */
	struct { pid_t tid; int nice; } hurried[256];
	struct detach_notes leaving;
};
struct guard_notes *guard_notes(void);	/* the process's own; never NULL */
void guard_note_hurried(pid_t tid, int nice);
void guard_forget_hurried(pid_t tid);

#endif
