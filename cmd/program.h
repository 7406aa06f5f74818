/* SPDX-License-Identifier: MIT */
/* program.h - find a program as a shell does */
#ifndef UFT_CMD_PROGRAM_H
#define UFT_CMD_PROGRAM_H

#include <stddef.h>

/* Finds @name as execvp() would. Returns 0, or what a shell exits with: 127 not found, 126 not executable. */
int cmd_find_program(const char *name, char *path, size_t size);
/* The same, with a message of @command if there is none. */
int cmd_need_program(const char *command, const char *name, char *path, size_t size);

#endif
