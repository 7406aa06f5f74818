/* SPDX-License-Identifier: MIT */
/* scan_internal.h - what scan.c and scan_marks.c share. Context: control. */
#ifndef UFT_CONTROL_RELOCATE_SCAN_INTERNAL_H
#define UFT_CONTROL_RELOCATE_SCAN_INTERNAL_H

#include "control/relocate/internal.h"

struct scanner {
	struct scan *s;
	struct uft_object *obj;
	const struct entries *e;
	struct base { uint64_t addr; } *base;	/* what lea gave */
	size_t nbase, room;
	struct leave { uint64_t target; size_t from; } *leave;	/* jumps out of parts of functions */
	size_t nleave, leave_room;
	size_t steps;				/* left */
	int status;
};

static inline void mark(uint64_t *map, size_t i)
{
	map[i / 64] |= 1ull << i % 64;
}

/* An address that a lea gave: a jump table may begin there. */
void scan_note_base(struct scanner *sc, uint64_t addr);

#endif
