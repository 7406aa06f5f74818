/* SPDX-License-Identifier: MIT */
/*
 * guard_map.h - files of others, mapped so that their owner cannot end the recorder
 *
 * A page of a mapped file that the file no longer has (it was cut off, or overwritten in place by an
 * installer) is SIGBUS when it is used. Here it becomes a page of zeros: parsers take any bytes, and find the
 * file damaged; of memory shared with a target the records are gone. The first mapping installs a handler of
 * SIGBUS for the process; a fault elsewhere goes to the one before. A system call is not helped: it fails with
 * EFAULT until the page was touched (guard_touch()). Context: control, any thread.
 */
#ifndef UFT_SYMBOL_GUARD_MAP_H
#define UFT_SYMBOL_GUARD_MAP_H

#include <signal.h>
#include <stddef.h>

/* The whole of a file, read-only and private. NULL: errno. */
const void *guard_map(int fd, size_t size);
void guard_unmap(const void *p, size_t size);
/* The same for memory that the caller maps shared, and writes to. 0 or -ENOMEM; guard_drop() before it is unmapped. */
int guard_add(void *at, size_t size);
void guard_drop(const void *at);
/* All signals but SIGBUS: what a thread that uses guarded memory may block. */
void guard_fill_mask(sigset_t *set);
/* Touches each page of memory, guarded or not, that a system call could not read. */
void guard_touch(const void *at, size_t size);
/* In a fork child: another thread may have been in the middle of this. What was mapped before stays guarded. */
void guard_forked(void);

#endif
