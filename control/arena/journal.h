/* SPDX-License-Identifier: MIT */
/* journal.h - what a session is in the middle of, for its guard; theory in journal.c. Context: control. */
#ifndef UFT_CONTROL_JOURNAL_H
#define UFT_CONTROL_JOURNAL_H

#include "control/arena/arena.h"
#include "control/proc/procinfo.h"

/*
 * A target from whose memory ours is being taken, for who goes on if we are killed in the middle: its agent then sleeps
 * where we left it, the address of the last range that it unmapped in rdi.
 */
struct detach_notes {
	pid_t pid, agent;		/* pid 0: none */
	uint32_t slice, nown;
	uint64_t park;			/* remote_park(); 0 none */
	struct uft_owned own[4096];
};

/*
 * What the session is in the middle of: for its guard, should it be killed there. Memory that only the two
 * have. Written before the thing is done, cleared when it is undone or known by other means.
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
