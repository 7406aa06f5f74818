/* SPDX-License-Identifier: MIT */
/* scan.h - internal to relocate/: what an object's code and data lead to. Theory in scan.c. */
#ifndef UFT_CONTROL_RELOCATE_SCAN_H
#define UFT_CONTROL_RELOCATE_SCAN_H

#include "control/relocate/entry.h"

/* One executable segment, as far as the file has it. Bit i of a map stands for the byte at addr + i. */
struct scan_text {
	uint64_t addr;
	const uint8_t *p;
	size_t n;
	uint64_t *target;	/* something may lead here */
	uint64_t *called;	/* by a call, or by its address */
	uint64_t *part;		/* by a conditional jump; or a symbol says that it is a part */
	uint64_t *looped;	/* a jump of the function that begins here */
	uint64_t *pointed;	/* its address is in code or data, or a jump ends there: it may return to anybody */
};

#define SCAN_SPECIAL	32

struct scan {
	struct scan_text *text;
	size_t ntext;
	uint64_t special[SCAN_SPECIAL];		/* functions that symbols name as such: for the function tracer only */
	size_t nspecial;
	int is_runtime;		/* makes code at run time, and looks for calls from it on the stack */
	/* its own collector finds its frames by their return addresses: all of it is for the function tracer only */
	int has_frame_table;
};

int scan_make(struct uft_object *obj, const struct entries *e, struct scan **out);
void scan_free(struct scan *s);

const struct scan_text *scan_text(const struct scan *s, uint64_t addr);

static inline int scan_bit(const uint64_t *map, size_t i)
{
	return map[i / 64] >> i % 64 & 1;
}

/*
 * For who looks at the code of a machine, while scan_make() works. Code may be called at an address; the
 * address is in code or data.
 */
struct scanner;
const struct scan_text *scan_called(struct scanner *sc, uint64_t addr);
void scan_pointer(struct scanner *sc, uint64_t addr);
/*
 * A jump at @from, which rises; *k is 0 at first. @is_part: what it leads to is a part of a function, if
 * it is never called.
 */
void scan_jump(struct scanner *sc, size_t *k, uint64_t from, uint64_t to, int is_part);

/*
 * 1: code that a runtime makes may call the function at @func, whose entry is at @addr: its address is
 * somewhere. The runtime looks up the return addresses of such calls, and which functions they call cannot be
 * seen.
 */
int scan_is_called_by_made_code(const struct scan *s, const struct scan_text *t, uint64_t func, uint64_t addr);

/* 1: something leads to one of [addr, addr + n). */
int scan_any(const struct scan_text *t, const uint64_t *map, uint64_t addr, unsigned n);

#endif
