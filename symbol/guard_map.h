/* SPDX-License-Identifier: MIT */
/*
 * guard_map.h - mapped files whose owners cannot end the recorder
 *
 * A page of a mapped file that the file no longer has (it was truncated, or overwritten in place by an installer)
 * raises SIGBUS when it is used. A handler makes it a page of zeros: parsers take any bytes, and find the file damaged;
 * records in memory shared with a target are lost. The first mapping installs the handler for the process; it passes
 * faults elsewhere to the earlier handler. A system call fails with EFAULT instead, until the page was touched
 * (guard_touch()). Context: control, any thread.
 */
#ifndef UFT_SYMBOL_GUARD_MAP_H
#define UFT_SYMBOL_GUARD_MAP_H

#include <signal.h>
#include <stddef.h>

/* Maps the whole file, read-only and private. NULL: see errno. */
const void *guard_map(int fd, size_t size);
void guard_unmap(const void *p, size_t size);
/*
 * The same for memory that the caller maps shared, and writes to. 0 or -ENOMEM. Call guard_drop() before unmapping it.
 */
int guard_add(void *at, size_t size);
void guard_drop(const void *at);
/* Sets all signals but SIGBUS: a thread that uses guarded memory may block these. */
void guard_fill_mask(sigset_t *set);
/* Touches each page of memory, guarded or not, that a system call could not read. */
void guard_touch(const void *at, size_t size);
/* Call in a fork child, because another thread may have held the lock. Earlier mappings stay guarded. */
void guard_forked(void);

#endif
