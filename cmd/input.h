/* SPDX-License-Identifier: MIT */
/*
 * input.h - open the recording that a command reads, and close it
 *
 * Somebody may cut off or overwrite a recording while it is read. cmd_input_end(), which main() calls last, makes the
 * command fail then, whatever it has printed.
 */
#ifndef UFT_CMD_INPUT_H
#define UFT_CMD_INPUT_H

#include "stream/stream.h"

#define CMD_DEFAULT_FILE	"trace.uft"

/* Is @path a file that can be a recording at all? 0, or as below. */
int cmd_input_check(const char *path, struct uft_error *err);
/* Opens @path (NULL: CMD_DEFAULT_FILE, with advice if there is none). 0, or negative errno and a sentence in
 * @err that names the file and, for other tools' formats, the tool. */
int cmd_input_open(const char *path, const struct uft_select *sel, struct uft_stream **out, struct uft_error *err);
/* Closes what cmd_input_open() opened. 0, or -ESTALE: it has changed, which cmd_input_end() will say. */
int cmd_input_close(struct uft_stream *st);
/*
 * Returns @status of the command, and CMD_FAILED in place of 0, after a message, if a recording has changed while it
 * was read.
 */
int cmd_input_end(const char *command, int status);

/*
 * Moves @st, which was opened of @path with @sel and not read yet, to the begin of the selected time, by the index
 * beside a large recording; makes a missing index. If that is not possible, the stream stays at its start: slower, but
 * no error.
 */
void cmd_input_seek(const char *path, const struct uft_select *sel, struct uft_stream *st);

#endif
