/* SPDX-License-Identifier: MIT */
/*
 * ring.h - the writer of records; theory in ring.c
 */
#ifndef UFT_RING_H
#define UFT_RING_H

#include "runtime/arch/arch.h"
#include "runtime/ring/layout.h"
#include "uft/abi.h"

/* A record about to be committed: an observer that finds one pending asks ring_is_committed(). */
struct ring_receipt {
	uint64_t where;		/* the record's address; 0: nothing pending, 1: nothing written yet */
	uint64_t word;		/* its first word */
};

/* One record to write. Unset pointers are filled in by ring_write(). */
struct ring_op {
	uint64_t word0;		/* kind and value, as UFT_REC_WORD(kind, value, 0) */
	uint64_t word1;		/* second word of a 16-byte record */
	uint64_t bytes;		/* 8, 16, or more: the rest is at more[] */
	uint64_t flags;		/* RING_OP_* */
	uint32_t pid, tid;	/* the context it must stand in */
	const uint64_t *guard;	/* write only while *guard == expect */
	uint64_t expect;
	struct ring_receipt *receipt;
	uint64_t *clock;	/* gets the record's full clock */
	/*
	 * 0, or ring_key(): fast paths may follow for this thread on this CPU, with RING_OP_EVENT only that of
	 * tracepoints
	 */
	uint64_t key;
	void *thread;		/* for them; */
	const uint32_t *thread_flags;	/* and only while this is 0 */
	const uint64_t *more;
	struct uft_ring *ring;	/* of RING_UNBACKED and RING_LOST: the ring, */
	uint64_t need;		/* and the position below which it has to have memory, or at which it has no room */
	uint64_t gap, gap_to;	/* at that position of gap_ring a gap may begin, and end there */
	struct uft_ring *gap_ring;
	struct ring_cpu **counted;	/* the thread's: where its key is that counts; NULL there: nowhere */
	/* where unset pointers point */
	uint64_t own_clock;
	struct ring_receipt own_receipt;
	struct ring_cpu *own_counted;
};

/* One CPU's cache line of the private table. All fields read 0 in a fork child (MADV_WIPEONFORK). */
struct ring_cpu {
	uint64_t key;		/* whose context the ring has, if its fast paths may write: ring_key(); else 0 */
	struct uft_ring *ring;
	void *thread;		/* valid with key */
	/*
	 * Valid with key and event_key: the ring's context has its high half. With a key that counts, the last
	 * record's: each fast one adds 1
	 */
	uint64_t clock;
	uint64_t stack_key;	/* whose shadow stack fast paths may change without a record: ring_key(); else 0 */
	void *stack_thread;	/* valid with stack_key */
	/* as key, for the fast path of tracepoints: sites may be armed for another tracer than is in force */
	uint64_t event_key;
	struct uft_profile *profile;	/* the CPU's block of the slice */
};

/*
 * Without rseq: the exchange ring that is one thread's, by its number; the fast paths write there (thread_rings.c).
 * Where to write is noted here and not read from the ring, which other programs can change. A fork child has
 * a copy, for who was inside.
 */
struct ring_own {
	uint64_t again;		/* what who is inside leaves in the key */
	char *at;		/* the next record; */
	char *end;		/* if that is below this: 16 bytes have room in the sub-buffer */
	uint64_t limit;		/* and if the clock is below this: the ring's context has its high half */
	void *thread;		/* struct uft_thread */
	struct uft_ring *ring;
	uint64_t bias;		/* position = at - bias, in this sub-buffer */
	uint64_t save;		/* of who is inside */
};

/* The owner of a line. All fields read 0 in a fork child. */
struct ring_own_key {
	uint64_t key;		/* own_key() while they may; 0 somebody of the thread is inside; RING_OWN_SHUT */
	uint64_t tid;		/* whose ring it is */
	uint64_t tp;		/* and its thread pointer; written last; 0: nobody's */
	/* of who is inside a graph path: the top that makes his record valid; of who was, or 0 */
	uint64_t intent;
	uint64_t pad[4];
};
#define RING_OWN_SHUT	(1ull << 63)	/* no sum, whatever is read for a number that is not known */

