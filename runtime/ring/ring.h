/* SPDX-License-Identifier: MIT */
/*
 * ring.h - the writer of records; theory in ring.c
 */
#ifndef UFT_RING_H
#define UFT_RING_H

#include "runtime/arch/arch.h"
#include "runtime/ring/layout.h"
#include "uft/abi.h"

/* A record about to be committed. Code that finds one pending asks ring_is_committed(). */
struct ring_receipt {
	uint64_t where;		/* the record's address; 0: none is pending, 1: none is written yet */
	uint64_t word;		/* its first word */
};

/* One record to write. ring_write() fills in pointers that are not set. */
struct ring_op {
	uint64_t word0;		/* kind and value, as UFT_REC_WORD(kind, value, 0) */
	uint64_t word1;		/* second word of a 16-byte record */
	uint64_t bytes;		/* 8, 16, or more: then the rest is at more[] */
	uint64_t flags;		/* RING_OP_* */
	uint32_t pid, tid;	/* the context that the record needs */
	const uint64_t *guard;	/* write only while *guard == expect */
	uint64_t expect;
	struct ring_receipt *receipt;
	uint64_t *clock;	/* gets the record's full clock */
	/*
	 * 0, or ring_key(): fast paths of this thread may follow on this CPU, with RING_OP_EVENT only that of
	 * tracepoints
	 */
	uint64_t key;
	void *thread;		/* for those fast paths */
	const uint32_t *thread_flags;	/* they may follow only while this is 0 */
	const uint64_t *more;
	struct uft_ring *ring;	/* for RING_UNBACKED and RING_LOST: the ring */
	uint64_t need;		/* the position below which it has to have memory, or at which it has no room */
	uint64_t gap, gap_to;	/* in gap_ring a gap may begin at `gap`, and ends at `gap_to` */
	struct uft_ring *gap_ring;
	struct ring_cpu **counted;	/* of the thread: the CPU with its key that counts; NULL there: none */
	/* pointers that were not set point to these */
	uint64_t own_clock;
	struct ring_receipt own_receipt;
	struct ring_cpu *own_counted;
};

/* One CPU's cache line of the private table. All fields read 0 in a fork child (MADV_WIPEONFORK). */
struct ring_cpu {
	/* ring_key() of the thread of the ring's context, if its fast paths may write; else 0 */
	uint64_t key;
	struct uft_ring *ring;
	void *thread;		/* valid with key */
	/*
	 * Valid with key and event_key: the ring's context has its high half. With a key that counts: the clock of the
	 * last record, to which each fast record adds 1
	 */
	uint64_t clock;
	/* ring_key() of the thread whose fast paths may change its shadow stack without a record; else 0 */
	uint64_t stack_key;
	void *stack_thread;	/* valid with stack_key */
	/* as key, for the fast path of tracepoints: its sites may be armed while another tracer is in force */
	uint64_t event_key;
	struct uft_profile *profile;	/* the CPU's block of the slice */
};

/*
 * Without rseq: one thread's exchange ring, found by the thread's number; the fast paths write there (thread_rings.c).
 * The place to write is noted here and not read from the ring, which other programs can change. A fork child has a
 * copy, for a writer that was interrupted inside.
 */
struct ring_own {
	uint64_t again;		/* the value of the key after the writer inside is done */
	char *at;		/* address of the next record */
	char *end;		/* if `at` is below this, 16 bytes have room in the sub-buffer */
	uint64_t limit;		/* if the clock is below this, the ring's context has its high half */
	void *thread;		/* struct uft_thread */
	struct uft_ring *ring;
	uint64_t bias;		/* position = at - bias, in this sub-buffer */
	uint64_t save;		/* for the writer inside */
};

/* The owner of a line. All fields read 0 in a fork child. */
struct ring_own_key {
	uint64_t key;		/* own_key() while fast paths may write; 0: the thread is inside; RING_OWN_SHUT */
	uint64_t tid;		/* number of the thread whose ring it is */
	uint64_t tp;		/* its thread pointer, written last; 0: the line has no owner */
	/* for a writer inside a graph path: the top that makes its record valid; else the last such top, or 0 */
	uint64_t intent;
	uint64_t pad[4];
};
#define RING_OWN_SHUT	(1ull << 63)	/* no sum has this value, whatever is read for a number that is not known */

