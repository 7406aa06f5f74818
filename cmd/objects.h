/* SPDX-License-Identifier: MIT */
/* objects.h - the objects of an operand "PROG|PID|FILE.o|FILE.a" */
#ifndef UFT_CMD_OBJECTS_H
#define UFT_CMD_OBJECTS_H

#include <sys/types.h>

#include "symbol/object.h"

struct cmd_objects {
	struct cmd_object {
		struct uft_object *obj;
		uint64_t bias;		/* of a process; 0 for files */
	} *item;
	size_t n;
	pid_t pid;			/* 0: files */
	int mem;			/* /proc/PID/mem, -1 */
};

/*
 * Opens @operand: a file if there is one of that name, else a process or a program in PATH. Sites are found,
 * names are not loaded.
 */
int cmd_objects_open(const char *operand, struct cmd_objects *out, struct uft_error *err);
void cmd_objects_close(struct cmd_objects *o);
/* Reads the process's memory. Returns bytes read. */
size_t cmd_objects_read(const struct cmd_objects *o, uint64_t addr, void *buf, size_t len);
const char *cmd_object_base(const struct uft_object *obj);

#endif