/*
 * Where fast paths find the calling thread's line; in its TLS, which begins anew with each thread
 * (ARCH_HAS_RING_TLS).
 */
struct ring_tls {
	struct ring_own *line;
	const uint32_t *word;	/* the slice's generation, and on_cpus behind it */
	int64_t number;		/* of libc's note of a thread's number from its thread pointer */
};

/* Before the first line. */
struct ring_own_head {
	int64_t tid_offset;	/* of libc's note of a thread's number from its thread pointer */
	const uint32_t *word;	/* the slice's generation, and on_cpus behind it */
};

/* One mapping. The keys are wiped on fork; a child that is adopted gets another one. */
struct ring_own_table {
	char pad[UFT_PAGE - sizeof(struct ring_own_head) - (sizeof(struct ring_own) << RO_BITS)];
	struct ring_own_head head;
	struct ring_own line[1u << RO_BITS];
	struct ring_own_key key[1u << RO_BITS];
};

/* What the fast paths load pc-relative. Written by ring_attach() and ring_new_generation(). */
struct ring_fast {
	int64_t rseq_offset;	/* 0: never touch the area */
	uint32_t ncpus;
	uint32_t usual;		/* of each ring, bytes */
	struct ring_cpu *cpu;
	uint64_t generation;	/* bits 48-63, the rest is 0; of an own_key() the lowest ten */
	uint32_t *ring_flags;	/* of the slice */
	uint64_t sub_mask;
	const uint32_t *on_cpus;	/* of the slice, on the board, which a fork child has, too */
	struct ring_own *own;	/* line[] of the table, aligned to all of them */
	uint64_t profile_bytes;	/* of a block */
	/* ring_bytes - 1: bounds what is written, whatever other programs have made of a ring's header */
	uint64_t mask;
	uint64_t counts;	/* generation | RING_KEY_COUNTS */
	uint64_t beside;	/* generation | RING_KEY_BESIDE */
};
extern struct ring_fast uft_ring_fast;

enum ring_state {		/* of this process; 0 is what a fork child finds */
	RING_FRESH,		/* forked: belongs to no slice yet */
	RING_LIVE,
	RING_REFUSED,		/* not followed: nothing is written */
	RING_ADOPTING,		/* a thread is on its way from FRESH to one of the others */
};

#define RING_NLOCKS 4

/**
 * ring_init - private table, rings of the slice in uft_rt
 *
 * Returns 0, -ENOMEM, or -errno of madvise() when a fork could not be noticed. Context: init.
 */
int ring_init(void);

/* Points the table at the rings of uft_rt.slice. Context: init, signals blocked, state RING_ADOPTING or init. */
void ring_attach(void);
/* No fast path goes on in any thread, for good, and none reads the clock. Context: probe. */
void ring_close(void);

/* Under an emulator, which does not wipe: does it where it has not been done, in a fork child. Context: probe. */
void ring_notice_fork(void);

/* The process's state word, in wipe-on-fork memory; changed by compare-and-swap. Context: probe. */
uint32_t *ring_state(void);

/* Lock word i < RING_NLOCKS, in wipe-on-fork memory: free in a fork child whoever held it. Context: probe. */
uint32_t *ring_lock_word(unsigned i);

/* 1: the calling task may use the per-CPU rings (its thread pointer is its own: the caller knows). Context: probe. */
static inline int ring_has_rseq(void)
{
	return ARCH_HAS_RSEQ && uft_ring_fast.rseq_offset &&
	       arch_rseq_cpu(uft_ring_fast.rseq_offset) < uft_ring_fast.ncpus;
}

/* What identifies a thread to the fast paths until the next generation. Context: probe. */
static inline uint64_t ring_key(uint64_t thread_pointer)
{
	return uft_load_acquire(&uft_ring_fast.generation) | thread_pointer;
}

/**
 * ring_write - append one record
 * @op:   what; see struct ring_op
 * @rseq: the task may use the per-CPU rings; else it has all signals blocked and an exchange ring is used
 *
 * Returns RING_WRITTEN; RING_LOST (discard mode and full, counted in the ring); RING_GUARD (nothing written);
 * RING_NONE (no ring was to be had: the caller counts it).
 * Context: probe. Locks: none; restarted by preemption, migration, signals, at most RING_RETRIES times.
 */