/*
 * Where fast paths find the calling thread's line. It lies in the thread's TLS, which begins anew with each thread
 * (ARCH_HAS_RING_TLS).
 */
struct ring_tls {
	struct ring_own *line;
	const uint32_t *word;	/* the slice's generation, and on_cpus behind it */
	int64_t number;		/* distance of libc's note of a thread's number from its thread pointer */
};

/* Lies in front of the first line. */
struct ring_own_head {
	int64_t tid_offset;	/* distance of libc's note of a thread's number from its thread pointer */
	const uint32_t *word;	/* the slice's generation, and on_cpus behind it */
};

/* One mapping. The keys are wiped on fork; a child that is adopted gets another table. */
struct ring_own_table {
	char pad[UFT_PAGE - sizeof(struct ring_own_head) - (sizeof(struct ring_own) << RO_BITS)];
	struct ring_own_head head;
	struct ring_own line[1u << RO_BITS];
	struct ring_own_key key[1u << RO_BITS];
};

/* Values that the fast paths load pc-relative. Written by ring_attach() and ring_new_generation(). */
struct ring_fast {
	int64_t rseq_offset;	/* 0: never touch the area */
	uint32_t ncpus;
	uint32_t usual;		/* usual bytes of each ring */
	struct ring_cpu *cpu;
	uint64_t generation;	/* bits 48-63, the rest is 0; the lowest ten bits of it are in an own_key() */
	uint32_t *ring_flags;	/* of the slice */
	uint64_t sub_mask;
	const uint32_t *on_cpus;	/* of the slice, on the board, which a fork child has, too */
	struct ring_own *own;	/* line[] of the table, which is aligned to the size of all lines */
	uint64_t profile_bytes;	/* size of a block */
	/* ring_bytes - 1: bounds each write, whatever other programs have done to a ring's header */
	uint64_t mask;
	uint64_t counts;	/* generation | RING_KEY_COUNTS */
	uint64_t beside;	/* generation | RING_KEY_BESIDE */
	uint32_t *state;	/* ring_state(); set by ring_init(), the same ever after */
};
extern struct ring_fast uft_ring_fast;

enum ring_state {		/* of this process; a fork child finds 0 */
	RING_FRESH,		/* forked: has no slice yet */
	RING_LIVE,
	RING_REFUSED,		/* not followed: it writes no record */
	RING_ADOPTING,		/* a thread is changing FRESH to one of the others */
};

#define RING_NLOCKS 4

/**
 * ring_init - make the private table for the rings of the slice in uft_rt
 *
 * Returns 0, -ENOMEM, or -errno of madvise() if the table could not be wiped on fork. Context: init.
 */
int ring_init(void);

/* Points the table at the rings of uft_rt.slice. Context: init, or signals blocked in state RING_ADOPTING. */
void ring_attach(void);
/* Shuts the fast paths of all threads, for good. Afterwards none reads the clock either. Context: probe. */
void ring_close(void);

/*
 * In a fork child of an emulated program: wipes the table if that is not done yet, because emulators do not. Context:
 * probe.
 */
void ring_notice_fork(void);

/* The process's state word, in wipe-on-fork memory; changed by compare-and-swap. Context: probe. */
static inline uint32_t *ring_state(void)
{
	return uft_ring_fast.state;
}

/* Lock word i < RING_NLOCKS, in wipe-on-fork memory: free in a fork child, even if it was held. Context: probe. */
uint32_t *ring_lock_word(unsigned i);

/*
 * 1: the calling task may use the per-CPU rings, if its thread pointer is its own (the caller knows that). Context:
 * probe.
 */
static inline int ring_has_rseq(void)
{
	return ARCH_HAS_RSEQ && uft_ring_fast.rseq_offset &&
	       arch_rseq_cpu(uft_ring_fast.rseq_offset) < uft_ring_fast.ncpus;
}

/* A thread's identity for the fast paths until the next generation. Context: probe. */
static inline uint64_t ring_key(uint64_t thread_pointer)
{
	return uft_load_acquire(&uft_ring_fast.generation) | thread_pointer;
}

/**
 * ring_write - append one record
 * @op: the record; see struct ring_op
 * @rseq: the task may use the per-CPU rings; else it has all signals blocked, and an exchange ring is used
 *
 * Returns RING_WRITTEN; RING_LOST (discard mode and full, counted in the ring); RING_GUARD (nothing written); RING_NONE
 * (there was no ring: the caller counts that).
 * Context: probe. Locks: none; restarted by preemption, migration, signals, at most RING_RETRIES times.
 */
