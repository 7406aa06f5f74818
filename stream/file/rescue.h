/* SPDX-License-Identifier: MIT */
/* rescue.h - a recording whose recorder was killed is completed from the rings that it left */
#ifndef UFT_STREAM_RESCUE_H
#define UFT_STREAM_RESCUE_H

#include "uft/abi.h"

/*
 * Appends to the file what the rings hold beyond it. Context: control; nobody else writes the file any more.
 * @head: the arena's first page as it was before there were targets; @arena: where all of it is mapped
 * @fd: the file, open for writing; it is closed
 *
 * 0, also when the file was finished or rescued before and nothing was done; a negative errno: what could be saved is.
 */
int uft_rescue(const struct uft_arena *head, void *arena, int fd);

#endif
