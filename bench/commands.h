/* SPDX-License-Identifier: MIT */
/* commands.h - CMD1 -- CMD2 ... on a command line */
#ifndef UFT_BENCH_COMMANDS_H
#define UFT_BENCH_COMMANDS_H

#include <string.h>

#define MAX_CMDS 16

/* Divides argv from @at on at each `--`; what is more than MAX_CMDS belongs to the last. Returns how many. */
static int split_commands(int argc, char **argv, int at, char **cmd[MAX_CMDS])
{
	int n = 0;

	cmd[n++] = argv + at;
	for (; at < argc; at++)
		if (!strcmp(argv[at], "--") && n < MAX_CMDS) {
			argv[at] = NULL;
			cmd[n++] = argv + at + 1;
		}
	return n;
}

#endif
