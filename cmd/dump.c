/* SPDX-License-Identifier: MIT */
/*
 * dump.c - the commands dump and cpudump print on the standard error of who has the session
 *
 * By the session's own thread: while it waits for a reader nobody empties the rings. So a reader has a moment for each part, and
 * the rest of the text is dropped if he does not use it.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "cmd/cmd.h"

#define PATIENCE_MS	1000
#define PART_BYTES	4096u	/* a pipe that can be written to takes so much without waiting */

void cmd_dump(void *arg, const char *p, size_t n)
{
	static int is_stuck;	/* since the last part: the next does not wait */

	(void)arg;
	while (n) {
		struct pollfd out = { .fd = STDERR_FILENO, .events = POLLOUT };
		int ready = poll(&out, 1, is_stuck ? 0 : PATIENCE_MS);
		ssize_t done;

		if (ready < 0 && errno == EINTR)
			continue;
		is_stuck = ready <= 0;
		done = is_stuck ? -1 : write(STDERR_FILENO, p, n < PART_BYTES ? n : PART_BYTES);
		if (done < 0 && !is_stuck && errno == EINTR)
			continue;
		if (done <= 0)
			return;
		p += done;
		n -= (size_t)done;
	}
}
