/* SPDX-License-Identifier: MIT */
/*
 * tracer.h - the tracers: one row each, and the functions whose arguments and results some are made of
 *
 * A tracer is a row of symbol/tracer.c, as the kernel's struct tracer is. The row holds what several folders ask:
 * those that list tracers, check options, arm functions, or decide which tracers run together name no tracer. Code
 * of one folder alone is a row of that folder's own table: how the session records it (control/events/sources.c),
 * how its lines look (output/text_rows.c). Context: any.
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

/* Options and files that have a meaning for a tracer. */
enum uft_tracer_takes {
	UFT_TAKES_FILTER	= 1,	/* lists of functions: those that are armed */
	UFT_TAKES_LIMITS	= 2,	/* roots, depth, and how long a call takes at least */
	UFT_TAKES_GAP		= 4,	/* how long a gap is at least; windows, CPUs */
	UFT_TAKES_PERIOD	= 8,	/* CPU time between two samples */
	UFT_TAKES_MEMORY	= 16,	/* what to watch */
	UFT_TAKES_SWITCHES	= 32,	/* threads that leave a CPU and get one, beside its calls */
	UFT_TAKES_EVENTS	= 64,	/* enum uft_events of each call: options of the graph */
	UFT_TAKES_BUDGET	= 128,	/* functions are dropped when they cost too much */
	UFT_TAKES_FUNC_STACK	= 256,	/* a stack behind each function */
	UFT_TAKES_EVENT_STACK	= 512,	/* a stack behind each event */
};

/* Functions that a tracer may be made of. */
enum uft_func_group { UFT_GROUP_LOCK = 1, UFT_GROUP_MASK = 2, UFT_GROUP_WAKE = 4, UFT_GROUP_HEAP = 8,
	UFT_GROUP_IO = 16 };

struct uft_tracer_row {
	const char *name;
	enum uft_tracer_kind kind;
	uint32_t target;	/* what targets are told: enum uft_tracer up to PROFILE */
	uint32_t groups;	/* functions whose arguments and results it is made of: enum uft_func_group */
	uint32_t takes;		/* enum uft_tracer_takes */
	uint32_t place;		/* in available_tracers, as a kernel registers them; 0: it is not there */
	int is_top;		/* has no instances */
	int is_inits;		/* only functions that are called when their object is loaded, of every object */
	int is_of_threads;	/* made of what the kernel says of threads: samples, switches */
	int is_rt;		/* only tasks with a real-time priority */
	int has_no_returns;	/* FUNC or sums: no recording of it has durations of calls, */
	const char *no_tree;	/* and why there is no tree of it; NULL: there is */
};
/* The row of @tracer; of a number that no tracer has the row of nop. */
const struct uft_tracer_row *uft_tracer(uint32_t tracer);
/* The tracers of available_tracers, the newest first, as a kernel lists them; returns how many. */
size_t uft_tracers_offered(int is_top, uint32_t out[UFT_NTRACERS]);

/* What a function means to its tracers. */
enum uft_role {
	UFT_ROLE_NONE,
	UFT_ROLE_TAKE,		/* (lock): held when it returns 0 */
	UFT_ROLE_RELEASE,	/* (lock): not held any more */
	UFT_ROLE_COND_WAIT,	/* (condition, mutex): without the mutex meanwhile */
	UFT_ROLE_WAIT,		/* (semaphore) */
	UFT_ROLE_WAKE,		/* (condition or semaphore) */
	UFT_ROLE_MASK,		/* changes the blocked signals */
	UFT_ROLE_MALLOC, UFT_ROLE_CALLOC, UFT_ROLE_REALLOC, UFT_ROLE_MEMALIGN /* (alignment, size) */, UFT_ROLE_FREE,
	UFT_ROLE_MMAP, UFT_ROLE_MUNMAP,
	UFT_ROLE_READ, UFT_ROLE_WRITE, UFT_ROLE_PREAD, UFT_ROLE_PWRITE, UFT_ROLE_READV, UFT_ROLE_WRITEV, UFT_ROLE_SYNC,
};

const char *uft_tracer_name(uint32_t tracer);		/* "unknown" */
enum uft_tracer_kind uft_tracer_kind(uint32_t tracer);
/* Is it the longest stretch of something, which the text shows at its end? */
int uft_tracer_is_latency(uint32_t tracer);
/* Does it write events? */
int uft_tracer_has_events(uint32_t tracer);
/* What @name is to the tracer. @site: enum uft_site_flags of it, may be NULL. */
enum uft_role uft_tracer_role(uint32_t tracer, const char *name, uint32_t *ops);
/* Is @file one whose functions count: a libc? */
int uft_tracer_wants_object(const char *file);

#endif
