/* SPDX-License-Identifier: MIT */
/* cmdline.h - command lines as a shell takes them, for the file of a recording */
#ifndef UFT_CMD_CMDLINE_H
#define UFT_CMD_CMDLINE_H

#include <stddef.h>

#include "cmd/targets.h"

/* Both cut the text off where @buf ends. */
void cmd_cmdline_of_args(char *const argv[], char *buf, size_t size);
/* The command line of the first running process of @t, and the number of others in @t. Empty: none of them runs. */
void cmd_cmdline_of_targets(const struct cmd_targets *t, char *buf, size_t size);

#endif
