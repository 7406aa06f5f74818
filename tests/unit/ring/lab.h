/* SPDX-License-Identifier: MIT */
/*
 * lab.h - a session in miniature for tests and benchmarks of the probe side
 *
 * Makes an arena in its own process, arms functions by hand (thunks and stubs as arch.h describes them), and decodes
 * the rings with a decoder of its own: nothing here is shared with stream/ or patch/. Functions to arm are defined with
 * LAB_SITE.
 */
#ifndef UFT_LAB_H
#define UFT_LAB_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/runtime.h"

/* A function with eight bytes of nops at its entry: on x86_64 five of them become the call or jump. */
#ifdef __x86_64__
#define LAB_NOPS 8
#else
#define LAB_NOPS 2
#endif
#ifdef __clang__
#define LAB_SITE __attribute__((noinline, patchable_function_entry(LAB_NOPS, 0), aligned(16)))
#else
#define LAB_SITE __attribute__((noinline, noclone, patchable_function_entry(LAB_NOPS, 0), aligned(16)))
#endif

struct lab_config {
	uint32_t ring_bytes, sub_bytes, nexch, nslices;
	uint32_t ring_usual;	/* [ring_bytes] */
	uint32_t flags;		/* enum uft_ring_flags */
	int no_rseq;		/* pretend that libc has none; nor has a thread a ring of its own */
	int no_own;		/* this alone */
};

enum lab_state { LAB_IDLE, LAB_FUNCTION, LAB_GRAPH, LAB_MFUNCTION, LAB_MGRAPH };

struct lab_event {
	uint64_t clock, w1;
	uint64_t position;	/* in its ring */
	uint32_t pid, tid, value, ring;
	uint32_t kind;		/* enum uft_rec_kind */
	uint32_t slice;
};

struct lab_events {
	struct lab_event *e;
	size_t n;
	size_t contexts, subs;	/* CONTEXT records, sub-buffer headers */
	uint64_t lost;		/* sum of LOST records */
	uint64_t lost_counted;	/* sum of the rings' counters */
	uint64_t backwards;	/* clocks that run backwards inside a ring: must be 0 */
	uint64_t damaged;	/* what cannot be decoded: must be 0 */
};

void lab_init(const struct lab_config *c);
/* by that: in no file; else each slice is a spare family's */
void lab_make_arena(const struct lab_config *c, const char *path);
void lab_use(uint32_t slice);	/* in what follows it is the process's own */
uint32_t lab_pid(uint32_t slice);	/* whose it is */
void lab_note_libc(void);	/* in that: where our libc has a thread's number */
struct uft_arena *lab_arena(void);	/* what the runtime may only read */
void lab_make_sites(void);	/* by that: what arming needs */
/* Site number @n (also its stub id); a function may be re-armed. mcount kinds: the site is where a marker stands. */
#define LAB_KEPT	128	/* number of the action with ROOT and a limit, which params may set */
void lab_arm(void *function, uint32_t n, enum lab_state state, int action);	/* enum uft_action_ops, or LAB_KEPT */
void lab_params(uint32_t tracer);
void lab_retarget(void);
void lab_params_full(const struct uft_tracer_params *p);
/* Decodes all rings of all live slices: events in time order. */
struct lab_events *lab_decode(void);
void lab_free(struct lab_events *ev);
/* Empties the rings: only while nobody writes. */
void lab_clear(void);
/* As if another task had written last in every ring that has room: only while nobody writes. */
void lab_other_context(void);
/* As if a whole turn of the clock's low half had passed since the last record; returns in how many rings. */
unsigned lab_old_clock(void);
/* What a reader does in discard mode. */
void lab_consume(uint32_t ring);
struct uft_ring *lab_ring(uint32_t slice, uint32_t ring);
uint64_t lab_counter(enum uft_counter c);
int lab_is_hook(uint64_t address);	/* of a stub: where its body returns to */
uint32_t lab_text_id(uint32_t n);	/* what function events of site n carry */

/*
 * Replays ENTRY, EXIT and UNWIND of one task. Returns 0 if they pair up, else describes it in @why. calls counts per id
 * the calls that ended by EXIT, left those by UNWIND, back those that came back by EXIT_LEFT.
 */
struct lab_replay {
	uint64_t calls[64], left[64], back[64], entered[64];
	uint64_t depth_max, open;
	char why[160];
};
int lab_replay(const struct lab_events *ev, uint32_t tid, struct lab_replay *r);
size_t lab_count(const struct lab_events *ev, uint32_t tid, enum uft_rec_kind kind, int64_t value);	/* tid 0: any */

/* Runs each case, or the one called @only, in a process of its own; 0 if none failed. */
struct lab_case {
	const char *name;
	void (*run)(void);
};
int lab_main(const struct lab_case *cases, const char *only);

#define CHECK(x)									\
	do {										\
		if (!(x)) {								\
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, __func__, #x);	\
			exit(1);							\
		}									\
	} while (0)
#define CHECK_EQ(a, b)									\
	do {										\
		unsigned long long a_ = (a), b_ = (b);					\
		if (a_ != b_) {								\
			fprintf(stderr, "%s:%d: %s: %s is %llu, expected %llu (%s)\n", __FILE__, __LINE__, \
				__func__, \
				#a, a_, b_, #b);					\
			exit(1);							\
		}									\
	} while (0)
#define CHECK_REPLAY(ev, tid, r)							\
	do {										\
		if (lab_replay(ev, tid, r)) {						\
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, __func__, (r)->why);	\
			exit(1);							\
		}									\
	} while (0)

#endif
