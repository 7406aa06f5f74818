/* SPDX-License-Identifier: MIT */
/* rundir.h - the folder of a user's own in a place where all may make some (/dev/shm, /tmp) */
#ifndef UFT_SYMBOL_RUNDIR_H
#define UFT_SYMBOL_RUNDIR_H

#include <stddef.h>

/**
 * uft_rundir - PARENT/uft-UID, made if it is not there
 *
 * If a stranger has this name, PARENT/uft-UID.XXXXXX: with an end that cannot be guessed, the one that is
 * there already or a new one, so that all commands of the user find the same. Returns 0 or -errno, with the
 * path that failed in @out. Context: control.
 */
int uft_rundir(const char *parent, char *out, size_t size);

#endif