int ring_write(struct ring_op *op, int rseq);

/* What waited in a scratch buffer: records of one word, CONTEXT words with the clock's high half, 0 for none. */
struct ring_past {
	const uint64_t *words;
	uint64_t n, lost;	/* lost: records that are not among them */
	uint64_t begin;		/* no record is older */
	uint32_t pid, tid;
};
/*
 * memory.c: memory below position @need of @r, and some ahead; not over what is unread. Where there is none a loss is
 * counted. 0, or -ENOMEM, -ENOBUFS (unread). Context: probe.
 */
int ring_back(struct uft_ring *r, uint64_t need);
/* Gives back the memory of rings that were not written since the last call. Context: control; once a second. */
void ring_tend(void);
/* Where a gap that begins at @end would end; 0: no room behind what the turn before has written. Context: probe. */
uint64_t ring_gap(const struct uft_ring *r, uint64_t end);
/* Nothing that is not read lies in [@at, @to) of one turn. Context: probe; discard mode. */
int ring_is_free(const struct uft_ring *r, uint64_t at, uint64_t to);
/* Ring @index of the slice, with its first memory; NULL: there is none. Context: probe. */
struct uft_ring *ring_open(uint32_t index);

/*
 * @n functions from @first on may be counted by the profile from now on. 0 or -ENOMEM: a block that is open has no
 * memory for them. Context: control.
 */
int ring_profile_want(uint32_t first, uint32_t n);
/* 1: the block of the profile has its memory. 0: there is none now. Context: probe. */
int ring_profile_open(uint32_t block);
void ring_profile_attach(void);	/* no block is open in a new slice */

/* RING_WRITTEN, RING_LOST (no room, counted in the ring), RING_NONE. Context: probe, signals blocked. */
int ring_write_past(const struct ring_past *p);

/* 1: the record of this receipt was committed (exact until the ring wraps). Context: probe. */
int ring_is_committed(const struct ring_receipt *r);

/* No fast path writes for this thread any more; by the thread itself, or when it is dead. Context: probe. */
void ring_forget(uint64_t thread_pointer);

/* Every thread takes the slow path at its next event. Context: control. */
void ring_new_generation(void);

/*
 * thread_rings.c: a table of its own for a process. 0, -ENOMEM, or -errno of madvise(): then the one before stays.
 * Context: init.
 */
int own_init(void);
/* The slice, or the generation, is another one. */
void own_attach(void);
/* As the kernel does on fork, where it does not. */
void own_wipe(void);
/*
 * Before anything of the thread's shadow stack is looked at by a slow event: what a fast path that it
 * interrupted is about to commit is committed. @top: of its shadow stack; NULL: nothing is, whatever the
 * intent looks like. Signals are blocked.
 */
void own_finish(uint32_t tid, const void *top);
/*
 * What the thread's fast paths commit next; NULL: it has no line. *@is_inside: whom this event interrupted is
 * about to, and changes no line before he goes on. Signals are blocked.
 */
const void *own_at(uint32_t tid, int *is_inside);
/* The line of who writes @op, his alone by now; NULL: there is none, or he is inside. Signals are blocked. */
struct ring_own *own_find(const struct ring_op *op);
/* The thread has a line, or will not know better before it ends. Context: probe. */
int own_has(uint32_t tid);
/* Behind a write to its ring: the fast paths may follow. */
void own_open(struct ring_own *l, const struct ring_op *op);
/*
 * The thread's fast paths do not write any more, everybody's (thread pointer 0), or those to a ring that was
 * @taken by somebody else.
 */
void own_shut(uint64_t thread_pointer, const struct uft_ring *taken);

/* ring.S */
extern const char uft_asm_nowhere_cs[];	/* a section in which nobody is (trace/thread/rseq_check.c) */
int uft_asm_ring_write(struct ring_op *op);
/*
 * trace.S, without ARCH_HAS_OWN: an event's record, its first word's high half and @bytes of words. To be the last call
 * of a function: where this cannot write, tracepoint_write_slowly() (tracers/tracepoint.c) does, and gets that one's
 * caller.
 */
void uft_asm_event_write(uint32_t high, const uint64_t *words, uint64_t bytes);

#endif
