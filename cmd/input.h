/* SPDX-License-Identifier: MIT */
/* input.h - open the recording that a command reads */
#ifndef UFT_CMD_INPUT_H
#define UFT_CMD_INPUT_H

#include "stream/stream.h"

#define CMD_DEFAULT_FILE	"trace.uft"

/* Is @path a file that can be a recording at all? 0, or as below. */
int cmd_input_check(const char *path, struct uft_error *err);
/* Opens @path (NULL: CMD_DEFAULT_FILE, with advice if there is none). 0, or negative errno and a sentence in
 * @err that names the file and, for other tools' formats, the tool. */
int cmd_input_open(const char *path, const struct uft_select *sel, struct uft_stream **out, struct uft_error *err);

/*
 * Moves @st, which was opened of @path with @sel and not read yet, to the begin of the selected time, by the index
 * beside a large recording; makes a missing index. If that is not possible, the stream stays at its start: slower, but
 * no error.
 */
void cmd_input_seek(const char *path, const struct uft_select *sel, struct uft_stream *st);

#endif
