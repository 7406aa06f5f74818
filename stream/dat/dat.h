/* SPDX-License-Identifier: MIT */
/*
 * dat.h - convert trace.dat files (of trace-cmd and others) to recordings
 *
 * A trace.dat is read once, front to back, and written as a .uft file (stream/wire/uft_file.h) without a name. All
 * readers of recordings then read that file: reports, exports, filters, indices, uft view. Theory: import.c. Context:
 * control.
 */
#ifndef UFT_STREAM_DAT_H
#define UFT_STREAM_DAT_H

#include "symbol/error.h"

/* 1: the open file begins like a trace.dat. */
int dat_is_file(int fd);

/**
 * dat_import - write the content of a trace.dat file as a recording
 * @fd:   the open trace.dat
 * @path: its name, for messages; the recording is made in its directory, or in $TMPDIR
 * @out: a descriptor of the recording, which has no other name
 *
 * Returns 0, or with a message: -EBADMSG (the file makes no sense), -EPROTONOSUPPORT (a form that is not
 * read), -ESTALE (somebody wrote to it meanwhile), -ENOMEM, or what reading and writing returned.
 */
int dat_import(int fd, const char *path, int *out, struct uft_error *err);

#endif