int ring_write(struct ring_op *op, int rseq);

/*
 * Records that waited in a scratch buffer: records of one word, CONTEXT words with the clock's high half, 0 for none.
 */
struct ring_past {
	const uint64_t *words;
	uint64_t n, lost;	/* lost: how many records are missing */
	uint64_t begin;		/* no record is older */
	uint32_t pid, tid;
};
/*
 * memory.c: makes memory below position @need of @r, and some more ahead, but not over unread data. If there is none, a
 * loss is counted. 0, or -ENOMEM, -ENOBUFS (unread). Context: probe.
 */
int ring_back(struct uft_ring *r, uint64_t need);
/* Gives back the memory of rings that were not written since the last call. Context: control; once a second. */
void ring_tend(void);
/*
 * The position where a gap that begins at @end would end; 0: no room behind the data of the turn before. Context:
 * probe.
 */
uint64_t ring_gap(const struct uft_ring *r, uint64_t end);
/* Are all data in [@at, @to) of one turn read? Context: probe; discard mode. */
int ring_is_free(const struct uft_ring *r, uint64_t at, uint64_t to);
/* Opens ring @index of the slice, with its first memory; NULL: there is no memory. Context: probe. */
struct uft_ring *ring_open(uint32_t index);

/*
 * Announces @n functions from @first on, which the profile may count from now on. 0 or -ENOMEM: a block that is open
 * has no memory for them. Context: control.
 */
int ring_profile_want(uint32_t first, uint32_t n);
/* 1: the block of the profile has its memory. 0: it has none now. Context: probe. */
int ring_profile_open(uint32_t block);
void ring_profile_attach(void);	/* a new slice has no open block */

/* RING_WRITTEN, RING_LOST (no room, counted in the ring), RING_NONE. Context: probe, signals blocked. */
int ring_write_past(const struct ring_past *p);

/* 1: the record of this receipt was committed (exact until the ring wraps). Context: probe. */
int ring_is_committed(const struct ring_receipt *r);

/* Shuts the fast paths of one thread. Called by the thread itself, or when it is dead. Context: probe. */
void ring_forget(uint64_t thread_pointer);

/* Makes every thread take the slow path at its next event. Context: control. */
void ring_new_generation(void);

/*
 * thread_rings.c: makes a table for this process. 0, -ENOMEM, or -errno of madvise(): then the table before stays.
 * Context: init.
 */
int own_init(void);
/* The slice, or the generation, has changed. */
void own_attach(void);
/* Wipes the keys, in a fork child whose kernel does not. */
void own_wipe(void);
/*
 * Called by a slow event before it looks at the thread's shadow stack: commits the record that an interrupted fast path
 * is about to commit. @top: of the thread's shadow stack; NULL: commits none, whatever the intent is. Signals are
 * blocked.
 */
void own_finish(uint32_t tid, const void *top);
/*
 * The address of the record that the thread's fast paths commit next; NULL: the thread has no line. *@is_inside: the
 * code that this event interrupted is about to commit, and changes no line before it goes on. Signals are blocked.
 */
const void *own_at(uint32_t tid, int *is_inside);
/*
 * The line of the writer of @op, which then has it alone; NULL: there is none, or its thread is inside. Signals are
 * blocked.
 */
struct ring_own *own_find(const struct ring_op *op);
/* Has the thread a line? Context: probe. */
int own_has(uint32_t tid);
/* After a write to the line's ring: the fast paths may follow. */
void own_open(struct ring_own *l, const struct ring_op *op);
/*
 * Shuts fast paths: the thread's, or all threads' (thread pointer 0), or those that write a ring that another thread
 * has @taken.
 */
void own_shut(uint64_t thread_pointer, const struct uft_ring *taken);

/* ring.S */
extern const char uft_asm_nowhere_cs[];	/* no thread can be in this section (trace/thread/rseq_check.c) */
int uft_asm_ring_write(struct ring_op *op);
/*
 * trace.S, without ARCH_HAS_OWN: writes an event's record, with its first word's high half and @bytes of words. It must
 * be the last call of a function: if it cannot write, tracepoint_write_slowly() (tracers/tracepoint.c) does, and gets
 * that function's caller.
 */
void uft_asm_event_write(uint32_t high, const uint64_t *words, uint64_t bytes);

#endif
