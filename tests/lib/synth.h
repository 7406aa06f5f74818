/* SPDX-License-Identifier: MIT */
/*
 * synth.h - recordings without a target: arenas that are plain memory, and .uft files made of them
 *
 * The ring writer here follows abi.h in plain C, so what it leaves in a ring is what a target would leave. One
 * tick of its clock is one nanosecond: a file made with synth_writer() has exact times.
 *
 * The image is always the same: one program of `nfuncs` functions func_0, func_1 ... with a site each, and one
 * library with the functions lib_0 ... lib_15 that has none (for parents).
 */
#ifndef UFT_TESTS_SYNTH_H
#define UFT_TESTS_SYNTH_H

#include <stddef.h>
#include <stdint.h>

#include "stream/file/writer.h"

struct synth_opts {			/* zero: the default in brackets */
	uint32_t ncpus, nexch;		/* [2], [2] */
	uint32_t ring_bytes, sub_bytes;	/* [256 KiB], [16 KiB] */
	uint32_t ring_usual;		/* [ring_bytes] */
	uint32_t nslices;		/* [4] */
	uint32_t profile_ids;		/* [4096] */
	int overwrite;
};

struct synth;
struct synth *synth_new(const struct synth_opts *o);	/* NULL: all defaults. Exits the test when out of memory */
void synth_free(struct synth *s);
struct uft_arena *synth_arena(struct synth *s);
struct uft_slice *synth_slice(struct synth *s, uint32_t slice);
/* Locks a slice's memory, so that no hole can be made of it: 0 or -1. Not by mlock(), which does nothing under a sanitizer. */
int synth_lock(struct synth *s, uint32_t slice);
struct uft_ring *synth_ring(struct synth *s, uint32_t slice, uint32_t ring);
struct uft_profile *synth_profile(struct synth *s, uint32_t slice, uint32_t cpu, uint32_t id);

/* A process claims a slice. */
void synth_begin(struct synth *s, uint32_t slice, uint32_t pid, uint32_t ppid);

/* The task that writes, its CPU and its clock. */
struct synth_at { uint32_t slice, ring, pid, tid; uint64_t clock; };

/* One record of 1 + @n words. 1 written, 0 lost (discard mode, full). */
int synth_put(struct synth *s, struct synth_at at, unsigned kind, uint32_t value, const uint64_t *extra, unsigned n);
int synth_func(struct synth *s, struct synth_at at, uint32_t text_id, uint64_t parent);
int synth_entry(struct synth *s, struct synth_at at, uint32_t stub_id);
int synth_exit(struct synth *s, struct synth_at at, uint32_t stub_id);
int synth_call(struct synth *s, struct synth_at at, uint32_t stub_id, uint64_t duration);
int synth_unwind(struct synth *s, struct synth_at at, uint32_t n);
int synth_exit_left(struct synth *s, struct synth_at at, uint32_t stub_id, uint64_t entry_clock);

struct uft_image *synth_image(uint32_t id, uint32_t nfuncs);
struct uft_image *synth_image_named(uint32_t id, uint32_t nfuncs, const char *prefix);	/* functions are PREFIX_0 ... */
uint32_t synth_text_id(const struct uft_image *img, uint32_t func);
uint32_t synth_stub_id(const struct uft_image *img, uint32_t func);
uint64_t synth_addr(const struct uft_image *img, uint32_t func);	/* of the function */
uint64_t synth_lib_addr(const struct uft_image *img, uint32_t func);	/* inside lib_@func: a parent */

/* The real writer, on a clock of 1 ns a tick. NULL and a message on stderr on failure. */
struct uft_writer *synth_writer(struct synth *s, const char *path, uint32_t tracer, int compress);

/* A whole file of random, well nested calls. */
struct synth_load {
	uint64_t ncalls;
	uint32_t tracer;		/* UFT_TRACER_FUNCTION or UFT_TRACER_GRAPH */
	uint32_t nthreads, nfuncs;	/* [4], [1000] */
	uint32_t max_depth;		/* [24] */
	uint32_t run;			/* events of one thread on a CPU before another one runs [200] */
	uint64_t seed;
	int compress;
	const char *prefix;		/* of functions ["func"]; threads then have markup in their names, too */
	struct synth_opts opts;
};
struct synth_expect {
	uint64_t calls, events, first_ns, last_ns;
	uint64_t bytes;			/* of ring used */
	uint64_t *func_calls;		/* nfuncs; free() it */
};
/* 0 or a negative errno. Threads have pid 1000, tids 1000, 1001 ..., names thread-0, thread-1 ... */
int synth_file(const char *path, const struct synth_load *load, struct synth_expect *expect);

#endif
