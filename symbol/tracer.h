/* SPDX-License-Identifier: MIT */
/*
 * tracer.h - the tracers: a row for each, and the functions whose arguments and results some tracers are made of
 *
 * A tracer is a row of symbol/tracer.c, as the kernel's struct tracer is. The row holds the facts that several folders
 * need, so code that lists tracers, checks options, arms functions, or decides which tracers run together names no
 * tracer. A fact that only one folder needs is in that folder's own table: how the session records the tracer
 * (control/events/sources.c), how its lines look (output/text_rows.c). Context: any.
 */
#ifndef UFT_SYMBOL_TRACER_H
#define UFT_SYMBOL_TRACER_H

#include <stddef.h>

#include "uft/abi.h"

enum uft_tracer_kind {
	UFT_KIND_PLAIN,		/* calls as they are */
	UFT_KIND_SECTION,	/* the longest stretch of a thread in some state: preemptoff, irqsoff ... */
	UFT_KIND_WAKEUP,	/* the longest way from a wake to the woken thread's return */
	UFT_KIND_LINES,		/* a line or two for each call: kmemtrace, blk, initcall */
	UFT_KIND_OWN,		/* the session's own events: nothing is armed in a target */
};

/* Options and files that a tracer uses. */
enum uft_tracer_takes {
	UFT_TAKES_FILTER	= 1,	/* lists of functions to arm */
	UFT_TAKES_LIMITS	= 2,	/* roots, depth, and the least duration of a call */
	UFT_TAKES_GAP		= 4,	/* the least length of a gap; windows, CPUs */
	UFT_TAKES_PERIOD	= 8,	/* CPU time between two samples */
	UFT_TAKES_MEMORY	= 16,	/* the memory to watch */
	UFT_TAKES_SWITCHES	= 32,	/* threads that leave a CPU and get one, besides its calls */
	UFT_TAKES_EVENTS	= 64,	/* enum uft_events of each call: options of the graph */
	UFT_TAKES_BUDGET	= 128,	/* functions are dropped when they cost too much */
	UFT_TAKES_FUNC_STACK	= 256,	/* a stack behind each function */
	UFT_TAKES_EVENT_STACK	= 512,	/* a stack behind each event */
};

/* Groups of functions that a tracer may be made of. */
enum uft_func_group { UFT_GROUP_LOCK = 1, UFT_GROUP_MASK = 2, UFT_GROUP_WAKE = 4, UFT_GROUP_HEAP = 8,
	UFT_GROUP_IO = 16 };

struct uft_tracer_row {
	const char *name;
	enum uft_tracer_kind kind;
	uint32_t target;	/* the tracer as targets know it: enum uft_tracer up to PROFILE */
	uint32_t groups;	/* groups of functions that it is made of: enum uft_func_group */
	uint32_t takes;		/* enum uft_tracer_takes */
	uint32_t place;		/* in available_tracers, as a kernel registers them; 0: not listed */
	int is_top;		/* has no instances */
	int is_inits;		/* only functions that the loader calls, of every object */
	int is_of_threads;	/* made from kernel data about threads: samples, switches */
	int is_rt;		/* only tasks with a real-time priority */
	int has_no_returns;	/* FUNC or sums: its recordings have no durations of calls, */
	const char *no_tree;	/* and the reason why there is no tree; NULL: there is one */
};
/* Returns the row of @tracer; for an unknown number the row of nop. */
const struct uft_tracer_row *uft_tracer(uint32_t tracer);
/* The tracers of available_tracers, the newest first, as a kernel lists them; returns how many. */
size_t uft_tracers_offered(int is_top, uint32_t out[UFT_NTRACERS]);

/* The role of a function for its tracers. */
enum uft_role {
	UFT_ROLE_NONE,
	UFT_ROLE_TAKE,		/* (lock): held when it returns 0 */
	UFT_ROLE_RELEASE,	/* (lock): released */
	UFT_ROLE_COND_WAIT,	/* (condition, mutex): the mutex is released meanwhile */
	UFT_ROLE_WAIT,		/* (semaphore) */
	UFT_ROLE_WAKE,		/* (condition or semaphore) */
	UFT_ROLE_MASK,		/* changes the blocked signals */
	UFT_ROLE_MALLOC, UFT_ROLE_CALLOC, UFT_ROLE_REALLOC, UFT_ROLE_MEMALIGN /* (alignment, size) */, UFT_ROLE_FREE,
	UFT_ROLE_MMAP, UFT_ROLE_MUNMAP,
	UFT_ROLE_READ, UFT_ROLE_WRITE, UFT_ROLE_PREAD, UFT_ROLE_PWRITE, UFT_ROLE_READV, UFT_ROLE_WRITEV, UFT_ROLE_SYNC,
};

const char *uft_tracer_name(uint32_t tracer);		/* "unknown" */
enum uft_tracer_kind uft_tracer_kind(uint32_t tracer);
/* Does it show the longest stretch of a state, printed at the end of the text? */
int uft_tracer_is_latency(uint32_t tracer);
/* Does it write events? */
int uft_tracer_has_events(uint32_t tracer);
/* Returns the role of @name for the tracer. @site: enum uft_site_flags of it, may be NULL. */
enum uft_role uft_tracer_role(uint32_t tracer, const char *name, uint32_t *ops);
/* Is @file a libc, whose functions tracers use? */
int uft_tracer_wants_object(const char *file);

#endif
