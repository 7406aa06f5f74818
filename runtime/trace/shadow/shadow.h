/* SPDX-License-Identifier: MIT */
/* shadow.h - calls that are open: arrays, the set-aside table, scratch buffers, unwinders */
#ifndef UFT_TRACE_SHADOW_H
#define UFT_TRACE_SHADOW_H

#include "runtime/trace/thread/thread.h"

/* ---- shadow.c ---- */
struct fg_entry *fg_keep(const struct trace_task *t, struct fg_entry *top, uint64_t slot, uint64_t parent);
void fg_leave_locked(struct trace_task *t, struct fg_entry *keep);
int fg_is_ours(const struct trace_task *t, const struct fg_entry *e);
uint64_t fg_own_key(const struct trace_task *t);
/*
 * Finds the entry for @slot, wherever it is; of several the newest. @ret: only entries with this hook, 0: any; @before:
 * only older entries; @from: NULL, or for many searches in a row: of its array only @from and the entries below it
 * count, and arrays are taken to be in order. Under the lock.
 */
struct fg_entry *fg_find(uint64_t slot, uint64_t ret, struct fg_age before, const struct fg_entry *from);
struct fg_age fg_age(const struct fg_entry *e);	/* wherever it is; under the lock */
/*
 * The true address to which the frame of @slot, which has the hook @ret, returns in the end; @from as above. Under the
 * lock.
 */
uint64_t fg_true_parent(uint64_t slot, uint64_t ret, const struct fg_entry *from);

/* ---- keep_slow.c ---- */
/* 0: @e is not the top any more */
int keep_entry(struct trace_task *t, struct fg_entry *e);
int keep_exit(struct trace_task *t, struct fg_entry *e);
void keep_unwind(struct trace_task *t, uint32_t n);
void keep_end(struct trace_task *t, const struct fg_entry *root);
int keep_exit_root(struct trace_task *t, struct fg_entry *top, uint64_t *parent);	/* 0: try again */

/* ---- detached_frames.c: the set-aside table, all under the lock ---- */
int aside_init(void);
struct fg_entry *aside_find(uint64_t slot, uint64_t ret, struct fg_age before);	/* as fg_find() */
void aside_remove(struct fg_entry *e);

/* ---- address of the table, for hooks/mlock.c ---- */
uint64_t aside_reserve(uint64_t *bytes);	/* in detached_frames.c */

/* ---- way_out.c ---- */
int trace_is_leaving(void);

/* ---- unwind.c ---- */
void unwind_rehook(struct trace_task *t, uint64_t slot, uint64_t parent);
/* How far above @sp, on the stack that @th runs on, set-aside entries may lie on that stack. */
uint64_t unwind_reach(const struct uft_thread *th, uint64_t sp);

/* ---- unwind_slots.c, unwind_named.c, all under the lock ---- */
/* @frame: of trace_hook_unwind(). Returns how many hooks it found. */
uint32_t unwind_restore_array(struct uft_thread *th, uint64_t sp, uint64_t *frame);
/* Looks at @reach bytes above @sp: unwind_reach(). */
void unwind_restore_aside(uint64_t sp, uint64_t reach);
/* For an FG_RESTORED entry; @keep: the array's end. 0: its frame is gone, or has moved its address elsewhere. */
int unwind_rehook_entry(struct fg_entry *e, const struct fg_entry *keep);

#endif
