// SPDX-License-Identifier: MIT
/*
 * no_ptrace.c - for machines without ptrace support (ptrace/no_ptrace.c): there is no image of the runtime
 * that ptrace could put into a process.
 */
#include "control/arena/arena.h"

#include <errno.h>

int blob_get(const struct blob **out)
{
	*out = NULL;
	return -EOPNOTSUPP;
}
