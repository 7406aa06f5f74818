/* SPDX-License-Identifier: MIT */
/* nameless.h - advise how functions that a report shows by their address get names */
#ifndef UFT_CMD_NAMELESS_H
#define UFT_CMD_NAMELESS_H

#include <stdio.h>

#include "stream/stream.h"

/*
 * Prints a comment line about the object with most functions without a name; prints nothing if all have names. The line
 * names the Debian package of debug symbols if dpkg knows the file. Makes no network request. 0 or -EIO.
 */
int cmd_nameless_put(struct uft_stream *st, FILE *out);

#endif
