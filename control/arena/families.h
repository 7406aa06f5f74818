/* SPDX-License-Identifier: MIT */
/* families.h - the files of families, mapped. Context: control, the session's thread. */
#ifndef UFT_CONTROL_FAMILIES_H
#define UFT_CONTROL_FAMILIES_H

#include "control/arena/arena.h"

void *arena_map_part(void *at, uint64_t bytes, int flags, int fd, uint64_t offset);	/* shared, to read and write */
uint64_t arena_family_bytes(const struct uft_arena *l);	/* a family's file: its mail, and its slices behind that */
void arena_unmap_mail(const struct arena *a, struct uft_mail uft_shared *mail);

#endif
