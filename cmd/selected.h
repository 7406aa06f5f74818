/* SPDX-License-Identifier: MIT */
/* selected.h - an answer that is empty because of what was selected says so */
#ifndef UFT_CMD_SELECTED_H
#define UFT_CMD_SELECTED_H

#include "stream/stream.h"

/*
 * After @st, which was opened of @path (NULL: the default) with a selection, @sel, was read: one line on standard
 * error if no event was in it: which kind of selection leaves nothing, and what there is, or that the recording has
 * no events at all. 1: it was said.
 */
int cmd_selected_note(const char *command, const char *path, struct uft_stream *st, const struct uft_select *sel);

#endif
