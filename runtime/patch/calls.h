/* SPDX-License-Identifier: MIT */
/*
 * calls.h - lists of calls of tracepoints (tracepoint.c), and the functions that write them (bytes/tracepoint.c,
 * words/tracepoint.c)
 *
 * Context: control.
 */
#ifndef UFT_PATCH_CALLS_H
#define UFT_PATCH_CALLS_H

#include <linux/errno.h>
#include <stdint.h>

struct uft_call_switch;

#define CALLS_OF_NONE	(~0u)		/* an object's number: none, so the block may serve another list */

struct call { uintptr_t addr, on; uint32_t is_on; };

struct call_block {
	struct call_block *next;
	uint32_t object, n;
	struct call v[];
};

/*
 * Brings each call to the wanted state, notes it and writes its status. @want: by call, or NULL: all off. Returns how
 * many could not be written, without calls whose code is gone or has other bytes (calls_are_lost()).
 */
typedef uint32_t (*calls_writer)(struct call_block *b, struct uft_call_switch *want);

int calls_switch(uint32_t object, struct uft_call_switch *c, uint32_t n, calls_writer write);	/* patch_calls() */
uint32_t calls_disarm(calls_writer write);	/* returns how many could not be written */

/*
 * Is @error of a call that cannot be changed any more? Then no further attempt is needed. A jump below a debugger's
 * breakpoint stays; it leads to code of the program, which finds no writer.
 */
static inline int calls_are_lost(int error)
{
	return error == -EFAULT || error == -EILSEQ;
}

/* calls_disarm() with the writer of bytes/tracepoint.c or of words/tracepoint.c. */
uint32_t tracepoints_disarm(void);

#endif
