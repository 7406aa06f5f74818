/* SPDX-License-Identifier: MIT */
/* export.h - writing an export: uft export, and at the end of uft record -o FILE.dat */
#ifndef UFT_CMD_EXPORT_H
#define UFT_CMD_EXPORT_H

#include <signal.h>

#include "output/output.h"

/*
 * @st, the recording @input, as @output. On a terminal it says how far it is, unless @is_quiet. A signal that
 * asks us to end does so at once, by that signal, and what is not complete is removed; @last: what is said
 * then, NULL nothing. @opts may be NULL. 0 or -errno.
 */
int cmd_export_write(const struct uft_export *format, struct uft_stream *st, const char *input, const char *output,
		     const char *who,
		     int is_quiet, const char *last, const struct uft_export_opts *opts, struct uft_error *err);

/*
 * Signals that ask us to end get @handler; one that is ignored (nohup, background jobs of scripts) stays so. A limit of
 * file sizes is an error of the write.
 */
#define CMD_NENDS	4
void cmd_watch_ends(void (*handler)(int sig), struct sigaction old[CMD_NENDS]);

#endif
