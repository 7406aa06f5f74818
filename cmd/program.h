/* SPDX-License-Identifier: MIT */
/* program.h - a program by the name that a shell would take */
#ifndef UFT_CMD_PROGRAM_H
#define UFT_CMD_PROGRAM_H

#include <stddef.h>

/* Finds @name as execvp() would. Returns 0, or what a shell exits with: 127 not found, 126 not executable. */
int cmd_find_program(const char *name, char *path, size_t size);
/* The same, and @command says so if there is none. */
int cmd_need_program(const char *command, const char *name, char *path, size_t size);

#endif
