/* SPDX-License-Identifier: MIT */
/* progress.h - progress of reading a recording: a line on the terminal of stderr, from the first second on */
#ifndef UFT_CMD_PROGRESS_H
#define UFT_CMD_PROGRESS_H

#include "stream/stream.h"

/*
 * @who: "uft report"; @bytes: of the recording, to show bytes; 0: to show percent. Does nothing if stderr is no
 * terminal.
 */
void progress_begin(const char *who, struct uft_stream *st, uint64_t bytes);
/* The same of work that counts its bytes: *@done of @bytes. */
void progress_begin_bytes(const char *who, const volatile uint64_t *done, uint64_t bytes);
/* Clears the line. A signal handler that ends the process may call it. */
void progress_end(void);

#endif
