/* SPDX-License-Identifier: MIT */
/* selected.h - explain why a selection gave no events */
#ifndef UFT_CMD_SELECTED_H
#define UFT_CMD_SELECTED_H

#include "stream/stream.h"

/*
 * Call it after @st was read, which was opened of @path (NULL: the default) with the selection @sel. If there was no
 * event, prints a line on standard error: the kind of selection that excludes all, and what the recording has, or that
 * it has no events at all. Returns 1 if the line was printed.
 */
int cmd_selected_note(const char *command, const char *path, struct uft_stream *st, const struct uft_select *sel);

#endif
