/* SPDX-License-Identifier: MIT */
/* status.h - the status line of a running recording, and the summary at its end */
#ifndef UFT_CMD_STATUS_H
#define UFT_CMD_STATUS_H

#include <stdint.h>

#include "stream/file/writer.h"

struct status {
	int is_quiet;		/* no status line, no summary; warnings and errors are still printed */
	int is_live;		/* stderr is a terminal: one line there is rewritten */
	int is_shown;		/* the line is on the screen */
	uint64_t last_ns, last_events;
};

enum status_line {
	STATUS_UNSHARED,	/* unless our standard output, which the program has, is the same terminal */
	STATUS_NEVER,
	STATUS_ALWAYS,
};
void status_begin(struct status *s, int is_quiet, enum status_line line);
/* Rewrites the line, a few times a second at most. */
void status_update(struct status *s, const struct uft_writer_stats *now);
/* Clears the line, so that other text can be printed. */
void status_clear(struct status *s);
/* A line of its own. */
void status_say(struct status *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* absent.c: warns of each selecting pattern whose object (GLOB:mod:OBJECT) is not in the recording @path. */
struct cmd_list;
void cmd_warn_absent(const char *command, const char *path, struct status *status,
		     const struct cmd_list *const *lists, size_t nlists);
/* The last line: what was recorded (@total->events of @unit), and where. */
void status_summary(struct status *s, const struct uft_writer_stats *total, const char *unit, int is_exact,
		    const char *path);

#endif
