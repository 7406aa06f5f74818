/* SPDX-License-Identifier: MIT */
/* export.h - writing an export: uft export, and at the end of uft record -o FILE.dat */
#ifndef UFT_CMD_EXPORT_H
#define UFT_CMD_EXPORT_H

#include <signal.h>

#include "output/output.h"

/*
 * Exports @st, the recording @input, to @output. Shows progress on a terminal, unless @is_quiet. A signal that ends us
 * does so at once; the incomplete output is removed, and @last is printed (NULL: nothing). @opts may be NULL. 0 or
 * -errno.
 */
int cmd_export_write(const struct uft_export *format, struct uft_stream *st, const char *input, const char *output,
		     const char *who,
		     int is_quiet, const char *last, const struct uft_export_opts *opts, struct uft_error *err);

/*
 * Sets @handler for signals that end us. Ignored signals (nohup, background jobs of scripts) stay ignored. A limit of
 * file sizes becomes an error of the write.
 */
#define CMD_NENDS	4
void cmd_watch_ends(void (*handler)(int sig), struct sigaction old[CMD_NENDS]);

#endif
