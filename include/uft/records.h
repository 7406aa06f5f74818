/* SPDX-License-Identifier: MIT */
/*
 * records.h - the contents of a ring: records, their words and ids, and the header of a sub-buffer
 *
 * A part of abi.h, which includes it. Recordings hold the same words (since UFT_ABI_RECORDS). A target writes them, so
 * a reader checks each: a record with an impossible kind, length or id is damaged.
 */
#ifndef UFT_RECORDS_H
#define UFT_RECORDS_H

#include <stdint.h>

/*
 * First word of every record: clock low half in bits 0-31, value in bits 32-59, kind in 60-63.
 * An all-zero word is UFT_REC_PAD: the rest of the sub-buffer is unused.
 * The full clock is: high half of the last full clock seen in the ring (sub-buffer header or
 * CONTEXT record) joined with the low half. The writer emits a CONTEXT whenever the high half,
 * the pid or the tid differs from the ring's current context, so no wrap is ever ambiguous.
 */
enum uft_rec_kind {
	UFT_REC_PAD		= 0,	/* 1 word */
	UFT_REC_CONTEXT		= 1,	/* 3 words: w1 = full clock, w2 = pid | (u64)tid << 32 */
	UFT_REC_FUNC		= 2,	/* 2 words: value = id, w1 = parent address */
	UFT_REC_ENTRY		= 3,	/* 1 word: value = id; graph call begins */
	UFT_REC_EXIT		= 4,	/* 1 word: value = id; innermost open call of this task ends */
	UFT_REC_CALL		= 5,	/* 2 words: value = id, w1 = duration in clock units; the call
					 * ended at this record's clock (tracing_thresh: no ENTRY/EXIT) */
	UFT_REC_UNWIND		= 6,	/* 1 word: value = n; the n innermost open calls of this task were
					 * left: longjmp, exception, or a switch to another stack */
	UFT_REC_EXIT_LEFT	= 7,	/* 2 words: value = id, w1 = full entry clock: a call that an
					 * UNWIND had set aside returned after all (coroutine) */
	UFT_REC_LOST		= 8,	/* 2 words: w1 = records lost here (discard mode, ring was full) */
	/*
	 * written by the session only: value = n, n bytes of text follow; with UFT_MARK_RAW an id and data
	 */
	UFT_REC_MARK		= 9,
	UFT_REC_EVENT		= 10,	/* 1 + n words: value = UFT_EVENT_VALUE(event, n), its fields follow, n >= 1 */
	/*
	 * in files with UFT_FILE_LATENCY, never from a target. 1 word: value = the flags of the records that
	 * follow, up to the next FLAGS record or the end of the sub-buffer
	 */
	UFT_REC_FLAGS		= 11,
	/* 12..15 reserved for later tracers */
};

/*
 * Events. The session hands out ids from UFT_EVENT_FREE on (tracepoints, probes). Events with ids below
 * UFT_EVENT_OWN belong to the innermost open call of the task: behind its ENTRY, before its EXIT. Events with
 * the ids in between are counted by themselves: STACK, and events that the session records of a task, not of
 * a call, in the rings of its own slices.
 */
