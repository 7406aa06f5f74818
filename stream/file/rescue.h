/* SPDX-License-Identifier: MIT */
/* rescue.h - complete the recording of a killed recorder from the rings that it left */
#ifndef UFT_STREAM_RESCUE_H
#define UFT_STREAM_RESCUE_H

#include "uft/abi.h"

/*
 * Appends the records in the rings that are not in the file. Context: control; no other process writes the file.
 * @head: the arena's first page as it was before there were targets; @arena: where all of it is mapped
 * @fd: the file, open for writing; it is closed
 *
 * Returns 0, also if the file was finished or rescued before; or -errno after all records that it could save.
 */
int uft_rescue(const struct uft_arena *head, void *arena, int fd);

#endif
