/* SPDX-License-Identifier: MIT */
/*
 * calls.h - lists of calls of tracepoints (tracepoint.c), and what writes them (bytes/tracepoint.c,
 * words/tracepoint.c)
 *
 * Context: control.
 */
#ifndef UFT_PATCH_CALLS_H
#define UFT_PATCH_CALLS_H

#include <stdint.h>

struct uft_call_switch;

struct call { uintptr_t addr, on; uint32_t is_on; };

struct call_block {
	struct call_block *next;
	uint32_t n;
	struct call v[];
};

/*
 * Brings each call to what is wanted, notes it and writes its status. @want: by call, or NULL: all off. Returns how
 * many could not be changed.
 */
typedef uint32_t (*calls_writer)(struct call_block *b, struct uft_call_switch *want);

int calls_switch(struct uft_call_switch *c, uint32_t n, calls_writer write);	/* patch_calls() */
uint32_t calls_disarm(calls_writer write);	/* returns how many could not be changed */
void calls_forget(uintptr_t lo, uintptr_t hi);

/* bytes/tracepoint.c or words/tracepoint.c: calls_disarm() by its own writer. */
uint32_t tracepoints_disarm(void);

#endif
