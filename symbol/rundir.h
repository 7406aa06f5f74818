/* SPDX-License-Identifier: MIT */
/* rundir.h - a folder of the user's own in a place where all users may make folders (/dev/shm, /tmp) */
#ifndef UFT_SYMBOL_RUNDIR_H
#define UFT_SYMBOL_RUNDIR_H

#include <stddef.h>

/**
 * uft_rundir - make PARENT/uft-UID if it is not there
 *
 * If a stranger has this name, uses PARENT/uft-UID.XXXXXX, with an end that cannot be guessed: an existing folder or a
 * new one, so that all commands of the user find the same. Returns 0 or -errno, with the path that failed in @out.
 * Context: control.
 */
int uft_rundir(const char *parent, char *out, size_t size);

#endif