enum uft_event_id {
	UFT_EVENT_CALL		= 1,	/* the first four integer arguments */
	/*
	 * the result; with UFT_ACT_MASK the task's blocked signals; with UFT_EVENTS_POLICY (and 0 between)
	 * policy | kernel priority << 32. Unknown fields are left out
	 */
	UFT_EVENT_RETURN	= 2,
	UFT_EVENT_PARENT	= 3,	/* the address that the call returns to */
	UFT_EVENT_CPU		= 4,	/* nanoseconds that the thread had a CPU meanwhile; before the EXIT */
	UFT_EVENT_HANDLER	= 5,	/* the kernel made the call, for this signal (0 not known) */
	UFT_EVENT_OVERRUN	= 6,	/* calls of the task so far that its shadow stack had no room for */
	UFT_EVENT_OWN		= 8,
	/*
	 * of a thread that spins: the longest time in ns between two readings of the clock, and between two
	 * pairs of readings; CLOCK_REALTIME in ns of the first that was too long; number of this window | too
	 * long ones in it << 32
	 */
	UFT_EVENT_HWLAT		= 8,
	/* of a running thread: its pc and, if known, the return address of that function */
	UFT_EVENT_SAMPLE	= 9,
	UFT_EVENT_SWITCH	= 10,	/* of a thread: enum uft_switch | kernel priority << 32 */
	/*
	 * of a thread that spins, in us: noise | runtime << 32; the longest | times it had to leave its CPU <<
	 * 32. Of the CPU meanwhile: interrupts | softirqs << 32; NMIs. UINT32_MAX: not known
	 */
	UFT_EVENT_OSNOISE	= 11,
	/* of a thread that used watched memory: address, value, pc of the instruction, enum uft_access */
	UFT_EVENT_ACCESS	= 12,
	/*
	 * of a process: memory is watched from now on, or with UFT_ACCESS_END no longer: address, bytes, 0,
	 * enum uft_access
	 */
	UFT_EVENT_WATCH		= 13,
	/*
	 * the id of the function that was entered (as in FUNC or ENTRY), then return addresses, its own first:
	 * at most UFT_STACK_MAX. Of a sample: the address | UFT_STACK_ADDRESS. Of a tracepoint's event, which
	 * is the task's record before: where its call returns to | both bits below. The same of an event of a task
	 * that the session records; without an address if no call is known, and nothing behind it
	 */
	UFT_EVENT_STACK		= 15,
	/* Only in recordings of earlier versions; readers turn them into types (stream/decode/old_events.c). */
	UFT_EVENT_OLD_FORK	= 16,	/* the parent's name (UFT_COMM_WORDS), the tid of the new task */
	/* the task's tid before, then the program's path, up to a 0 byte or the end */
	UFT_EVENT_OLD_EXEC	= 17,
	UFT_EVENT_OLD_EXIT	= 18,	/* its name, kernel priority (all bits set: not known) */
	/*
	 * from here on by the table of types (symbol/event_type.h): the kernel's record of that type, behind
	 * its 8 common bytes, and zeroes up to a whole word
	 */
	UFT_EVENT_FREE		= 32,
};
#define UFT_COMM_WORDS		2	/* 16 bytes, a 0 at least at the end */
#define UFT_EXEC_WORDS		64	/* of the path of an executed program, which is cut if longer */
enum uft_tasks {		/* which task events are wanted */
	UFT_TASKS_FORK	= 1,
	UFT_TASKS_EXEC	= 2,
	UFT_TASKS_EXIT	= 4,
	UFT_TASKS_ALL	= 8,	/* of all tasks, not only those on the pid lists */
};
#define UFT_STACK_MAX		32
#define UFT_STACK_ADDRESS	(1ull << 63)
#define UFT_STACK_TRACEPOINT	(1ull << 62)
enum uft_access {
	/* neither READ nor WRITE: unknown access; then the address is that of the watched range, */
	UFT_ACCESS_READ		= 1,
	UFT_ACCESS_WRITE	= 2,	/* and the pc that of the next instruction */
	UFT_ACCESS_VALUE	= 4,	/* the value is known; of a read and write it is the value read */
	UFT_ACCESS_END		= 8,
	UFT_ACCESS_WIDTH_SHIFT	= 8,	/* 8 bits: bytes */
	UFT_ACCESS_MAP_SHIFT	= 16,	/* 16 bits: number of the watched range, from 1 */
};
enum uft_switch {
	UFT_SWITCH_IN		= 1,	/* the thread gets a CPU; else it leaves one: */
	UFT_SWITCH_PREEMPTED	= 2,	/* while it could still run */
	UFT_SWITCH_ENDED	= 4,	/* for ever */
	UFT_SWITCH_PRIO		= 8,	/* the priority is known */
};
#define UFT_EVENT_IS_NAMED(id)	((id) >= UFT_EVENT_FREE)		/* it has a type in the table */
#define UFT_EVENT_IS_OWN(id)	((id) >= UFT_EVENT_OWN)
#define UFT_EVENT_ID_BITS	20
#define UFT_EVENT_VALUE(id, n)	((uint32_t)(id) | (uint32_t)(n) << UFT_EVENT_ID_BITS)
#define UFT_EVENT_ID(value)	((value) & ((1u << UFT_EVENT_ID_BITS) - 1))
#define UFT_EVENT_WORDS(value)	((value) >> UFT_EVENT_ID_BITS)

#define UFT_MARK_RAW		0x10000u	/* of the value of UFT_REC_MARK */
#define UFT_REC_VALUE_BITS	28
#define UFT_REC_VALUE_MAX	((1u << UFT_REC_VALUE_BITS) - 1)
#define UFT_REC_WORD(kind, value, clock)						\
	((uint64_t)(uint32_t)(clock) |							\
	 ((uint64_t)((uint32_t)(kind) << UFT_REC_VALUE_BITS | (uint32_t)(value)) << 32))
#define UFT_REC_KIND(w)		((unsigned)((w) >> 60))
#define UFT_REC_VALUE(w)	((uint32_t)((w) >> 32) & UFT_REC_VALUE_MAX)
#define UFT_REC_CLOCK(w)	((uint32_t)(w))

/*
 * Ids are target-wide 28-bit numbers handed out by the session in ranges, one pair per object:
 *   text ids    id = first + ((address after the site's instruction - base) >> 2): what a function
 *               event carries. Sites are at least 6 bytes apart, so a 4-byte granule is unambiguous.
 *   stub ids    id = first + stub index: what graph records carry and the profile is indexed by.
 * The session maps ids to functions; the runtime only needs one constant per object and kind.
 */

/* Every sub-buffer starts with this, so it can be read after older ones were overwritten. */
struct uft_sub_header {
	uint64_t position;	/* of this header in the ring, bytes since its start, monotonic */
	uint64_t lost;		/* records lost in this ring so far (discard mode) */
	uint64_t clock;		/* full clock of the header */
	uint32_t pid, tid;	/* context of the records that follow */
};
_Static_assert(sizeof(struct uft_sub_header) == 32, "abi");

#endif
