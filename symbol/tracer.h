/* SPDX-License-Identifier: MIT */
/*
 * tracer.h - the tracers by name, and the functions whose arguments and results theirs is made of
 *
 * One table for who arms the functions (control/), who reads their events (output/), and who takes names. Context: any.
 */
#ifndef UFT_SYMBOL_TRACER_H
#define UFT_SYMBOL_TRACER_H

#include "uft/abi.h"

enum uft_tracer_kind {
	UFT_KIND_PLAIN,		/* calls as they are */
	UFT_KIND_SECTION,	/* the longest stretch of a thread in some state: preemptoff, irqsoff ... */
	UFT_KIND_WAKEUP,	/* the longest way from a wake to the woken thread's return */
	UFT_KIND_LINES,		/* a line or two for each call: kmemtrace, blk, initcall */
	UFT_KIND_OWN,		/* the session's own events: nothing is armed in a target */
};

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
/* Does it write events? */
int uft_tracer_has_events(uint32_t tracer);
/* What @name is to the tracer. @site: enum uft_site_flags of it, may be NULL. */
enum uft_role uft_tracer_role(uint32_t tracer, const char *name, uint8_t *site);
/* Is @file one whose functions count: a libc? */
int uft_tracer_wants_object(const char *file);

#endif
