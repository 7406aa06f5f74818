/* SPDX-License-Identifier: MIT */
/* nameless.h - functions that a report shows by their address: what would give them names */
#ifndef UFT_CMD_NAMELESS_H
#define UFT_CMD_NAMELESS_H

#include <stdio.h>

#include "stream/stream.h"

/*
 * A comment line about the object that has the most of them, and nothing where all have names. It names the Debian
 * package of debug symbols where dpkg knows the file; nothing asks the network. 0 or -EIO.
 */
int cmd_nameless_put(struct uft_stream *st, FILE *out);

#endif
